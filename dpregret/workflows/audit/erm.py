"""Empirical risk: released is one point.

Records are slopes of linear losses (with a ridge where a learner needs strong convexity); neighbours differ in one
record, of the largest admissible slope to one side or the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dpregret.algorithms.erm.base import ErmLearner, ErmProblem
from dpregret.algorithms.erm.objective_perturbation import ObjectivePerturbation
from dpregret.algorithms.geometry import ConstraintSet, make_set
from dpregret.algorithms.privacy import Budget, gaussian_epsilon, gaussian_mu
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit.exact_objective import attained_epsilon
from dpregret.workflows.audit.neighbours import Pair, generators

SAMPLES, DIMENSION = 20, 4


class LinearRisk:
    """(1/n) sum_i <a_i, theta> + (mu/2) |theta|^2 for slopes a_i of l2 norm at most 1; see Risk."""

    hessian_rank: int | None = 1
    samples, dimension = SAMPLES, DIMENSION

    def __init__(self, slopes: Array, domain: ConstraintSet, ridge: float):
        reach = domain.reach(np.zeros(DIMENSION))
        self.slopes, self.strong_convexity = slopes, ridge
        self.lipschitz = self.lipschitz_l1 = 1 + ridge * reach
        self.smoothness = ridge + 0.25  # larger than need be: learners may know a bound only
        self.curvature = self.smoothness * domain.diameter**2

    def value(self, points: Array) -> Array:
        """Risk."""
        return np.asarray(
            points @ self.slopes.mean(axis=0) + self.strong_convexity / 2 * np.square(points).sum(axis=-1)
        )

    def gradient(self, points: Array) -> Array:
        """Mean slope and ridge."""
        return np.asarray(self.slopes.mean(axis=0) + self.strong_convexity * points)

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        """Slopes of single records, and ridge."""
        return np.asarray(self.slopes[records] + self.strong_convexity * points)


class AuditedRisk:
    """One learner on twenty records. Raises what the learner raises."""

    def __init__(
        self, learner_class: type[ErmLearner], variant: str, epsilon: float, delta: float, seed: Sequence[int]
    ):
        self.learner_class, self.variant, self.seed = learner_class, variant, seed
        self.budget = Budget(epsilon, delta)
        self.domain = make_set(learner_class.natural_set, DIMENSION)
        self.ridge = 0.5 if "strongly-convex" in learner_class.card.needs else 0.0
        learner = self._learner(self._slopes(1.0, 0.0), 1)
        self.claimed, self.delta = epsilon, 0.0 if learner.pure else delta
        self.accounted = learner.delivered_epsilon()[0]
        self.gaussian = learner.gaussian
        self.exact = math.nan
        if self.gaussian and self.accounted == 0:
            self.exact = 0.0
        elif self.gaussian:  # slopes turn by 2, the declared sensitivity is 2 L
            mu = gaussian_mu(Budget(self.accounted, delta)) / (1 + self.ridge * self.domain.diameter / 2)
            self.exact = gaussian_epsilon(mu, delta)
        elif isinstance(learner, ObjectivePerturbation):  # on a loss that bends, which tells more than linear ones
            unit = learner.risk.lipschitz / learner.risk.samples
            self.exact = attained_epsilon(self.budget, learner.scales[0] / unit)

    def _learner(self, slopes: Array, runs: int) -> ErmLearner:
        problem = ErmProblem(self.domain, LinearRisk(slopes, self.domain, self.ridge))
        return self.learner_class(problem, [self.budget], runs, self.variant)

    def _slopes(self, side: float, around: float) -> Array:
        slopes = np.zeros((SAMPLES, DIMENSION))
        slopes[1:, 0] = around * np.where(np.arange(1, SAMPLES) % 2, 1.0, -1.0)
        slopes[1:, 1] = around < 0
        slopes[0, 0] = side
        return slopes

    def reached(self) -> float:
        """No plan is made before the play: what is released is compared with the exact loss alone."""
        return math.nan

    def pairs(self, runs: int) -> Iterator[Pair]:
        """Record 0 pulls to either side, the others not at all, to both sides in turn, or to a third one."""
        for number, (name, around) in enumerate({"zero": 0.0, "balanced": 1.0, "tilted": -0.5}.items()):
            inputs = []
            for side in (-1.0, 1.0):
                learner = self._learner(self._slopes(side, around), runs)
                inputs.append(learner.fit(generators((*self.seed, number, int(side > 0)), runs))[0])
            yield Pair(f"one record replaced among {name} records", *inputs)

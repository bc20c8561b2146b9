"""Empirical risk and risk of a population: released is one point.

Records are slopes of linear losses (with a ridge where a learner needs strong convexity); neighbours differ in one
record, of the largest admissible slope to one side or the other. Learners that meet fresh records once get an odd
number of them, no power of two; the position of the replaced one decides its phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from dpregret.algorithms.erm.erm_learner import ErmLearner, ErmProblem
from dpregret.algorithms.erm.objective_perturbation import ObjectivePerturbation
from dpregret.algorithms.erm.private_offline_learning import PrivateOfflineLearning
from dpregret.algorithms.geometry import ConstraintSet, make_set
from dpregret.algorithms.privacy import Budget, gaussian_epsilon, gaussian_mu
from dpregret.datasets.risk_population import Pass
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit.exact_losses import objective_epsilon
from dpregret.workflows.audit.neighbours import Audited, Pair, Special, exact_epsilon, generators

SAMPLES, FRESH_SAMPLES, DIMENSION = 20, 37, 4
"""37 is 18 + 9 + 4 + 2 + 1 and 3 further ones."""


class LinearRisk:
    """(1/n) sum_i <a_i, theta> + (mu/2) |theta|^2 for slopes a_i of l2 norm at most 1; see Risk."""

    hessian_rank: int | None = 1
    samples, dimension = SAMPLES, DIMENSION

    def __init__(self, slopes: Array, domain: ConstraintSet, ridge: float):
        radius = domain.max_distance_from(np.zeros(DIMENSION))
        self.slopes, self.strong_convexity = slopes, ridge
        self.lipschitz = self.lipschitz_l1 = 1 + ridge * radius
        self.smoothness = ridge + 0.25  # larger than need be: learners may know a bound only
        self.curvature = self.smoothness * domain.diameter**2

    def value(self, points: Array) -> Array:
        """Risk."""
        ridge = self.strong_convexity / 2 * np.square(points).sum(axis=-1)
        return np.asarray(points @ self.slopes.mean(axis=0) + ridge)

    def gradient(self, points: Array) -> Array:
        """Mean slope and ridge."""
        return np.asarray(self.slopes.mean(axis=0) + self.strong_convexity * points)

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        """Slopes of single records, and ridge."""
        return np.asarray(self.slopes[records] + self.strong_convexity * points)


class LinearSample:
    """<a_i, theta> for slopes a_i (n, d) of l2 norm at most 1, all runs meet the same; see FreshRisk."""

    samples, dimension, lipschitz, lipschitz_l1 = FRESH_SAMPLES, DIMENSION, 1.0, 1.0
    smoothness = curvature = 0.0625  # larger than need be: learners may know a bound only
    strong_convexity, hessian_rank = 0.0, 1

    def __init__(self, slopes: Array, runs: int):
        self.slopes, self.runs = slopes, runs

    def stream(self) -> Pass:
        """A pass over the records, in their order; they have shape (1, 1, count, d)."""
        rows = iter(self.slopes)
        return Pass(lambda count: np.reshape([*islice(rows, count)], (1, 1, count, self.dimension)), len(self.slopes))

    def losses(self, records: Array) -> None:
        """None: loops ask `gradients`."""

    def gradients(self, points: Array, records: Array) -> Array:
        """The slopes."""
        return np.broadcast_to(records, points.shape)


class AuditedRisk(Audited):
    """One learner on twenty records: record 0 pulls to either side."""

    positions: ClassVar[Mapping[str, tuple[int, float]]] = {
        "one record replaced among zero records": (0, 0.0),
        "one record replaced among balanced records": (0, 1.0),
        "one record replaced among tilted records": (0, -0.5),
    }
    """Name -> (position of the replaced record, how the others pull)."""
    samples: ClassVar[int] = SAMPLES

    def prepare(self, special: Special) -> None:
        self.domain = make_set(self.learner_class.natural_set, DIMENSION)
        self.ridge = 0.5 if "strongly-convex" in self.learner_class.card.needs else 0.0

    def risk(self, slopes: Array, runs: int) -> Any:
        """The risk of records (n, d)."""
        return LinearRisk(slopes, self.domain, self.ridge)

    def make(self, runs: int, slopes: Array | None = None) -> ErmLearner:
        risk = self.risk(self.slopes(0, 1.0, 0.0) if slopes is None else slopes, runs)
        return self.learner_class(ErmProblem(self.domain, risk), [self.budget], runs, self.variant)

    def inspect(self, learner: Any) -> None:
        self.gaussian = learner.gaussian
        if self.gaussian and self.accounted == 0:
            self.exact = 0.0
        elif self.gaussian:  # slopes turn by 2, the declared sensitivity is 2 L
            delta = self.budget.delta
            mu = gaussian_mu(Budget(self.accounted, delta)) / (1 + self.ridge * self.domain.diameter / 2)
            self.exact = gaussian_epsilon(mu, delta)
        elif isinstance(learner, ObjectivePerturbation):  # on a loss that bends, which tells more than linear ones
            unit = learner.risk.lipschitz / learner.risk.samples
            self.exact = objective_epsilon(self.budget, learner.scales[0] / unit)

    def pairs(self, runs: int) -> Iterator[Pair]:
        for number, (name, (position, around)) in enumerate(self.positions.items()):
            yield self.pair(number, name, [self.slopes(position, side, around) for side in (-1.0, 1.0)], runs)

    def transcript(self, slopes: Array, runs: int, seed: Sequence[int]) -> Array:
        return self.make(runs, slopes).fit(generators(seed, runs))[0]

    def slopes(self, position: int, side: float, around: float) -> Array:
        """Slopes (n, d): that at `position` is `side`; the others pull to both sides in turn, or to a third one too."""
        slopes = np.zeros((self.samples, DIMENSION))
        slopes[:, 0] = around * np.where(np.arange(self.samples) % 2, 1.0, -1.0)
        slopes[:, 1] = around < 0
        slopes[position] = 0.0
        slopes[position, 0] = side
        return slopes


class AuditedPopulation(AuditedRisk):
    """One learner on 37 fresh records: one pulls to either side."""

    positions: ClassVar[Mapping[str, tuple[int, float]]] = {
        "first record replaced among zero records": (0, 0.0),
        "first record replaced among balanced records": (0, 1.0),
        "record 19 replaced among balanced records": (18, 1.0),
        "record 28 replaced among tilted records": (27, -0.5),
    }
    samples: ClassVar[int] = FRESH_SAMPLES

    def risk(self, slopes: Array, runs: int) -> Any:
        sample = LinearSample(slopes, runs)
        if self.learner_class is PrivateOfflineLearning:  # its steps are solved for linear losses
            sample.smoothness = 0.0
        return sample

    def inspect(self, learner: Any) -> None:
        self.gaussian = learner.ledger()[0].distribution == "gaussian"
        plan = learner.noise_plan
        if plan is not None:  # slopes turn by 2 L; items that are weighed may have to allow for more
            protected = range(1, FRESH_SAMPLES)
            self.exact = exact_epsilon(plan, FRESH_SAMPLES - 1, protected, self.budget, 2.0 / plan.sensitivity)

    def slopes(self, position: int, side: float, around: float) -> Array:
        slopes = super().slopes(position, side, around)
        longest = np.maximum(np.sqrt(np.square(slopes).sum(axis=1)), 1.0)
        return np.asarray(slopes / longest[:, None])

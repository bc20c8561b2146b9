"""Population risk: fresh records are met once, released is one point.

Records are slopes of linear losses; neighbours differ in one record, which pulls with the largest admissible slope to
one side or the other. An odd number of records, no power of two; the place of the replaced one decides its phase.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dpregret.algorithms.erm.base import ErmProblem, OnePassLearner
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit.neighbours import Pair, exact_epsilon, generators

SAMPLES, DIMENSION = 37, 4
PLACES: Mapping[str, tuple[int, float]] = MappingProxyType(
    {
        "first record replaced among zero records": (0, 0.0),
        "first record replaced among balanced records": (0, 1.0),
        "record 19 replaced among balanced records": (18, 1.0),
        "record 28 replaced among tilted records": (27, -0.5),
    }
)
"""Name -> (place of the replaced record, how the others pull). 37 is 18 + 9 + 4 + 2 + 1 and 3 left."""


class Given:
    """Records that are given, handed out in their order."""

    def __init__(self, records: Array):
        self.records, self.left = records, len(records)

    def take(self, count: int) -> Array:
        """The next ones, (1, 1, count, d)."""
        if count > self.left:
            raise ValueError(f"asked for {count} records, {self.left} are left")
        begun = len(self.records) - self.left
        self.left -= count
        return self.records[None, None, begun : begun + count]


class LinearSample:
    """<a_i, theta> for slopes a_i of l2 norm at most 1; see FreshRisk."""

    samples, dimension, lipschitz, lipschitz_l1 = SAMPLES, DIMENSION, 1.0, 1.0
    smoothness = curvature = 0.0625  # larger than need be: learners may know a bound only
    strong_convexity, hessian_rank = 0.0, 1

    def __init__(self, slopes: Array, runs: int):
        self.slopes, self.runs = slopes, runs

    def stream(self) -> Given:
        """A pass; all runs meet the same records."""
        return Given(self.slopes)

    def gradients(self, points: Array, records: Array) -> Array:
        """The slopes."""
        return np.broadcast_to(records, points.shape)


class AuditedPopulation:
    """One learner on 37 records. Raises what the learner raises."""

    def __init__(
        self, learner_class: type[OnePassLearner], variant: str, epsilon: float, delta: float, seed: Sequence[int]
    ):
        self.learner_class, self.variant, self.seed = learner_class, variant, seed
        self.budget = Budget(epsilon, delta)
        learner = self._learner(slopes(0, 1.0, 0.0), 1)
        self.claimed, self.delta = epsilon, 0.0 if learner.pure else delta
        self.gaussian = learner.ledger()[0].distribution == "gaussian"
        self.accounted = learner.delivered_epsilon()[0]
        plan = learner.noise_plan
        self.exact = math.nan
        if plan is not None:  # slopes turn by 2 L; items that are weighed may have to allow for more
            turned = 2.0 / plan.sensitivity
            self.exact = exact_epsilon(plan, SAMPLES - 1, range(1, SAMPLES), self.budget, turned)

    def _learner(self, records: Array, runs: int) -> OnePassLearner:
        domain = make_set(self.learner_class.natural_set, DIMENSION)
        problem = ErmProblem(domain, LinearSample(np.broadcast_to(records, (SAMPLES, DIMENSION)), runs))  # type: ignore[arg-type]
        return self.learner_class(problem, [self.budget], runs, self.variant)

    def reached(self) -> float:
        """Not compared: one point is released, which mixes the noise of all records."""
        return math.nan

    def pairs(self, runs: int) -> Iterator[Pair]:
        """The replaced record pulls to either side."""
        for number, (name, (index, around)) in enumerate(PLACES.items()):
            inputs = []
            for side in (-1.0, 1.0):
                learner = self._learner(slopes(index, side, around), runs)
                inputs.append(learner.fit(generators((*self.seed, number, int(side > 0)), runs))[0])
            yield Pair(name, *inputs)


def slopes(place: int, side: float, around: float) -> Array:
    """Slopes (37, d): that of one place is `side`; the others pull to both sides in turn, or to a third one too."""
    found = np.zeros((SAMPLES, DIMENSION))
    found[:, 0] = around * np.where(np.arange(SAMPLES) % 2, 1.0, -1.0)
    found[:, 1] = around < 0
    found /= np.maximum(np.sqrt(np.square(found).sum(axis=1)), 1.0)[:, None]
    found[place] = 0.0
    found[place, 0] = side
    return found

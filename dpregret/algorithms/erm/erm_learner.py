"""Private risk minimisation: the input of a learner, and its answer.

Records d_1..d_n are fixed; the risk is L(theta) = (1/n) sum_i loss(theta; d_i) over a convex set. Or they are fresh
draws of a distribution, met one after the other, and the risk is F(theta) = E loss(theta; d). A learner releases one
point. Neighbouring data sets differ in one record, replaced by any other admissible one.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

import numpy as np

from dpregret.algorithms.geometry import ConstraintSet
from dpregret.algorithms.learner import BaseLearner, LedgerLine
from dpregret.algorithms.privacy import BLOCK, Budget, NoisePlan, calibrate, horizon_sums
from dpregret.core.losses import Losses
from dpregret.numerics.arrays import Array


class Risk(Protocol):
    """Average loss over the records, one data set a run; points have shape (..., runs, p).

    lipschitz: of a record's loss on the set in l2, max |gradient|_2. lipschitz_l1: the same in l1, max |gradient|_inf.
    smoothness: of a record's loss in l2 (inf at kinks). curvature: Frank-Wolfe curvature of the risk over the set
    (Jaggi 2013). strong_convexity: of the risk (0 where none). hessian_rank: largest rank of a record's Hessian (1 for
    generalised linear losses, None where not twice differentiable).
    """

    samples: int
    dimension: int
    lipschitz: float
    lipschitz_l1: float
    smoothness: float
    curvature: float
    strong_convexity: float
    hessian_rank: int | None

    def value(self, points: Array) -> Array:
        """Risk, (..., runs)."""

    def gradient(self, points: Array) -> Array:
        """(Sub)gradient of the risk, (..., runs, p)."""

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        """(Sub)gradients of single records' losses: points (runs, p), records (runs,) -> (runs, p)."""


class Records(Protocol):
    """The unread rest of the n records of every run, in their order."""

    remaining: int

    def take(self, count: int) -> Array:
        """The next records, (settings or 1, runs or 1, count, p); ValueError where fewer remain."""


class FreshRisk(Risk, Protocol):
    """Expected loss over a distribution that is met through n fresh records a run."""

    def stream(self) -> Records:
        """A pass over the records, the same ones each time."""

    def losses(self, records: Array) -> Losses | None:
        """Losses of records (rounds, ..., p), for compiled loops; None where these ask `gradients`."""

    def gradients(self, points: Array, records: Array) -> Array:
        """(Sub)gradients of a record a row: points (settings, runs, p), records (settings or 1, runs or 1, p)."""


@dataclass(frozen=True)
class ErmProblem:
    """A risk on a constraint set."""

    domain: ConstraintSet
    risk: Risk


class ErmLearner(BaseLearner):
    """Releases one point per setting and run."""

    natural_set: ClassVar[str] = "ball"
    """A set that it is designed for, on which it is audited."""

    gaussian: bool = False
    """Whether the point is post-processing of Gaussian releases, all of which use every record."""

    apart: float = 0.0
    """CPU seconds of `fit` that compiled its loops."""

    reads: ClassVar[frozenset[str]] = frozenset({"stored"})
    """Which records it can use: all available at once (stored), met one after the other (fresh); empty: both."""

    def __init__(self, problem: ErmProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        self.problem, self.domain, self.risk = problem, problem.domain, problem.risk
        if "smooth" in self.card.needs and not math.isfinite(self.risk.smoothness):
            raise ValueError(f"{self.card.name} needs smooth losses")
        if "strongly-convex" in self.card.needs and not self.risk.strong_convexity > 0:
            raise ValueError(f"{self.card.name} needs a strongly convex risk")
        self.prepare()

    @abstractmethod
    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p); one generator a run, whose draws no other run disturbs."""

    def iterations(self) -> list[int]:
        """Rounds of each setting (0 where there are none)."""
        return [0] * len(self.budgets)

    def uncapped_iterations(self) -> list[float]:
        """Rounds that a formula requires, before rounding and any cap (below 1: n is too small); NaN without one."""
        return [math.nan] * len(self.budgets)

    def bound(self) -> list[float]:
        """Explicit bound on the expected excess risk of each setting; NaN where none is known."""
        return [math.nan] * len(self.budgets)


class OnePassLearner(ErmLearner):
    """Meets each of n fresh records at most once; its `bound` is on the population's excess risk."""

    reads = frozenset({"fresh"})

    def prepare(self) -> None:
        if not hasattr(self.risk, "stream"):
            raise ValueError(f"{self.card.name} needs a population, whose records are fresh")
        self.fresh = cast("FreshRisk", self.risk)

    def private_sums(self, mechanism: str, sensitivity: float) -> NoisePlan:
        """The noise of the sums of one vector a record, by a mechanism of `horizon_sums`."""
        sums = horizon_sums(mechanism, self.fresh.samples)
        scales = [calibrate("gaussian", budget, sensitivity, sums.nodes_per_item) for budget in self.budgets]
        return NoisePlan("gaussian", [sums] * len(scales), scales, sensitivity, self.domain.dimension)

    def one_by_one(self) -> Iterator[Array]:
        """The records of a pass, (settings or 1, runs or 1, p) each, taken in blocks of the size of noise."""
        stream = self.fresh.stream()
        while stream.remaining:
            yield from np.moveaxis(stream.take(min(stream.remaining, BLOCK)), 2, 0)

    def ledger(self) -> Sequence[LedgerLine]:
        """Of a record in all sums, one line a setting."""
        return self.noise_plan.releases() if self.noise_plan is not None else []

    def iterations(self) -> list[int]:
        """A step a record."""
        return [self.fresh.samples] * len(self.budgets)

"""Private empirical risk minimisation: what a learner is told, and what it answers.

Records d_1..d_n are fixed; the risk is L(theta) = (1/n) sum_i loss(theta; d_i) over a convex set. A learner releases
one point. Neighbouring data sets differ in one record, replaced by any other admissible one.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from dpregret.algorithms.geometry import ConstraintSet
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.core.arrays import Array


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


@dataclass(frozen=True)
class ErmProblem:
    """A risk on a constraint set."""

    domain: ConstraintSet
    risk: Risk


class ErmLearner(ABC):
    """Releases one point per setting and run.

    budgets: one a setting. Raises ValueError for an unknown variant or a problem that the learner cannot serve, with
    one line that says why.
    """

    card: ClassVar[Card]

    def __init__(self, problem: ErmProblem, budgets: Sequence[Budget], runs: int, variant: str):
        if variant not in self.card.variants:
            raise ValueError(f"{self.card.name} has no variant {variant!r}: allowed are {list(self.card.variants)}")
        self.problem, self.budgets, self.runs, self.variant = problem, budgets, runs, variant
        self.domain, self.risk = problem.domain, problem.risk

    @abstractmethod
    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p); one generator a run, whose draws no other run disturbs."""

    def iterations(self) -> list[int]:
        """Rounds of each setting (0 where there are none)."""
        return [0] * len(self.budgets)

    def delivered_epsilon(self) -> list[float]:
        """What the ledger of each setting delivers at its delta; inf without privacy."""
        return [float("inf")] * len(self.budgets)

    def bound(self) -> list[float]:
        """Explicit bound on the expected excess risk of each setting; NaN where none is known."""
        return [float("nan")] * len(self.budgets)

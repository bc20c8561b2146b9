"""Private empirical risk minimisation: what a learner is told, and what it answers.

Records d_1..d_n are fixed; the risk is L(theta) = (1/n) sum_i loss(theta; d_i) over a convex set. A learner releases
one point. Neighbouring data sets differ in one record, replaced by any other admissible one.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from dpregret.algorithms.geometry import ConstraintSet
from dpregret.algorithms.learner import BaseLearner
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


class ErmLearner(BaseLearner):
    """Releases one point per setting and run."""

    natural_set: ClassVar[str] = "ball"
    """A set that it is made for, on which the audit looks at it."""

    budget_free: ClassVar[frozenset[str]] = frozenset()
    """Variants whose number of rounds no budget decides."""

    def __init__(self, problem: ErmProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        self.problem, self.domain, self.risk = problem, problem.domain, problem.risk

    @abstractmethod
    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p); one generator a run, whose draws no other run disturbs."""

    def iterations(self) -> list[int]:
        """Rounds of each setting (0 where there are none)."""
        return [0] * len(self.budgets)

    def uncapped_iterations(self) -> list[float]:
        """Rounds that a formula asks for, before rounding and any cap (below 1: n is too small); NaN without one."""
        return [math.nan] * len(self.budgets)

    @property
    def gaussian(self) -> bool:
        """Whether the point is post-processing of Gaussian releases, all of which use every record."""
        return False

    def bound(self) -> list[float]:
        """Explicit bound on the expected excess risk of each setting; NaN where none is known."""
        return [math.nan] * len(self.budgets)

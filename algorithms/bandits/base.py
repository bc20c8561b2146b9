"""Bandit convex optimisation: what a learner is told, and what it leaves.

In round t a learner plays a point and sees one number, the loss of that point; the sequence of played points is
released. Neighbouring sequences differ in one round's loss, replaced by any other admissible one. Losses are fixed
before the first round (oblivious adversary), convex, Lipschitz, and defined on the set widened by `margin`.

State has shape (settings, runs, n): one setting a privacy budget, all of them on the same random directions (common
random numbers), so that the private learner and its non-private counterpart can be compared run by run.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpregret.algorithms.geometry import ConstraintSet
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.core.arrays import Array
from dpregret.core.losses import LossSource as LossSource


@dataclass(frozen=True)
class BanditProblem:
    """What every learner is told before the first round.

    horizon: T. lipschitz: L, of every loss in l2 norm. Losses are non-negative and vanish somewhere on the set, so that
    within a distance zeta of it they lie in [0, L (diameter + zeta)]; observed values are clipped to that range and
    privacy never depends on the losses. linear: every loss is affine.
    """

    domain: ConstraintSet
    horizon: int
    lipschitz: float
    linear: bool = False


@dataclass(frozen=True)
class Record:
    """What a play leaves.

    losses: cumulative loss of the played points, (settings, runs). clipped: share of observed values outside the
    declared range, (settings, runs). displacement: mean distance, in radii of the set, by which noise alone moves the
    unconstrained point, (settings,). violation: largest distance-like constraint violation of the points the learner
    holds (perturbations excluded).
    """

    losses: Array
    clipped: Array
    displacement: Array
    violation: float


class BanditLearner(ABC):
    """Plays all settings and runs together.

    budgets: one a setting; Budget(inf) is the non-private counterpart in the same code. Raises ValueError for an
    unknown variant or a problem that the learner cannot serve, with one line that says why.
    """

    card: ClassVar[Card]

    def __init__(self, problem: BanditProblem, budgets: Sequence[Budget], runs: int, variant: str):
        if variant not in self.card.variants:
            raise ValueError(f"{self.card.name} has no variant {variant!r}: allowed are {list(self.card.variants)}")
        if "linear" in self.card.needs and not problem.linear:
            raise ValueError(f"{self.card.name} needs linear losses")
        self.problem, self.budgets, self.runs, self.variant = problem, budgets, runs, variant
        self.domain, self.horizon, self.lipschitz = problem.domain, problem.horizon, problem.lipschitz

    @abstractmethod
    def play(
        self,
        losses: LossSource,
        directions: Sequence[np.random.Generator],
        noise: Sequence[np.random.Generator],
        advance: Callable[[int], None] = lambda rounds: None,
    ) -> Record:
        """Play the whole horizon.

        directions, noise: one generator a run each; directions drive perturbations, noise the mechanism. advance: told
        the number of rounds done since it was last called.
        """

    @property
    def pure(self) -> bool:
        """Whether the guarantee holds with delta = 0."""
        return False

    def bound(self) -> list[float]:
        """Explicit bound on the expected regret of each setting; NaN where none is known."""
        return [float("nan")] * len(self.budgets)

    def delivered_epsilon(self) -> list[float]:
        """What the ledger of each setting delivers at its delta; inf without privacy."""
        return [float("inf")] * len(self.budgets)

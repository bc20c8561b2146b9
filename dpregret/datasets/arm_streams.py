"""Losses of arms: a bandit that plays vertices of the simplex sees the loss of one arm a round."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpregret.core.losses import LossSource
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.bandit_streams import BanditComparator, BanditStream, Whole, affine, pieces, places
from dpregret.numerics.uniforms import Uniforms


class Arms(BanditStream):
    """K arms that lose 0 or 1: one, drawn by each run, loses with probability 1/2 - gap, all others with 1/2.

    All arms compare one uniform number a round with their probability: a learner that sees one arm per round cannot
    distinguish this from independent ones, and the best arm is exactly the best in hindsight.
    """

    name = "arms"
    title = "Bernoulli arms"
    traits = frozenset({"linear", "arms"})
    sets = ("simplex",)
    tight = stochastic = True

    def __init__(self, domain: ConstraintSet, gap: float = 0.25) -> None:
        super().__init__(domain, 1.0)
        if not 0 < gap <= 0.5:
            raise ValueError(f"option gap must lie between 0 and 1/2, got {gap}")
        self.arms, self.gap = len(domain.center()), gap

    def source(self, generators: Sequence[np.random.Generator]) -> LossSource:
        """A number that decides the best arm, then one a round."""
        draws = Uniforms(generators)
        first = 3 * places(draws, 1, self.arms)
        costs = np.zeros((self.arms, 3, self.arms))
        costs[:, 1:] = 1.0
        costs[np.arange(self.arms), 1, np.arange(self.arms)] = 0.0
        table, offsets = costs.reshape(-1, self.arms), np.zeros(3 * self.arms)
        return lambda rounds: affine(first + self._losing(draws, rounds), table, offsets, rounds)

    def _losing(self, draws: Uniforms, rounds: int) -> Whole:
        """0 where no arm loses, 1 where all but the best one do, 2 where all do: (runs, rounds)."""
        drawn = draws.draw(rounds)
        return (drawn < 0.5).astype(np.int64) + (drawn < 0.5 - self.gap)

    def comparator(self, generators: Sequence[np.random.Generator], horizon: int) -> BanditComparator:
        """The best arm; the center plays all arms equally."""
        draws, others, own = Uniforms(generators), np.zeros(len(generators)), np.zeros(len(generators))
        draws.draw(1)
        for rounds in pieces(horizon):
            losing = self._losing(draws, rounds)
            others += (losing > 0).sum(axis=1)
            own += (losing > 1).sum(axis=1)
        return BanditComparator(own, np.zeros(len(own)), others + (own - others) / self.arms)


class HardArms(Arms):
    """The same with a gap of `gap` sqrt(K tau/T), tau = ceil(1/eps).

    At gap = 1 no learner can find the best arm in time, and such a learner loses (1 - 1/K) sqrt(K tau T) like one that
    plays all arms alike.
    """

    name = "hard-arms"
    title = "hard arms"
    aimed = True

    def __init__(self, domain: ConstraintSet, horizon: int, epsilon: float, gap: float = 1.0) -> None:
        if not (gap > 0 and math.isfinite(gap)):
            raise ValueError(f"option gap must be positive and finite, got {gap}")
        product = len(domain.center()) * max(1, math.ceil(min(horizon, 1 / epsilon)))
        found = gap * math.sqrt(product / horizon)
        if found > 0.5:
            raise ValueError(
                f"option gap: {gap:g} sqrt(K tau / T) = {found:.3g} is beyond 1/2: give a horizon of at least "
                f"{math.ceil(4 * gap**2 * product)}, or a smaller gap"
            )
        super().__init__(domain, found)

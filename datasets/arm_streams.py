"""Losses of arms: a bandit that plays vertices of the simplex sees the loss of one arm a round."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.losses import LossBatch, LossSource
from dpregret.datasets.bandit_losses import LinearBatch
from dpregret.datasets.bandit_streams import BanditComparator, BanditDomain, BanditStream

BLOCK = 2**16  # rounds of the comparator's pass that are drawn together; no result depends on it
NO_OFFSET = np.zeros((1, 1))


class Arms(BanditStream):
    """K arms that lose 0 or 1: one, drawn by each run, loses with probability 1/2 - gap, all others with 1/2.

    All arms compare one uniform number a round with their probability: who sees one arm a round cannot tell that from
    independent ones, and the best arm is exactly the best in hindsight.
    """

    name = "arms"
    title = "Bernoulli arms"
    traits = frozenset({"linear", "arms"})
    sets = ("simplex",)
    tight = stochastic = True

    def __init__(self, domain: BanditDomain, gap: float = 0.25) -> None:
        super().__init__(domain, 1.0)
        if not 0 < gap <= 0.5:
            raise ValueError(f"option gap must lie between 0 and 1/2, got {gap}")
        self.arms, self.gap = len(domain.center()), gap

    def source(self, generators: Sequence[np.random.Generator]) -> LossSource:
        """A number that decides the best arm, then one a round."""
        best = np.array([[[int(generator.random() * self.arms)]] for generator in generators])

        def following(rounds: int) -> LossBatch:
            others, own = self._losses(generators, rounds)
            costs = np.where(np.arange(self.arms) == best, own[..., None], others[..., None])
            return LinearBatch(costs, NO_OFFSET, rounds)

        return following

    def _losses(self, generators: Sequence[np.random.Generator], rounds: int) -> tuple[Array, Array]:
        """Losses of the other arms and of the best one, (runs, rounds) each."""
        drawn = np.stack([generator.random(rounds) for generator in generators])
        return np.where(drawn < 0.5, 1.0, 0.0), np.where(drawn < 0.5 - self.gap, 1.0, 0.0)

    def comparator(self, generators: Sequence[np.random.Generator], horizon: int) -> BanditComparator:
        """The best arm; the center plays all arms equally."""
        others, own = np.zeros(len(generators)), np.zeros(len(generators))
        for generator in generators:
            generator.random()
        for first in range(0, horizon, BLOCK):
            losses = self._losses(generators, min(BLOCK, horizon - first))
            others += losses[0].sum(axis=1)
            own += losses[1].sum(axis=1)
        return BanditComparator(own, np.zeros(len(own)), others + (own - others) / self.arms)


class HardArms(Arms):
    """The same with a gap of `gap` sqrt(K tau/T), tau = ceil(1/eps).

    At gap = 1 nobody can tell the best arm in time, and who cannot loses (1 - 1/K) sqrt(K tau T) like one that plays
    all arms alike.
    """

    name = "hard-arms"
    title = "hard arms"
    aimed = True

    def __init__(self, domain: BanditDomain, horizon: int, epsilon: float, gap: float = 1.0) -> None:
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

"""Streams of expert losses in epochs, rounds [2^k, 2^(k+1)): independent losses, and a counter-example."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dpregret.datasets.expert_streams import ExpertBlock, ExpertComparator, ExpertStream, rounds_of_block
from dpregret.numerics.arrays import Array


def epoch_lengths(horizon: int) -> list[int]:
    """1, 2, 4, ... rounds that add up to the horizon; the last epoch may be shorter."""
    starts = [2**k for k in range(horizon.bit_length())]
    return [min(start, horizon + 1 - start) for start in starts]


class Gap(ExpertStream):
    """Independent losses 0 and 1: one expert loses with probability (1 - gap)/2, all others with (1 + gap)/2.

    Sums over epochs are drawn, binomials; the rounds of an epoch follow by drawing without replacement, with the same
    law as if every round had been drawn. So 2^22 rounds of 1024 experts cost 23,000 numbers where the rounds are not
    requested, with the same sums as where they are. The best expert is the first. best_loss is a declaration only.
    """

    name = "gap"
    title = "independent losses with a gap"
    stochastic = True
    traits = frozenset({"epochs"})
    most = 2**20  # every one has losses of its own

    def __init__(self, experts: int, horizon: int, epsilon: float, best_loss: float | None, gap: float = 0.25) -> None:
        if not 0 <= gap <= 1:
            raise ValueError(f"gap must lie in [0, 1], got {gap}")
        super().__init__([1] * experts, horizon, best_loss)
        self.gap = float(gap)
        self.means = np.full(experts, (1 + self.gap) / 2)
        self.means[0] = (1 - self.gap) / 2

    def blocks(self, generators: Sequence[np.random.Generator]) -> Iterator[ExpertBlock]:
        """Epoch after epoch, in blocks of a bounded size."""
        step = rounds_of_block(len(generators), self.experts)
        for length, left in zip(epoch_lengths(self.horizon), self._sums(generators), strict=True):
            for first in range(0, length, step):
                rounds = min(step, length - first)
                losses = np.stack([each.random((rounds, self.experts)) for each in generators], axis=1)
                for index, loss in enumerate(losses):  # of the rounds that are left, so many are lost
                    loss[...] = loss * float(length - first - index) < left
                    left -= loss
                yield ExpertBlock(losses, rounds)

    def epochs(self, generators: Sequence[np.random.Generator]) -> Iterator[ExpertBlock]:
        """Means of the epochs."""
        for length, lost in zip(epoch_lengths(self.horizon), self._sums(generators), strict=True):
            yield ExpertBlock(lost[None] / length, length)

    def comparator(self, generators: Sequence[np.random.Generator]) -> ExpertComparator:
        """From the sums."""
        return self._compare(np.add.reduce(self._sums(generators)))

    def _sums(self, generators: Sequence[np.random.Generator]) -> list[Array]:
        """(runs, experts) an epoch; drawn before all rounds."""
        lengths = np.array(epoch_lengths(self.horizon))[:, None]
        drawn = [generator.binomial(lengths, self.means).astype(np.float64) for generator in generators]
        return list(np.stack(drawn, axis=1))


class HardGap(Gap):
    """The gap is 4 sqrt(ln(d)/T), at most 1: a constant share of the rounds is needed to find the best expert."""

    name = "gap-hard"
    title = "hard gap"

    def __init__(self, experts: int, horizon: int, epsilon: float, best_loss: float | None) -> None:
        super().__init__(
            experts, horizon, epsilon, best_loss, min(1.0, 4 * math.sqrt(math.log(experts) / max(1, horizon)))
        )


class LeaderSwap(ExpertStream):
    """In epochs of even number the second half of the experts loses 1 in every round, in those of odd number the first.

    Fixed before the first round, and no law: the leader of an epoch is the loser of the next. Who plays the leader of
    the epoch before loses everything, where the better half loses a third.
    """

    name = "leader-swap"
    title = "swapping leaders"
    traits = frozenset({"phases"})

    def __init__(self, experts: int, horizon: int, epsilon: float, best_loss: float | None) -> None:
        super().__init__([experts - experts // 2, experts // 2], horizon, best_loss)

    def blocks(self, generators: Sequence[np.random.Generator]) -> Iterator[ExpertBlock]:
        """One block an epoch; the generators are not used."""
        for number, length in enumerate(epoch_lengths(self.horizon)):
            yield ExpertBlock(np.array([[[1.0, 0.0] if number % 2 else [0.0, 1.0]]]), length)

"""Streams of expert losses in blocks of equal rounds, which learners that decide at the end of batches do not see."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dpregret.datasets.expert_streams import ROUNDS, ExpertBlock, ExpertStream, rounds_of_block


class Turns(ExpertStream):
    """Two halves of the experts lose 1 in turn, each for `length` rounds; by default 1/eps, rounded.

    Who draws by exp(-eta * losses) every B = `length` rounds expects 1/2 and (1 + tanh(eta B/2))/2 of them in turn: a
    regret of (T/4) tanh(eta B/2), near eta T B/8. Who draws in every round loses about eta T/8. A sixteenth of the
    experts, at least one, lose in all rounds, so that a random expert has a regret; to see that costs ln(16/15)/eta.
    """

    name = "turns"
    title = "halves in turn"
    traits = frozenset({"phases"})
    tight = True

    def __init__(
        self, experts: int, horizon: int, epsilon: float, best_loss: float | None, length: int | None = None
    ) -> None:
        if experts < 3:
            raise ValueError(f"experts must be at least 3 for turns, got {experts}")
        bad = max(1, experts // 16)
        super().__init__([experts - bad - (experts - bad) // 2, (experts - bad) // 2, bad], horizon, best_loss)
        if length is None:
            length = 1 if math.isinf(epsilon) else max(1, round(1 / epsilon))
        if not (isinstance(length, int) and length >= 1):
            raise ValueError(f"length must be a whole number of at least 1, got {length}")
        self.length = length

    def blocks(self, generators: Sequence[np.random.Generator]) -> Iterator[ExpertBlock]:
        """Whole turns, in blocks of a bounded size or one a turn; the generators are not used."""
        period = np.array([[[1.0, 0.0, 1.0]], [[0.0, 1.0, 1.0]]])
        if 2 * self.length > ROUNDS:
            for number, first in enumerate(range(0, self.horizon, self.length)):
                yield ExpertBlock(period[[number % 2]], min(self.length, self.horizon - first))
        else:
            table = np.tile(np.repeat(period, self.length, axis=0), (ROUNDS // (2 * self.length), 1, 1))
            for first in range(0, self.horizon, len(table)):
                losses = table[: self.horizon - first]
                yield ExpertBlock(losses, len(losses))


class SwitchEpochs(ExpertStream):
    """The instance of Asi et al. 2024, Thm 4.2: an expert loses 0 or 1 in a whole epoch, by a fair coin of its own.

    An epoch has `length` rounds; by default T/(T eps)^(4/3), rounded, at least 1, as in the paper. Who decides before
    an epoch loses half of it, and the best of d experts is ahead of that by sqrt(T length) and a factor near
    sqrt(ln(d)/2). No bound is declared for it: the paper's proof is not valid (docs/asi_et_al_2024.md).
    """

    name = "switch-epochs"
    title = "epochs of fair coins"
    tight = True
    most = 2**10  # every one has losses of its own

    def __init__(
        self, experts: int, horizon: int, epsilon: float, best_loss: float | None, length: int | None = None
    ) -> None:
        super().__init__([1] * experts, horizon, best_loss)
        if length is None:
            length = 1 if math.isinf(epsilon) else max(1, round(horizon / (horizon * epsilon) ** (4 / 3)))
        if not (isinstance(length, int) and length >= 1):
            raise ValueError(f"length must be a whole number of at least 1, got {length}")
        self.length = length

    def blocks(self, generators: Sequence[np.random.Generator]) -> Iterator[ExpertBlock]:
        """Some epochs a block, of a bounded size; an epoch that is longer is a block."""
        epochs = max(1, rounds_of_block(len(generators), self.experts) // self.length)
        for first in range(0, self.horizon, epochs * self.length):
            coins = np.stack([each.integers(0, 2, (epochs, self.experts)) for each in generators], axis=1)
            rounds = min(epochs * self.length, self.horizon - first)
            losses = coins if epochs == 1 else np.repeat(coins, self.length, axis=0)[:rounds]
            yield ExpertBlock(losses.astype(np.float64), rounds)

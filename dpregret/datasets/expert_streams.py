"""Streams of expert losses by name: all fixed before the first round, none of them materialised round by round.

Experts with equal losses form a group; a stream gives the size of every group and yields blocks of losses by group.
Which expert is in which group is left out: learners treat experts alike, so a random labelling, which the adversary of
the lower bounds draws, decides nothing about their loss.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpregret.datasets import expert_data
from dpregret.datasets.source import Generators, Source, build, sources
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

MOST = 2**1000
"""Most experts: their numbers are floats, and so are those numbers times some rounds."""
ROUNDS = 4096
"""Most rounds of a block where losses vary; no result depends on it."""
NUMBERS = 2**18
"""Most losses of such a block, 2 MB, which a processor keeps near: with many runs and experts it has fewer rounds."""


@dataclass(frozen=True, slots=True)
class ExpertBlock:
    """Losses of consecutive rounds, (rounds, runs, groups) in [0, 1].

    The first axis has length 1 where all rounds are alike, the second where all runs are.
    """

    losses: Array
    rounds: int


@dataclass(frozen=True, slots=True)
class ExpertComparator:
    """Total loss of the best expert in hindsight, and of staying with a uniformly random one; (runs,) each."""

    best: Array
    uniform: Array


class ExpertStream(Source, ABC):
    """Losses of d experts over T rounds.

    A class is built from the number of experts, the horizon, the epsilon of the learner that the stream is aimed at and
    a best_loss; its other parameters are its options. sizes: number of experts of each group, (groups,), whole numbers
    that add up to d. best_loss: public bound L* on the total loss of the best expert that learners receive, None where
    none is declared. tight: the stream forces what the upper bounds pay for. lower_bound: least expected regret of
    every eps-DP learner on streams like this one, NaN where none is known. most: as many experts as there are. gap:
    declared where rounds are independent draws of one law: every other expert's mean loss is at least so far above that
    of the best one; None elsewhere. Traits: ``phases`` (rounds come in phases of equal losses), ``epochs`` (`epochs`
    costs less than `blocks`).
    """

    lower_bound = math.nan
    gap: float | None = None
    most: ClassVar[int | None] = None

    def __init__(self, sizes: Sequence[int], horizon: int, best_loss: float | None) -> None:
        self.horizon, self.best_loss = horizon, best_loss
        self.sizes: Array = np.asarray(sizes, dtype=np.float64)
        self.experts = int(self.sizes.sum())
        if horizon < 1:
            raise ValueError(f"horizon must be at least 1, got {horizon}")
        if best_loss is not None and not 0 <= best_loss <= horizon:
            raise ValueError(f"best_loss must lie between 0 and the horizon {horizon}, got {best_loss}")

    @abstractmethod
    def blocks(self, generators: Generators) -> Iterator[ExpertBlock]:
        """Blocks that cover the horizon exactly; a run's losses depend on its own generator only."""

    def epochs(self, generators: Generators) -> Iterator[ExpertBlock]:
        """The same losses for learners that use sums over epochs [2^k, 2^(k+1)); a block may be an epoch's mean."""
        return self.blocks(generators)

    def comparator(self, generators: Generators) -> ExpertComparator:
        """Makes its own pass over the losses: give it generators equal to those of `blocks`."""
        total = np.zeros((len(generators), len(self.sizes)))
        for block in self.blocks(generators):
            total += block.losses.sum(axis=0) * (block.rounds if len(block.losses) == 1 else 1)
        return self._compare(total)

    def _compare(self, total: Array) -> ExpertComparator:
        """From the total loss of an expert of each group, (runs, groups)."""
        shares = self.sizes / float(self.experts)  # T d may exceed the largest float
        return ExpertComparator(total.min(axis=1), vecdot(total, shares))


class NestedHalving(ExpertStream):
    """Nested halving: T is cut into phases, and at the beginning of each a group of the living experts dies.

    Death is permanent (`transient`: for the phase of the death only). In a round the dead lose 1 and the living L*/T:
    that is 0 or 1 plus L*/T, clipped to 1. So the last group, which never dies, loses exactly L*. A player of a random
    living expert switches sum_j (dead of phase j) / (living before it) times in the mean: (log2 d)/2 where halves die,
    near ln d where the dead are few. The instance makes the learners of Asi et al. 2023 pay for each of these switches.

    sizes: the groups by the phase of their death, then the survivors. Phases have floor(T/m) rounds, the last the rest.
    """

    traits = frozenset({"phases"})
    tight = True
    transient: ClassVar[bool] = False

    def __init__(self, sizes: Sequence[int], horizon: int, best_loss: float | None) -> None:
        self.floor = 0.0 if best_loss is None else float(best_loss)
        super().__init__(sizes, horizon, self.floor)
        phases = len(sizes) - 1
        if horizon < phases:
            raise ValueError(f"horizon must be at least {phases}, the number of phases, got {horizon}")
        self.bounds = [phase * (horizon // phases) for phase in range(phases)] + [horizon]

    def blocks(self, generators: Generators) -> Iterator[ExpertBlock]:
        """One block a phase; the generators are not used."""
        for phase, (first, last) in enumerate(pairwise(self.bounds)):
            losses = np.full((1, 1, len(self.sizes)), self.floor / self.horizon)
            losses[..., phase if self.transient else 0 : phase + 1] = 1.0
            yield ExpertBlock(losses, last - first)

    def comparator(self, generators: Generators) -> ExpertComparator:
        """D rounds of death cost D (1 - L*/T) on top of L*."""
        starts = np.array(self.bounds)
        dead = np.diff(starts) if self.transient else self.horizon - starts[:-1]
        total = self.floor + np.append(dead, 0) * (1.0 - self.floor / self.horizon)
        return self._compare(np.tile(total, (len(generators), 1)))


class Halving(NestedHalving):
    """Half of the living die in each of log2 d phases; d is a power of two."""

    name = "halving"
    title = "halving experts"

    def __init__(self, experts: int, horizon: int, epsilon: float, best_loss: float | None) -> None:
        super().__init__(_halves(experts), horizon, best_loss)


class TransientHalving(Halving):
    """As halving, but a dead expert loses in its own phase only: returning to it later costs nothing."""

    name = "halving-transient"
    title = "transient halving"
    transient = True


class SlowHalving(NestedHalving):
    """A share `kill` of the living, rounded, at least one expert, dies in each phase, until one is left."""

    name = "halving-slow"
    title = "slow halving"

    def __init__(
        self, experts: int, horizon: int, epsilon: float, best_loss: float | None, kill: float = 0.125
    ) -> None:
        if not 0 < kill < 1:
            raise ValueError(f"kill must lie in (0, 1), got {kill}")
        sizes, living = [], experts
        while living > 1:
            sizes.append(min(living - 1, max(1, round(kill * living))))
            living -= sizes[-1]
        super().__init__([*sizes, 1], horizon, best_loss)


class Bernoulli(ExpertStream):
    """One perfect expert; each of the others loses 1 with probability p in every round, independently.

    The easy case: the best expert stands out after about (ln d)/p rounds. A best_loss above 0 is a declaration only.
    """

    name = "bernoulli"
    title = "independent losses"
    stochastic = True
    most = 2**20  # each has its own losses

    def __init__(
        self, experts: int, horizon: int, epsilon: float, best_loss: float | None, probability: float = 0.5
    ) -> None:
        if not 0 < probability <= 1:
            raise ValueError(f"probability must lie in (0, 1], got {probability}")
        super().__init__([1] * experts, horizon, 0.0 if best_loss is None else best_loss)
        self.probability = probability

    def blocks(self, generators: Generators) -> Iterator[ExpertBlock]:
        """Blocks of a bounded size; the perfect expert is the first."""
        step = rounds_of_block(len(generators), self.experts)
        for first in range(0, self.horizon, step):
            rounds = min(step, self.horizon - first)
            losses = np.zeros((rounds, len(generators), self.experts))
            for run, generator in enumerate(generators):
                losses[:, run, 1:] = generator.random((rounds, self.experts - 1)) < self.probability
            yield ExpertBlock(losses, rounds)


class LowerBound(ExpertStream):
    """Asi et al. 2023, Thm 5: no expert loses for T - k rounds, then all but expert j lose 1 in each of k rounds.

    For k < ln(d - 1)/eps every eps-DP learner has expected regret of at least k/4 for some j. Let B_j be the event that
    fewer than k/2 of the last k plays differ from j: these are disjoint. Were the regret below k/4 for every j, B_j
    would have probability above 1/2 on its own stream (Markov), and above e^(-k eps)/2 on that of any i, which differs
    in k rounds. Then (d - 1) e^(-k eps)/2 < 1 - P(B_i) < 1/2 on the stream of i, against the choice of k.

    length: k, by default the largest that the proof covers, ceil(ln(d - 1)/eps) - 1, but at least 1. `lower_bound` is
    k/4 where the proof covers k. It says nothing of (eps, delta)-DP.
    """

    name = "lower-bound"
    title = "lower-bound instance"
    traits = frozenset({"phases"})
    tight = True

    def __init__(
        self, experts: int, horizon: int, epsilon: float, best_loss: float | None, length: int | None = None
    ) -> None:
        if best_loss:
            raise ValueError(f"best_loss must be 0 for lower-bound, got {best_loss}")
        if experts < 3:
            raise ValueError(f"experts must be at least 3 for lower-bound, got {experts}")
        super().__init__([experts - 1, 1], horizon, 0.0)
        if length is None and math.isinf(epsilon):
            raise ValueError(f"lower-bound needs a finite epsilon or the option 'length', got epsilon {epsilon}")
        provable = math.log(experts - 1) / epsilon
        self.length = max(1, math.ceil(provable) - 1) if length is None else length
        if not (isinstance(self.length, int) and 1 <= self.length <= horizon):
            raise ValueError(f"length must be a whole number from 1 to the horizon {horizon}, got {self.length}")
        if self.length < provable:
            self.lower_bound = self.length / 4

    def blocks(self, generators: Generators) -> Iterator[ExpertBlock]:
        """Quiet rounds, if any, then those that count; the generators are not used."""
        if self.length < self.horizon:
            yield ExpertBlock(np.zeros((1, 1, 2)), self.horizon - self.length)
        yield ExpertBlock(np.array([[[1.0, 0.0]]]), self.length)


def _rounds(length: int | None, default: float) -> int:
    """The option `length`, or else the default, rounded, but at least 1."""
    if length is None:
        return max(1, round(default))
    if not (isinstance(length, int) and length >= 1):
        raise ValueError(f"length must be a whole number of at least 1, got {length}")
    return length


class Turns(ExpertStream):
    """Two halves of the experts lose 1 in turn, each for `length` rounds; by default 1/eps, rounded.

    A learner that draws by exp(-eta * losses) every B = `length` rounds expects 1/2 and (1 + tanh(eta B/2))/2 of them
    in turn: a regret of (T/4) tanh(eta B/2), near eta T B/8. A draw in every round costs about eta T/8. A sixteenth of
    the experts, at least one, lose in all rounds, so that a random expert has regret; seeing that costs ln(16/15)/eta.
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
        self.length = _rounds(length, 1 / epsilon)

    def blocks(self, generators: Generators) -> Iterator[ExpertBlock]:
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
    """The instance of Asi et al. 2024, Thm 4.2: an expert loses 0 or 1 in a whole epoch, by its own fair coin.

    An epoch has `length` rounds; by default T/(T eps)^(4/3), rounded, at least 1, as in the paper. Who decides before
    an epoch loses half of it, and the best of d experts is ahead of that by sqrt(T length) and a factor near
    sqrt(ln(d)/2). No bound is declared for it: the paper's proof is not valid (docs/asi_et_al_2024.md).
    """

    name = "switch-epochs"
    title = "epochs of fair coins"
    tight = True
    most = 2**10  # each has its own losses

    def __init__(
        self, experts: int, horizon: int, epsilon: float, best_loss: float | None, length: int | None = None
    ) -> None:
        super().__init__([1] * experts, horizon, best_loss)
        self.length = _rounds(length, horizon / (horizon * epsilon) ** (4 / 3))

    def blocks(self, generators: Generators) -> Iterator[ExpertBlock]:
        """Some epochs a block, of a bounded size; an epoch that is longer is a block."""
        epochs = max(1, rounds_of_block(len(generators), self.experts) // self.length)
        for first in range(0, self.horizon, epochs * self.length):
            coins = np.stack([generator.integers(0, 2, (epochs, self.experts)) for generator in generators], axis=1)
            rounds = min(epochs * self.length, self.horizon - first)
            losses = coins if epochs == 1 else np.repeat(coins, self.length, axis=0)[:rounds]
            yield ExpertBlock(losses.astype(np.float64), rounds)


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
    most = 2**20  # each has its own losses

    def __init__(self, experts: int, horizon: int, epsilon: float, best_loss: float | None, gap: float = 0.25) -> None:
        if not 0 <= gap <= 1:
            raise ValueError(f"gap must lie in [0, 1], got {gap}")
        super().__init__([1] * experts, horizon, best_loss)
        self.gap = float(gap)
        self.means = np.full(experts, (1 + self.gap) / 2)
        self.means[0] = (1 - self.gap) / 2

    def blocks(self, generators: Generators) -> Iterator[ExpertBlock]:
        """Epoch after epoch, in blocks of a bounded size."""
        step = rounds_of_block(len(generators), self.experts)
        for length, remaining in zip(epoch_lengths(self.horizon), self._sums(generators), strict=True):
            for first in range(0, length, step):
                rounds = min(step, length - first)
                losses = np.stack([generator.random((rounds, self.experts)) for generator in generators], axis=1)
                for index, loss in enumerate(losses):  # `remaining` losses fall on the rounds from here on
                    loss[...] = loss * float(length - first - index) < remaining
                    remaining -= loss
                yield ExpertBlock(losses, rounds)

    def epochs(self, generators: Generators) -> Iterator[ExpertBlock]:
        """Means of the epochs."""
        for length, lost in zip(epoch_lengths(self.horizon), self._sums(generators), strict=True):
            yield ExpertBlock(lost[None] / length, length)

    def comparator(self, generators: Generators) -> ExpertComparator:
        """From the sums."""
        return self._compare(np.add.reduce(self._sums(generators)))

    def _sums(self, generators: Generators) -> list[Array]:
        """(runs, experts) an epoch; drawn before all rounds."""
        lengths = np.array(epoch_lengths(self.horizon))[:, None]
        drawn = [generator.binomial(lengths, self.means).astype(np.float64) for generator in generators]
        return list(np.stack(drawn, axis=1))


class HardGap(Gap):
    """The gap is 4 sqrt(ln(d)/T), at most 1: a constant share of the rounds is needed to find the best expert."""

    name = "gap-hard"
    title = "hard gap"

    def __init__(self, experts: int, horizon: int, epsilon: float, best_loss: float | None) -> None:
        gap = min(1.0, 4 * math.sqrt(math.log(experts) / max(1, horizon)))
        super().__init__(experts, horizon, epsilon, best_loss, gap)


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

    def blocks(self, generators: Generators) -> Iterator[ExpertBlock]:
        """One block an epoch; the generators are not used."""
        for number, length in enumerate(epoch_lengths(self.horizon)):
            yield ExpertBlock(np.array([[[1.0, 0.0] if number % 2 else [0.0, 1.0]]]), length)


class ErrorTable(ExpertStream):
    """Experts are classifiers: the loss is the 0/1 error on a sample.

    Every run sees all samples once per pass, in its own order. best_loss is a declaration; the data decide what
    the best expert loses. Chosen after a look at the table it is side information, which no budget pays for.
    """

    real = True
    stochastic = True
    data: ClassVar[str]
    most = expert_data.EXPERTS

    def __init__(
        self, experts: int, horizon: int, epsilon: float, best_loss: float | None, data_dir: str | Path
    ) -> None:
        super().__init__([1] * experts, horizon, best_loss)
        table = expert_data.load(self.data, Path(data_dir))
        self.errors = expert_data.subset(table, experts).astype(np.float64)

    @property
    def pool_size(self) -> int:
        """The samples of the table."""
        return len(self.errors)

    def blocks(self, generators: Generators) -> Iterator[ExpertBlock]:
        """Pass after pass, in blocks of a bounded size."""
        step, remaining = rounds_of_block(len(generators), self.experts), self.horizon
        for order in self._orders(generators):
            rows = order[:remaining]
            for first in range(0, len(rows), step):
                losses = self.errors[rows[first : first + step]]
                yield ExpertBlock(losses, len(losses))
            remaining -= len(rows)
            if not remaining:
                return

    def comparator(self, generators: Generators) -> ExpertComparator:
        """Full passes cost the sums of the table; only the last one depends on its order."""
        passes, rest = divmod(self.horizon, len(self.errors))
        last = next(islice(self._orders(generators), passes, None))
        beginning = np.stack([self.errors[order[:rest]].sum(axis=0) for order in last.T])
        return self._compare(passes * self.errors.sum(axis=0) + beginning)

    def _orders(self, generators: Generators) -> Iterator[NDArray[np.int64]]:
        """Endless passes: numbers of samples, (samples, runs)."""
        while True:
            yield np.stack([generator.permutation(len(self.errors)) for generator in generators], axis=1)


class DigitsExperts(ErrorTable):
    """Classifiers trained on parts of the handwritten digits; see `expert_data`."""

    name = data = "digits-experts"
    title = "digit classifiers"


class BreastCancerExperts(ErrorTable):
    """Classifiers trained on parts of the Wisconsin breast cancer data; see `expert_data`."""

    name = data = "breast-cancer-experts"
    title = "breast cancer classifiers"


def rounds_of_block(runs: int, groups: int) -> int:
    """How many rounds a block may have."""
    return max(1, min(ROUNDS, NUMBERS // (runs * groups)))


def _halves(experts: int) -> list[int]:
    if experts < 2 or experts & (experts - 1):
        raise ValueError(f"experts must be a power of two, at least 2, got {experts}")
    return [experts >> (phase + 1) for phase in range(experts.bit_length() - 1)] + [1]


class ClippedExperts(ExpertStream):
    """Another stream, its losses clipped to [0, 1] for learner and comparator, so that no range is trusted."""

    def __init__(self, stream: ExpertStream) -> None:
        self.stream = stream
        vars(self).update(vars(stream), tight=stream.tight, lower_bound=stream.lower_bound, gap=stream.gap)

    @property
    def pool_size(self) -> int | None:
        """Those of the stream."""
        return self.stream.pool_size

    def blocks(self, generators: Generators) -> Iterator[ExpertBlock]:
        """Those of the stream, clipped."""
        for block in self.stream.blocks(generators):
            yield ExpertBlock(np.clip(block.losses, 0.0, 1.0), block.rounds)


def make_expert_stream(
    name: str,
    experts: int,
    horizon: int,
    *,
    epsilon: float = math.inf,
    best_loss: float | None = None,
    data_dir: str | Path | None = None,
    clip: bool = False,
    **options: Any,
) -> ExpertStream:
    """Build a stream of d experts over T rounds.

    epsilon: of the learner that the stream is aimed at; only the lower bound looks at it. best_loss: the public L*:
    part of the stream's definition for the halving streams (None is 0), a declaration for the others. data_dir: the
    folder of the tables. clip: losses outside [0, 1] are moved there. Raises ValueError for unknown names and options
    and for values out of range; `base.UnreadDataError` where all fits but a table is needed and `data_dir` was not
    given.
    """
    most = getattr(sources(ExpertStream).get(name), "most", None)
    if not 2 <= experts <= (most or MOST):
        raise ValueError(f"experts must lie between 2 and {most or '2^1000'}, got {experts}")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    arguments = (experts, horizon, epsilon, best_loss)
    stream: ExpertStream = build("stream", ExpertStream, name, arguments, options, data_dir)
    return ClippedExperts(stream) if clip else stream

"""Prediction with expert advice: the input of a learner, and its answer.

In round t a learner plays one of d experts (or a distribution over them) and then sees the losses of all, in [0, 1].
The sequence of played experts is released. Neighbouring sequences differ in the losses of one round, replaced by any
others in [0, 1]. Losses are fixed before the first round (oblivious adversary).

Experts with equal losses in all rounds form a group; a stream gives the size of each group and one loss per group. All
learners treat experts alike, so which expert is in which group decides nothing, and a stream of 2^18 experts in 19
groups costs 19 numbers a round.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from dpregret.algorithms.learner import BaseLearner
from dpregret.algorithms.privacy import Budget
from dpregret.numerics.arrays import Array


class Block(Protocol):
    """Losses of `rounds` consecutive rounds.

    losses: (rounds, runs, groups). The first axis has length 1 where all rounds are alike, the second where all runs
    are; both broadcast.
    """

    @property
    def rounds(self) -> int:
        """Number of rounds."""

    @property
    def losses(self) -> Array:
        """Losses in [0, 1]."""


@dataclass(frozen=True)
class ExpertProblem:
    """The problem that a learner receives before the first round.

    sizes: number of experts of each group, (groups,); they add up to d. horizon: T. best_loss: public upper bound L* on
    the total loss of the best expert, None where none is declared. failure: the beta of high-probability statements.
    gap: declared publicly where rounds are independent draws of one law: the mean loss of every other expert is at
    least so far above that of the best one (0: nothing is known); None where rounds may be anything.
    Raises ValueError for fewer than two experts, an empty group or horizon, a best_loss that is negative or above T, or
    a gap outside [0, 1].
    """

    sizes: Array
    horizon: int
    best_loss: float | None = None
    failure: float = 0.05
    gap: float | None = None

    def __post_init__(self) -> None:
        if (self.sizes < 1).any():
            raise ValueError("every group needs at least one expert")
        if self.experts < 2:
            raise ValueError(f"at least 2 experts are needed, got {self.experts}")
        if self.horizon < 1:
            raise ValueError(f"horizon must be at least 1, got {self.horizon}")
        if self.best_loss is not None and not 0 <= self.best_loss <= self.horizon:
            raise ValueError(f"best_loss must lie between 0 and the horizon {self.horizon}, got {self.best_loss}")
        if self.gap is not None and not 0 <= self.gap <= 1:
            raise ValueError(f"gap must lie between 0 and 1, got {self.gap}")

    @property
    def experts(self) -> int:
        """d."""
        return int(self.sizes.sum())


class RunOfBlock:
    """One run's losses in a block, (rounds | 1, groups): rounds are counted from 0. constant: all of them are alike."""

    def __init__(self, block: Block, run: int):
        self.rounds, self.constant = block.rounds, len(block.losses) == 1
        self.losses: Array = block.losses[:, min(run, block.losses.shape[1] - 1)]

    def total(self, group: int, start: int, stop: int) -> float:
        """Losses of a group in rounds start..stop-1, summed."""
        losses = self.losses[:, group]
        return float(losses[0] * (stop - start)) if self.constant else float(np.add.reduce(losses[start:stop]))

    def before(self, stop: int) -> Array:
        """Sums over rounds 0..stop-1 of all groups, (groups,)."""
        return np.asarray(self.losses[0] * stop if self.constant else self.losses[:stop].sum(axis=0))


def block_total(block: Block) -> Array:
    """Sum over the rounds of a block, (runs | 1, groups)."""
    return block.losses.sum(axis=0) * (block.rounds if len(block.losses) == 1 else 1)


def rechunk(blocks: Iterable[Block], size: int) -> Iterator[Array]:
    """The same losses round by round, in pieces (size, runs | 1, groups); the last one may be shorter."""
    pending = np.empty((0, 1, 1))
    for block in blocks:
        rest = np.broadcast_to(block.losses, (block.rounds, *block.losses.shape[1:]))
        while len(rest):
            piece, rest = np.split(rest, [size - len(pending)])
            runs = max(pending.shape[1], piece.shape[1])
            parts = [np.broadcast_to(part, (len(part), runs, piece.shape[2])) for part in (pending, piece)]
            pending = np.concatenate(parts) if len(pending) else piece
            if len(pending) == size:
                yield pending
                pending = pending[:0, :1]
    if len(pending):
        yield pending


@dataclass(frozen=True)
class Play:
    """The record of a play, one number per run.

    losses: total loss of the played experts. Exact learners (`ExpertLearner.exact`) give its expectation over their own
    draws. draws: number of times that an expert was drawn (expected, for exact learners), NaN where that has no
    meaning. phases: of learners that guess L*, how many guesses were tried.
    """

    losses: Array
    draws: Array
    phases: Array | None = None


class ExpertLearner(BaseLearner):
    """Plays all runs of one setting together: streams may be aimed at an epsilon, so settings cannot share one.

    budget: what the released sequence may cost; Budget(inf) means no privacy.
    """

    exact: ClassVar[bool] = False
    """Total losses are expectations over the learner's draws, computed from its marginals."""
    by_epochs: ClassVar[bool] = False
    """Only the sums of losses over epochs, rounds [2^k, 2^(k+1)), decide what is played."""

    def __init__(self, problem: ExpertProblem, budget: Budget, runs: int, variant: str):
        super().__init__(problem, [budget], runs, variant)
        if "best-loss" in self.card.needs and problem.best_loss is None:
            raise ValueError(f"{self.card.name} needs a bound on the loss of the best expert: give best_loss")
        self.problem, self.budget = problem, budget
        self.sizes, self.experts, self.horizon = problem.sizes, problem.experts, problem.horizon
        self.prepare()

    @abstractmethod
    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Play the whole horizon; blocks cover it exactly. One generator a run, whose draws no other run disturbs."""

    def bound(self) -> list[float]:
        """Explicit bound on the expected regret (Algorithm 1: with high probability); NaN where none is known."""
        return [math.nan]


def play_runs(players: Sequence[Any], blocks: Iterable[Block], groups: int) -> Play:
    """Total losses of the played experts and numbers of draws, one a player: one run of a learner.

    Players have the loss so far, `total`, the number of `draws` without the uniform first one, and `play_block`
    (losses, before): all rounds of a `RunOfBlock`, before (groups,) the losses up to its first round.
    """
    before = np.zeros((1, groups))
    for block in blocks:
        runs = [RunOfBlock(block, run) for run in range(block.losses.shape[1])]  # one where all runs are alike
        for run, player in enumerate(players):
            player.play_block(runs[min(run, len(runs) - 1)], before[min(run, len(before) - 1)])
        before = before + block_total(block)
    return Play(np.array([player.total for player in players]), np.array([float(player.draws) for player in players]))

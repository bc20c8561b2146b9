"""Playing all runs of a learner that draws experts, block by block."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from dpregret.algorithms.experts.base import Block, Play, RunOfBlock, block_total
from dpregret.numerics.arrays import Array


class Player(Protocol):
    """One run of a learner."""

    @property
    def total(self) -> float:
        """Loss of the played experts so far."""

    @property
    def draws(self) -> int:
        """Number of draws so far, without the uniform first one."""

    def play_block(self, losses: RunOfBlock, before: Array) -> None:
        """Play all rounds of a block. before: losses of the groups up to its first round, (groups,)."""


def play_runs(players: Sequence[Player], blocks: Iterable[Block], groups: int) -> Play:
    """Total losses of the played experts and numbers of draws, one a player."""
    before = np.zeros((1, groups))
    for block in blocks:
        each = [RunOfBlock(block, run) for run in range(block.losses.shape[1])]  # one where all runs are alike
        for run, player in enumerate(players):
            player.play_block(each[min(run, len(each) - 1)], before[min(run, len(before) - 1)])
        before = before + block_total(block)
    return Play(np.array([own.total for own in players]), np.array([float(own.draws) for own in players]))

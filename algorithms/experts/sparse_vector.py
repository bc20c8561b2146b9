"""Experts by private switching: leave an expert when a threshold test says that it lost much.

Algorithm   Asi et al. 2023, Alg. 1; see dpregret.algorithms.privacy.switching for its constants.
Privacy     Replace the losses of one round; the sequence of played experts is protected. Threshold tests at eps/2, K
            draws at eps/2 (starved: nine tenths and one tenth).
Guarantee   Asi et al. 2023, Thm 1: with probability 1 - 2 beta the loss is at most
            (K + 1) (L* + 4/eta + 2 accuracy + 1).
Deviations  printed-*: threshold with accuracy 8 B/eps, although the tests have eps/2 only. zcdp: draws priced by zCDP
            of bounded-range mechanisms. starved-*, practical-*: other constants, see there.

Play is simulated from event to event: the halting round of a threshold test has a closed form (see
dpregret.algorithms.privacy.threshold), so a horizon of 2^22 costs a few dozen events a run.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from dpregret.algorithms.experts.base import Block, ExpertLearner, ExpertProblem, Play, RunOfBlock, block_total
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import draw_group
from dpregret.algorithms.privacy.switching import CALIBRATIONS, Switching
from dpregret.algorithms.privacy.threshold import Watch
from dpregret.core.arrays import Array

FIRST_LOOK = 4096  # queries looked at together at first; twice as many each time nothing happens
LONGEST_LOOK = 2**18


class Switcher:
    """One run of Algorithm 1. `group` is the group of the expert in play, `query` its loss since it was drawn."""

    def __init__(self, plan: Switching, sizes: Array, generator: np.random.Generator):
        self.plan, self.sizes, self.generator = plan, sizes, generator
        self.group = draw_group(generator, sizes, np.zeros(len(sizes)), 1.0)
        self.watch = Watch(plan.test(), [generator])
        self.query, self.switches, self.total = 0.0, 0, 0.0

    def advance(self, losses: RunOfBlock, before: Array, start: int = 0) -> int:
        """Play from round `start` of a block until a test halts or the block ends; return the round reached.

        before: cumulative losses (groups,) at the block's first round. In the round of a halt a new expert is drawn,
        and plays it: the next test comes one round later.
        """
        halted = None if self.switches >= self.plan.switches else self._halt(losses, start)
        stop = losses.rounds if halted is None else halted
        self._play(losses, start, stop)
        if halted is None:
            return stop
        self.switch(before + losses.before(halted))
        self._play(losses, halted, halted + 1)
        return halted + 1

    def switch(self, scores: Array) -> None:
        """Draw a new expert and begin a new test."""
        self.group = draw_group(
            self.generator, self.sizes, np.maximum(scores, self.plan.best_loss), self.plan.draw_scale
        )
        self.switches, self.query = self.switches + 1, 0.0
        self.watch.open(0)

    def _play(self, losses: RunOfBlock, start: int, stop: int) -> None:
        loss = losses.total(self.group, start, stop)
        self.total += loss
        self.query += loss

    def _halt(self, losses: RunOfBlock, start: int) -> int | None:
        """The round of the block, from `start` on, whose query halts."""
        if losses.constant and losses.losses[0, self.group] == 0:
            found = self.watch.constant(0, self.query, losses.rounds - start)
            return None if found is None else start + found
        query, look = self.query, FIRST_LOOK
        while start < losses.rounds:
            stop = min(losses.rounds, start + look)
            path = losses.path(self.group, start, stop)
            after = query + np.cumsum(path)
            found = self.watch.path(0, np.concatenate([[query], after[:-1]]))
            if found is not None:
                return start + found
            query, start, look = float(after[-1]), stop, min(2 * look, LONGEST_LOOK)
        return None


class SparseVectorExperts(ExpertLearner):
    """Algorithm 1."""

    card = Card(
        name="sparse-vector",
        title="Algorithm 1 (sparse vector)",
        paper="Asi et al. 2023",
        reference="Alg. 1",
        variants={name: calibration.text for name, calibration in CALIBRATIONS.items()},
        anytime=False,
        needs=frozenset({"best-loss"}),
    )

    def __init__(self, problem: ExpertProblem, budget: Budget, runs: int, variant: str):
        super().__init__(problem, budget, runs, variant)
        assert problem.best_loss is not None  # the card needs it
        self.plan = Switching(self.experts, self.horizon, problem.best_loss, budget, variant, problem.failure)

    @property
    def pure(self) -> bool:
        """Whether the draws compose purely."""
        return self.plan.calibration.accounting == "pure"

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Total losses of the played experts and numbers of switches."""
        players = [Switcher(self.plan, self.sizes, generator) for generator in generators]
        before = np.zeros((1, len(self.sizes)))
        for block in blocks:
            for run, player in enumerate(players):
                losses, own = RunOfBlock(block, run), before[min(run, len(before) - 1)]
                now = 0
                while now < losses.rounds:
                    now = player.advance(losses, own, now)
            before = before + block_total(block)
        return Play(
            np.array([player.total for player in players]), np.array([float(player.switches) for player in players])
        )

    def bound(self) -> list[float]:
        """See Switching.bound."""
        return [self.plan.bound()]

    def delivered_epsilon(self) -> list[float]:
        """Threshold tests plus K draws."""
        return [self.plan.delivered_epsilon()]

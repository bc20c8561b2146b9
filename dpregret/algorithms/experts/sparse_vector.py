"""Experts by private switching: leave an expert when a threshold test says that it lost much.

Algorithm   Asi et al. 2023, Alg. 1; constants in dpregret.algorithms.privacy.switching. The text of the box is lost:
            the lines below are reconstructed from the proof of Theorem 1. e is the budget of the tests.
            line 1  draw x uniformly; k = 0 draws spent, q = 0 lost by x since it was drawn, C = 0 lost by all experts
            line 2  open a test: level = threshold + Laplace(2/e)
            line 3  for t = 1..T
            line 4    if k < K and q + Laplace(4/e) >= level
            line 5      draw x with P(x) ~ exp(-eta max(C(x), L*) / 2)
            line 6      k = k + 1, q = 0; open a new test
            line 7    play x; add l_t(x) to q and l_t to C
            `Switcher` leaps from event to event and has the same law: the halting round of a test has a closed form
            (see algorithms.privacy.switching), so a horizon of 2^22 costs a few dozen events a run.
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others. The sequence of played experts
            is protected. Threshold tests at eps/2, K draws at eps/2 (starved: nine tenths and one tenth). Pure
            variants are pure up to delta = 1e-14: tests far below their threshold never halt (switching.py).
Guarantee   Asi et al. 2023, Thm 1, with our constants (A10): with probability 1 - 2 beta the loss is at most
            (K + 1) (L* + 4/eta + 2 accuracy + 1).
Deviations  printed-*: threshold with accuracy 8 B/eps, although the tests have eps/2 only. zcdp: draws priced by zCDP
            of bounded-range mechanisms. starved-*, practical-*: other constants, see there.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from dpregret.algorithms.experts.expert_learner import Block, ExpertLearner, Play, RunOfBlock, play_runs
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy.selection import draw_group
from dpregret.algorithms.privacy.switching import CALIBRATIONS, Switching, Watch
from dpregret.numerics.arrays import Array


class Switcher:
    """One run of Algorithm 1, by events. `group`: of the expert in play; `query`: q; `draws`: k."""

    def __init__(self, plan: Switching, sizes: Array, generator: np.random.Generator):
        self.plan, self.sizes, self.generator = plan, sizes, generator
        self.group = draw_group(generator, sizes, np.zeros(len(sizes)), 1.0)  # line 1
        self.watch = Watch(plan.test(), [generator])  # line 2
        self.query, self.draws, self.total = 0.0, 0, 0.0

    def advance(self, losses: RunOfBlock, before: Array, start: int = 0) -> int:
        """Play from round `start` of a block until a test halts or the block ends; return the round reached.

        before: cumulative losses (groups,) at the block's first round. In the round of a halt a new expert is drawn
        and plays it: the next test comes one round later.
        """
        halted = None if self.draws >= self.plan.switches else self._halt(losses, start)  # lines 3, 4
        stop = losses.rounds if halted is None else halted
        self._play(losses, start, stop)
        if halted is None:
            return stop
        self.switch(before + losses.before(halted))
        self._play(losses, halted, halted + 1)
        return halted + 1

    def play_block(self, losses: RunOfBlock, before: Array) -> None:
        """Play all rounds of a block."""
        now = 0
        while now < losses.rounds:
            now = self.advance(losses, before, now)

    def switch(self, scores: Array) -> None:
        """Draw a new expert and begin a new test."""
        scores = np.maximum(scores, self.plan.best_loss)
        self.group = draw_group(self.generator, self.sizes, scores, self.plan.draw_scale)  # line 5
        self.draws, self.query = self.draws + 1, 0.0  # line 6
        self.watch.open(0)

    def _play(self, losses: RunOfBlock, start: int, stop: int) -> None:  # line 7
        loss = losses.total(self.group, start, stop)
        self.total += loss
        self.query += loss

    def _halt(self, losses: RunOfBlock, start: int) -> int | None:
        """The round of the block, from `start` on, whose query halts."""
        column = losses.losses[:, self.group]
        ahead = np.ascontiguousarray(column if losses.constant else column[start:])
        index = self.watch.walk(0, self.query, ahead, losses.rounds - start)
        return None if index is None else start + index


class SparseVectorExperts(ExpertLearner):
    """Algorithm 1."""

    card = Card(
        name="sparse-vector",
        title="sparse vector",
        paper="Asi et al. 2023",
        reference="Alg. 1",
        variants={name: calibration.text for name, calibration in CALIBRATIONS.items()},
        needs=frozenset({"best-loss"}),
        default="pure",
    )

    def prepare(self) -> None:
        best, failure = self.problem.best_loss, self.problem.failure
        assert best is not None  # the card needs it
        self.plan = Switching(self.experts, self.horizon, best, self.budget, self.variant, failure)

    @property
    def pure(self) -> bool:
        """Whether the draws compose purely."""
        return self.plan.calibration.accounting == "pure"

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Total losses of the played experts and numbers of switches."""
        players = [Switcher(self.plan, self.sizes, generator) for generator in generators]
        return play_runs(players, blocks, len(self.sizes))

    def bound(self) -> list[float]:
        """See Switching.bound."""
        return [self.plan.bound()]

    def delivered_epsilon(self) -> list[float]:
        """Threshold tests plus K draws."""
        return [self.plan.delivered_epsilon()]

    def epsilon_at(self, delta: float) -> list[float]:
        """The same at any delta."""
        return [self.plan.epsilon_at(delta)]

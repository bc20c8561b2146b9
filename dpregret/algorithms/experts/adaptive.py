"""Experts by private switching when the loss of the best one is unknown.

Algorithm   Asi et al. 2023, Alg. 2: Algorithm 1 with a guess of L*, which is doubled when a drawn expert contradicts
            it. The text of the box is lost: the lines below are reconstructed from the proof of Theorem 2.
            line 1  N phases with a budget of e each, twice; guess = 1
            line 2  open Algorithm 1 with L* = guess at the budget e
            line 3  for t = 1..T: play the expert of Algorithm 1
            line 4    whenever it draws x:
            line 5      hat C = C(x) + Laplace(K / e), C the losses so far
            line 6      if hat C exceeds the guess by more than the slack, and this is not the last phase:
            line 7        double the guess; open Algorithm 1 again
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others; pure eps-DP. cold, warm: all N
            phases may look at all losses, so each gets e = eps/(2 N) for Algorithm 1 and as much for its K releases.
            restart: a phase looks at its own rounds only; phases see different rounds, so each may spend eps/2 and
            eps/2. Pure up to delta = 1e-14, as sparse_vector.py.
Guarantee   The paper's Thm 2, with constants: the bounds of Algorithm 1 with the guesses g, 2 g, .. up to the first
            that is L* at least, added up. The proof counts the draws of a phase as if its guess were right; where a
            wrong guess is not contradicted (L* above it by less than the slack) nothing bounds them by K. The cost of
            not knowing L* is up to (ln T)^2 for cold: N phases share the budget, and each pays for its share.
Deviations  The paper's test is lost; here a guess is doubled when the noisy loss exceeds
            guess + (2/eta) ln(d K N/beta) + s ln(K N/beta), s the Laplace scale: the exponential mechanism's slack and
            the noise's, so that a correct guess stands with probability 1 - O(beta). cold begins at the guess 1, warm
            and restart where 4/eta + accuracy hides L* anyway; the last expert stays in play when a phase begins.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from dpregret.algorithms.experts.expert_learner import Block, ExpertLearner, Play, RunOfBlock, play_runs
from dpregret.algorithms.experts.sparse_vector import Switcher
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.budget import SPACING
from dpregret.algorithms.privacy.switching import Switching
from dpregret.numerics.arrays import Array


@dataclass(frozen=True)
class Phases:
    """How the budget is spent on phases: at most `count`, each with `epsilon` for Algorithm 1 and for its releases."""

    count: int
    epsilon: float
    first_guess: float


class AdaptiveExperts(ExpertLearner):
    """Algorithm 2."""

    pure = True
    card = Card(
        name="adaptive-sparse-vector",
        title="sparse vector (L* unknown)",
        paper="Asi et al. 2023",
        reference="Alg. 2",
        variants={
            "cold": "first guess 1, the budget shared by log2 T phases",
            "warm": "first guess at the price of a switch, the budget shared by the phases that remain",
            "restart": "ours: a phase forgets the rounds before it, so every phase has the whole budget",
        },
    )

    def prepare(self) -> None:
        self.phases = self._phases()

    def plan(self, guess: float, epsilon: float | None = None) -> Switching:
        """Algorithm 1 with a guess of L*."""
        budget = Budget(self.phases.epsilon if epsilon is None else epsilon)
        return Switching(self.experts, self.horizon, guess, budget, "pure", self.problem.failure)

    def _phases(self) -> Phases:
        most = max(1, math.ceil(math.log2(self.horizon)))
        if self.variant == "cold":
            return Phases(most, self.budget.epsilon / (2 * most), 1.0)
        if self.variant == "restart":
            first = max(1.0, self.plan(0.0, self.budget.epsilon / 2).threshold)  # 0, without noise, never doubles
            return Phases(most, self.budget.epsilon / 2, first)
        for count in range(1, most + 1):
            epsilon = self.budget.epsilon / (2 * count)
            guess = self.plan(0.0, epsilon).threshold
            if guess * 2**count >= self.horizon:
                return Phases(count, epsilon, guess)
        return Phases(most, self.budget.epsilon / (2 * most), 1.0)

    @cached_property
    def release_scale(self) -> float:
        """Laplace scale of the released losses: K of them share the phase's part of the budget."""
        scale = 0.0 if math.isinf(self.phases.epsilon) else self.plan(0.0).switches / self.phases.epsilon
        return scale * (1 + 16 * SPACING)  # the parts of all phases add up to no more than the whole

    @cached_property
    def slack(self) -> float:
        """By how much a noisy loss may exceed a correct guess."""
        plan = self.plan(0.0)
        events = plan.switches * self.phases.count / plan.beta
        noise = self.release_scale * math.log(events)
        return plan.draw_scale * math.log(self.experts * events) + noise

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Total losses of the played experts, numbers of switches and of phases."""
        plan = cache(self.plan)  # runs share guesses
        players = [_Adaptive(self, plan, generator) for generator in generators]
        play = play_runs(players, blocks, len(self.sizes))
        return replace(play, phases=np.array([float(player.phase) for player in players]))

    def bound(self) -> list[float]:
        """Sum of Switching.bound over the phases that the true L* allows; NaN where none is declared."""
        if self.problem.best_loss is None or math.isinf(self.phases.epsilon):
            return [math.nan]
        needed = max(0, math.ceil(math.log2(max(self.problem.best_loss, 1.0) / self.phases.first_guess)))
        guesses = [self.phases.first_guess * 2**phase for phase in range(min(needed + 1, self.phases.count))]
        return [sum(self.plan(guess).bound() for guess in guesses)]

    def delivered_epsilon(self) -> list[float]:
        """Algorithm 1 and the releases of all phases that may see one loss."""
        if math.isinf(self.budget.epsilon):
            return [math.inf]
        plan = self.plan(0.0)
        phase = plan.delivered_epsilon() + plan.switches / self.release_scale
        return [phase * (1 if self.variant == "restart" else self.phases.count)]


class _Adaptive:
    """One run of Algorithm 2."""

    def __init__(self, learner: AdaptiveExperts, plan: Callable[[float], Switching], generator: np.random.Generator):
        self.learner, self.plan, self.generator = learner, plan, generator
        self.guess = learner.phases.first_guess  # line 1
        self.slack, self.scale = learner.slack, learner.release_scale
        self.phase, self.draws, self.done = 1, 0, 0.0
        self.start = np.zeros(len(learner.sizes))  # losses before this phase that it does not see
        self.player = Switcher(plan(self.guess), learner.sizes, generator)  # line 2

    @property
    def total(self) -> float:
        return self.done + self.player.total

    def play_block(self, losses: RunOfBlock, before: Array) -> None:
        now = 0
        while now < losses.rounds:
            draws = self.player.draws
            now = self.player.advance(losses, before - self.start, now)  # line 3
            if self.player.draws > draws:  # line 4
                self.draws += 1
                seen = before + losses.before(now - 1)  # the losses before the round of the draw
                self._check(float((seen - self.start)[self.player.group]), seen)

    def _check(self, loss: float, seen: Array) -> None:
        """Release the drawn expert's loss; begin a new phase where it contradicts the guess."""
        if self.phase >= self.learner.phases.count:
            return
        noise = self.generator.laplace(scale=self.scale) if self.scale else 0.0  # line 5
        if loss + noise <= self.guess + self.slack:  # line 6
            return
        self.phase, self.guess = self.phase + 1, 2 * self.guess  # line 7
        if self.learner.variant == "restart":
            self.start = seen
        group, query = self.player.group, self.player.query
        self.done += self.player.total
        self.player = Switcher(self.plan(self.guess), self.learner.sizes, self.generator)
        self.player.group, self.player.query = group, query

"""PrivateBandit that does not receive the horizon: it starts afresh in phases of 4, 16, 64, ... rounds.

Algorithm   The doubling trick, which Ene, Nguyen & Vladu 2021 name; a phase is four times as long as the one before,
            since the number of its rounds must be a square.
            line 1  for k = k_0, k_0 + 1, ...: k_0 the first with 4^k_0 >= n^2
            line 2    play PrivateBandit (Gaussian) for 4^k rounds, or as long as there are rounds
Privacy     Unit: one round; neighbours: its loss is replaced by any other admissible one. A loss lies in one phase, and
            the lengths of phases do not depend on data: the whole is as private as a phase. The logarithmic factor that
            the paper pays is not needed. A record in k rounds moves phase j by up to k_j mu_j, the k_j adding up to k:
            the root of the sum of their squares is at most k max mu_j, its mu if it lies in one phase.
Guarantee   The sum of the phases' bounds (noisy_leader.py), the last one of the rounds that it was played for: of the
            order of T^(3/4), 1.25 times the bound of PrivateBandit with the same constants where a phase ends.
Deviations  None.
"""

from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.bandits.bandit_learner import BanditLearner, BanditProblem, Given, Record
from dpregret.algorithms.bandits.private_bandit import PrivateBanditGaussian
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Release


class PrivateBanditDoubling(BanditLearner):
    """(eps, delta)-DP without the horizon."""

    card = Card(
        name="private-bandit-doubling",
        title="PrivateBandit (doubling)",
        paper="Ene, Nguyen & Vladu 2021",
        reference="doubling trick",
        variants={"corrected": "phases of powers of four, noise as in PrivateBandit"},
    )

    def prepare(self) -> None:
        self.phases: list[tuple[int, PrivateBanditGaussian]] = []
        remaining, length = self.horizon, 1
        while length < self.domain.hull_basis().shape[1] ** 2:
            length *= 4
        while remaining > 0:  # line 1
            visible = BanditProblem(self.domain, length, self.lipschitz, self.problem.linear)
            phase = PrivateBanditGaussian(visible, self.budgets, self.runs, self.variant)
            self.phases.append((min(length, remaining), phase))
            remaining, length = remaining - length, 4 * length
        self.plan = self.phases[-1][1].plan
        self.exploration = max(phase.exploration for _, phase in self.phases)

    def delivered_epsilon(self) -> list[float]:
        """That of the worst phase."""
        return list(np.max([phase.delivered_epsilon() for _, phase in self.phases], axis=0))

    def epsilon_at(self, delta: float) -> list[float]:
        """The same at any delta > 0."""
        return list(np.max([phase.epsilon_at(delta) for _, phase in self.phases], axis=0))

    def record_epsilon(self, participations: Sequence[int]) -> list[float]:
        """Of a record that lies in the worst phase alone: spread over phases it loses less."""
        return list(np.max([phase.record_epsilon(participations) for _, phase in self.phases], axis=0))

    def ledger(self) -> Sequence[Release]:
        """Of the last phase, whose noise is the largest."""
        return self.phases[-1][1].ledger()

    def play(self, inputs: Given) -> Record:
        """Phase after phase."""
        parts = [(rounds, phase.play_some(rounds, inputs)) for rounds, phase in self.phases]  # line 2
        self.apart = sum(phase.apart for _, phase in self.phases)
        return Record(
            sum((part.losses for _, part in parts), start=np.zeros(1)),
            sum((rounds * part.clipped for rounds, part in parts), start=np.zeros(1)) / self.horizon,
            sum((rounds * part.displacement for rounds, part in parts), start=np.zeros(1)) / self.horizon,
            max(part.violation for _, part in parts),
        )

    def bound(self) -> list[float]:
        """The sum of the phases' bounds."""
        return list(np.sum([phase.bound(rounds) for rounds, phase in self.phases], axis=0))

"""Noise on every observed value: a private bandit that needs no prefix sum.

Algorithm   PrivateBandit (private_bandit.py) with the noise elsewhere:
            line 1  zeta of PrivateBandit times a = max(1, r^(1/4)/sqrt(2)), at most D, and eta times a/sqrt(r), where
                    r = 1 + 2/eps^2: the best of the bound's leading terms 2 a + 1/(2 b) + b r/(2 a^2) with a >= 1
            line 10 F_t = (n/zeta) (f_t(x + zeta u_t) + Laplace(range/eps)), once and for all
            line 13 s_R = g_1 + ... + g_R, without noise
Privacy     Unit: one round; neighbours: its loss is replaced by any other admissible one. f_t + Laplace(range/eps) is
            all that is ever used of a round, so all that is played is eps-DP, whatever the number of rounds, without
            composition; even locally: whoever holds f_t can add the noise. The range is L (D + 2 zeta), see
            noisy_leader.py.
Guarantee   The noise has mean zero, so g_R stays unbiased and E|g_R|^2 grows by B (n/zeta)^2 2 (range/eps)^2:
            `NoisyLeader.bound`, of the order of (1 + 2/eps^2)^(1/4) sqrt(n) T^(3/4): those terms are 2 + sqrt(r) up
            to r = 4 and sqrt(8) r^(1/4) beyond, and 3 without privacy.
Deviations  As a black box over any bandit this is known from locally private bandits (arXiv 2006.00701), and from
            Agarwal & Singh 2017 for linear losses; the constants are ours. Gaussian noise for (eps, 1e-6) has 2.7
            (eps = 1/4) to 3.7 (eps = 8) times the standard deviation, so it is not offered.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.bandits.bandit_learner import BLOCK
from dpregret.algorithms.bandits.private_bandit import PrivateBanditGaussian
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget, Release, calibrate
from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.numerics.arrays import Array, without_gaps


class NoisyValueBandit(PrivateBanditGaussian):
    """Pure eps-DP, locally."""

    distribution = "laplace"
    card = Card(
        name="noisy-value-bandit",
        title="noise on every value",
        paper="after Agarwal & Singh 2017",
        reference="black-box reduction",
        variants={"corrected": "Laplace noise on every observed loss, conditional gradient to the full budget"},
    )

    def constants_of_settings(self) -> tuple[Array, Array]:
        """zeta and eta, stretched and shrunk by the noise of a value."""
        growth = 1 + 2 * np.square(self._unit_scales())
        stretch = np.maximum(1.0, np.sqrt(np.sqrt(growth) / 2))  # line 1
        stretch = np.minimum(stretch, self.diameter / self.zeta)
        return self.zeta * stretch, self.eta * stretch / np.sqrt(growth)

    def _unit_scales(self) -> Array:
        """1/eps of every setting: the noise of a value whose range is 1; 0 without privacy."""
        return np.array([calibrate("laplace", budget, 1.0, 1) for budget in self.budgets])

    def node_scale(self, budget: Budget) -> float:
        """Sums carry no noise."""
        return 0.0

    def ledger(self) -> Sequence[Release]:
        """A value is released once."""
        pairs = zip(self.value_scales().tolist(), (self.high - self.low).tolist(), strict=True)
        return [Release("laplace", scale, wide, 1) for scale, wide in pairs]

    def begin(self, noise: Sequence[np.random.Generator]) -> None:
        """Without unused noise of an earlier play."""
        self.laplace, self.unused = UnitNoise("laplace", noise, 1), np.empty((self.runs, 0))

    def value_scales(self) -> Array:
        """range/eps."""
        pairs = zip(self.budgets, (self.high - self.low).tolist(), strict=True)
        return np.array([calibrate("laplace", budget, wide, 1) if wide else 0.0 for budget, wide in pairs])

    def units(self, rounds: int) -> Array:
        """Laplace(1) noise of the next rounds, (runs, rounds)."""
        if not self.value_scales().any():
            return super().units(rounds)
        missing = math.ceil(max(0, rounds - self.unused.shape[1]) / BLOCK)
        fresh = [self.laplace(BLOCK)[..., 0].T for _ in range(missing)]
        drawn = np.concatenate([self.unused, *fresh], axis=1)
        taken, self.unused = drawn[:, :rounds], drawn[:, rounds:]
        return without_gaps(taken)

"""Baselines: simple ways to be private that any mechanism must beat, and the fixed point.

Algorithm   FTAL of ftal.py, where every gradient (`NoisePerGradient`) or every sum of gradients (`NoisePerSum`) gets
            fresh Gaussian noise; `Stay` plays x_1 in every round.
Privacy     Unit: one loss, whole sequence; neighbours: it is replaced by another, which moves a gradient by at most
            2 L. One release an item, or T; (epsilon, delta)-DP, exact. `Stay` reads nothing.
Guarantee   See `bound`. For `NoisePerGradient` the noise of the sum grows like sqrt(t), yet regret grows like ln T:
            a noisy gradient is an unbiased gradient, and be-the-leader works on the noisy surrogates. `Stay`: L D T.
"""

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader, gradient_sums
from dpregret.algorithms.privacy import NoisePerItem, NoisePerPrefix
from dpregret.numerics.arrays import Array


class NoisePerGradient(FollowTheApproximateLeader):
    """FTAL whose every gradient is noised once, so that the whole sequence is protected without any composition."""

    card = Card(
        name="noise-per-gradient",
        title="FTAL, noise per gradient",
        paper="baseline",
        reference="no tree",
        variants={"corrected": "standard deviation 2 L / mu(eps, delta)"},
    )

    def prepare(self) -> None:
        self.noise_plan = gradient_sums("gaussian", [NoisePerItem()] * len(self.settings), self.problem, self.settings)

    def bound(self, rounds: int) -> Array:
        """(B^2 / mu) (1/2 + sum_{s=2}^t 1/s) with B^2 = L^2 + d sigma^2, or the guarantee of ftal.py if less.

        For losses chosen in advance E<h_t, x_t - x*> = E<g_t, x_t - x*>, h_t the noisy gradient. Be-the-leader on the
        surrogates of the h_t costs |h_t| a - (mu/2) a^2 a round, a = |x_t - x_{t+1}| <= |h_t| / (mu t).
        """
        assert self.noise_plan is not None
        size = self.lipschitz**2 + np.square(self.noise_plan.expected_norm(1))  # E|h_t|^2, (settings, 1)
        harmonic = np.cumsum(1 / np.arange(1.0, rounds + 1)) - 0.5
        return np.minimum(super().bound(rounds), size / self.strong_convexity * harmonic)


class NoisePerSum(FollowTheApproximateLeader):
    """FTAL with fresh noise on every gradient sum: an item is released up to T times."""

    card = Card(
        name="noise-per-prefix",
        title="FTAL, noise per prefix",
        paper="baseline",
        reference="no tree",
        variants={"corrected": "standard deviation 2 L sqrt(T) / mu(eps, delta)"},
        anytime=False,
    )

    def prepare(self) -> None:
        mechanisms = [NoisePerPrefix(self.horizon)] * len(self.settings)
        self.noise_plan = gradient_sums("gaussian", mechanisms, self.problem, self.settings)


class Stay(Learner):
    """Constant: perfectly private, linear regret L D T."""

    card = Card(
        name="stay",
        title="fixed point",
        paper="baseline",
        reference="fixed-point baseline",
        variants={"plain": "x_t = x_1"},
        private=False,
        convex=True,
    )

    @property
    def fixed_rounds(self) -> int:
        """All."""
        return self.horizon

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """Nothing is learnt."""

    def bound(self, rounds: int) -> Array:
        """L D T."""
        return np.tile(self.lipschitz * self.domain.diameter * np.arange(1.0, rounds + 1), (len(self.settings), 1))

"""Online gradient descent, every gradient noised once.

Algorithm   x_{t+1} = Proj( x_t - (g_t + xi_t) / (mu t) ), xi_t Gaussian.
Privacy     Replace one loss; (eps, delta)-DP for the whole sequence: one release of sensitivity 2 L an item.
Guarantee   E[regret] <= (L^2 + E|xi|^2) / (2 mu) (1 + ln T): Hazan, Agarwal & Kale 2007, Thm 1, for unbiased gradients.
"""

import numpy as np

from dpregret.algorithms.learner import Card, Learner
from dpregret.algorithms.online.ftal import gradient_sums
from dpregret.algorithms.privacy import NoisePerItem


class MyDescent(Learner):
    """All settings and runs advance together: points have shape (settings, runs, d)."""

    card = Card(
        name="my-descent",
        title="my descent",
        paper="mine",
        reference="-",
        variants={"plain": "standard deviation 2 L / mu(eps, delta)"},
    )

    def prepare(self):
        self.noise_plan = gradient_sums("gaussian", [NoisePerItem()] * len(self.settings), self.problem, self.settings)
        self.noise_before = np.zeros_like(self.point)

    def observe(self, loss, gradient, noise):
        """One projected step; `noise` is the noise of the running sum, its increment the noise of this gradient."""
        noisy, self.noise_before = gradient + (noise - self.noise_before), noise
        self.point = self.domain.project(self.point - noisy / (self.strong_convexity * self.round))

    def bound(self, rounds):
        """The guarantee after 1..rounds rounds, (settings, rounds)."""
        square = self.lipschitz**2 + np.square(self.noise_plan.expected_norm(1))
        return square / (2 * self.strong_convexity) * (1 + np.log(np.arange(1.0, rounds + 1)))

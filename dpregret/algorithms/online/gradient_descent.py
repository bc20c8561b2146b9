"""Non-private baselines: online gradient descent (projection) and online Frank-Wolfe (linear oracle).

Algorithm   Gradient descent: x_{t+1} = Proj(x_t - g_t / (mu t)) (Hazan, Agarwal & Kale 2007).
            Frank-Wolfe (Hazan & Kale 2012, in the form of Hazan 2016, chapter 7): v_t = LO(grad F_t(x_t)) for
            F_t(x) = eta <G_t, x> + |x - x_1|^2, then x_{t+1} = x_t + min(1, 2 / sqrt(t)) (v_t - x_t).
Privacy     None.
Guarantee   Gradient descent: regret <= (L^2 / (2 mu)) (1 + ln T). Frank-Wolfe: O(L D T^(3/4)) for convex losses; it
            knows the horizon, not mu: eta = D / (2 L T^(3/4)).
"""

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss
from dpregret.algorithms.rounds import ConditionalGradient, Descent
from dpregret.core.arrays import Array


class OnlineGradientDescent(Learner):
    """Steps of size 1 / (mu t)."""

    card = Card(
        name="ogd",
        title="OGD",
        paper="Hazan, Agarwal & Kale 2007",
        reference="Theorem 1",
        variants={"plain": "as published"},
        private=False,
    )
    kernel = Descent()

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """One projected gradient step of size 1 / (mu t)."""
        self.point = self.domain.project(self.point - gradient / (self.strong_convexity * self.round))

    def bound(self, rounds: int) -> Array:
        """(L^2 / (2 mu)) (1 + ln t)."""
        growth = 1 + np.log(np.arange(1.0, rounds + 1))
        bound = self.lipschitz**2 / (2 * self.strong_convexity) * growth
        return np.tile(bound, (len(self.settings), 1))


class OnlineFrankWolfe(Learner):
    """Online conditional gradient for convex losses."""

    card = Card(
        name="ofw",
        title="OFW",
        paper="Hazan & Kale 2012",
        reference="Online conditional gradient",
        variants={"plain": "as published"},
        private=False,
        anytime=False,
    )
    kernel = ConditionalGradient()

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """One conditional gradient step."""
        if self.round == 1:
            self.start, self.gradient_sum = self.point, np.zeros_like(self.point)
        self.gradient_sum += gradient
        eta = self.domain.diameter / (2 * self.lipschitz * self.horizon**0.75)
        slope = eta * self.gradient_sum + 2 * (self.point - self.start)
        step = min(1.0, 2 / np.sqrt(self.round))
        self.point = self.point + step * (self.domain.linear_oracle(slope) - self.point)

"""Projected gradient descent with one step for all rounds, plain and with noise on every gradient.

Algorithm   line 1  x_1 the center, eta = R / (B sqrt(T)), R the reach of the set from its center
            line 2  for t = 1..T: play x_t, release hat g_t = grad f_t(x_t) + xi_t (plain: xi_t = 0)
            line 3    x_{t+1} = Proj(x_t - eta hat g_t)
Privacy     Unit: one loss, whole sequence; neighbours: it is replaced by another, which moves a gradient by at most
            2 L. hat g_t is the one Gaussian release of an item, xi_t ~ N(0, sigma^2 I), sigma = 2 L / mu(eps, delta);
            points are post-processing. (epsilon, delta)-DP, exact, no composition. Plain: none.
Guarantee   Zinkevich 2003 with unbiased gradients: E[regret] <= R^2/(2 eta) + eta t B^2/2, R B sqrt(T) after T rounds,
            where B^2 = L^2 + d' sigma^2, d' the dimension of the hull, for losses chosen in advance.
"""

from dataclasses import replace

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.online.gradients import GradientDescent, columns
from dpregret.numerics.arrays import Array


class ProjectedDescent(GradientDescent):
    """One projection a round."""

    card = Card(
        name="projected-descent",
        title="projected descent",
        paper="Zinkevich 2003",
        reference="Greedy projection, constant step",
        variants={"plain": "eta = R / (L sqrt(T))"},
        private=False,
        anytime=False,
        convex=True,
    )

    @property
    def step(self) -> Array:  # line 1
        """R / (B sqrt(T))."""
        return self.reach / (self.size * np.sqrt(self.horizon))

    def descend(self, released: Array) -> None:  # line 2
        """One projected step."""
        self.point = self.domain.project(self.point - columns(self.step) * released)  # line 3

    def bound(self, rounds: int) -> Array:
        """R^2/(2 eta) + eta t B^2/2."""
        eta, square = self.step[:, None], np.square(self.size)[:, None]
        return self.reach**2 / (2 * eta) + eta * square * np.arange(1.0, rounds + 1) / 2


class PrivateProjectedDescent(ProjectedDescent):
    """Every gradient noised once."""

    card = replace(
        ProjectedDescent.card,
        name="private-projected-descent",
        title="noised projected descent",
        paper="baseline",
        variants={"corrected": "standard deviation 2 L / mu(eps, delta)"},
        private=True,
    )

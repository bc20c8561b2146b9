"""Descent on a ball, scaled back into the set by its gauge: one gauge a round and no projection.

Algorithm   Mhammedi 2022, by the reduction of Cutkosky & Orabona 2018. The set holds a ball of radius r around its
            center and lies within R of it, both within its affine hull; w is seen from the center, gamma is the gauge.
            line 1  w_1 = 0, eta = R / ((1 + R/r) B sqrt(T))
            line 2  for t = 1..T: nu_t in the subdifferential of gamma at w_t (the only oracle call)
            line 3    play x_t = w_t / max(1, gamma(w_t))
            line 4    release hat g_t = grad f_t(x_t) + xi_t (plain: xi_t = 0); its part within the hull counts
            line 5    g_t = hat g_t - 1[gamma(w_t) >= 1, <hat g_t, w_t> < 0] <hat g_t, x_t> nu_t
            line 6    w_{t+1} = w_t - eta g_t, scaled into the ball of radius R
Privacy     Unit: one loss, whole sequence; neighbours: it is replaced by another, which moves a gradient by at most
            2 L. hat g_t is the one Gaussian release of an item (projected_descent.py), the rest is post-processing.
Guarantee   <hat g, x - z> <= <g, w - z> for z of the set, and |g| <= (1 + R/r) |hat g|. So descent on the ball gives
            E[regret] <= R^2/(2 eta) + eta t (1 + R/r)^2 B^2/2: (1 + R/r) R B sqrt(T) after T rounds, where
            B^2 = L^2 + d' sigma^2, d' the dimension of the hull, for losses chosen in advance.
Deviations  Constant step, Euclidean ball: no adaptivity. The private version is ours.
"""

from functools import cached_property

import numpy as np

from dpregret.algorithms.geometry.ball import BallData
from dpregret.algorithms.learner import Card
from dpregret.algorithms.online.projected_descent import GradientDescent, columns, noised
from dpregret.core.oracles import projected
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot


class GaugeDescent(GradientDescent):
    """One gauge a round."""

    card = Card(
        name="gauge-descent",
        title="gauge descent",
        paper="Mhammedi 2022",
        reference="Efficient projection-free online convex optimization with membership oracle, simplified",
        variants={"plain": "eta = R / ((1 + R/r) L sqrt(T))"},
        private=False,
        anytime=False,
        convex=True,
    )

    def prepare(self) -> None:
        super().prepare()
        self.gauge = self.domain.gauge()
        self.steepness = 1 + self.outer_radius / self.domain.inner_radius()
        self.outer = np.zeros_like(self.point)  # w
        self.normal = np.zeros_like(self.point)  # nu, at the center

    @cached_property
    def step(self) -> Array:  # line 1
        """R / ((1 + R/r) B sqrt(T))."""
        return self.outer_radius / (self.steepness * self.size * np.sqrt(self.horizon))

    def descend(self, released: Array) -> None:  # line 4
        """One step on the ball, one gauge."""
        gradient = corrected(self.domain.along_hull(released), self.outer, self.normal)  # line 5
        moved = self.outer - columns(self.step) * gradient
        self.outer = projected(BallData(self.outer_radius), moved)  # line 6
        self.normal = self.gauge(self.outer)  # line 2
        gamma = vecdot(self.normal, self.outer)[..., None]
        self.point = self.center + self.outer / np.maximum(1.0, gamma)  # line 3

    def bound(self, rounds: int) -> Array:
        """R^2/(2 eta) + eta t (1 + R/r)^2 B^2/2."""
        return self.descended(self.outer_radius, self.steepness * self.size, rounds)


def corrected(gradient: Array, outer: Array, normal: Array) -> Array:
    """Line 5: the gradient g at x turned into one at w, (..., d). normal: nu with <nu, w> = gamma(w)."""
    gamma, slope = vecdot(normal, outer), vecdot(gradient, outer)
    beyond = (gamma >= 1.0) & (slope < 0.0)
    at_point = slope / np.where(beyond, gamma, 1.0)  # <g, x>, x = w / gamma
    return gradient - np.where(beyond, at_point, 0.0)[..., None] * normal


class PrivateGaugeDescent(GaugeDescent):
    """Every gradient noised once."""

    card = noised(GaugeDescent.card, "gauge descent on noisy gradients")

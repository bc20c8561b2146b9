"""Non-private baselines: online gradient descent (projection) and online Frank-Wolfe (linear oracle).

Algorithm   Gradient descent: x_{t+1} = Proj(x_t - g_t / (mu t)) (Hazan, Agarwal & Kale 2007).
            Frank-Wolfe (Hazan & Kale 2012, in the form of Hazan 2016, chapter 7): v_t = LO(grad F_t(x_t)) for
            F_t(x) = eta <G_t, x> + |x - x_1|^2, then x_{t+1} = x_t + min(1, 2 / sqrt(t)) (v_t - x_t).
Privacy     None.
Guarantee   Gradient descent: regret <= (L^2 / (2 mu)) (1 + ln T). Frank-Wolfe: O(L D T^(3/4)) for convex losses; it
            uses the horizon, not mu: eta = D / (2 L T^(3/4)).
"""

from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card, Learner
from dpregret.core.oracles import project, step, vertex
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import log


class Descent(NamedTuple):
    """Steps of size 1 / (mu t)."""

    mu: float


@step.add
def _step_descent(learner: Descent, loss, domain, t, x, gradient, noise, scratch):
    """x_{t+1} = Proj(x_t - g_t / (mu t))."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] -= gradient[k, r] / (learner.mu * t)
    project(domain, x, scratch)


class ConditionalGradient(NamedTuple):
    """total (d, runs): G_t; slope, corner (d, runs): scratch; start (d,): x_1; eta.

    pull: the weight of |x - x_1|^2 / 2 in F_t. share: of the way to v_t; 0 for min(1, 2 / sqrt(t)).
    """

    total: Array
    slope: Array
    corner: Array
    start: Array
    eta: float
    pull: float = 2.0
    share: float = 0.0


@step.add
def _step_conditional_gradient(learner: ConditionalGradient, loss, domain, t, x, gradient, noise, scratch):
    """v_t = LO(eta G_t + pull (x_t - x_1)), then a share of the way to it."""
    length = learner.share if learner.share > 0.0 else min(1.0, 2.0 / np.sqrt(t))
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            learner.total[k, r] += gradient[k, r]
            learner.slope[k, r] = learner.eta * learner.total[k, r] + learner.pull * (x[k, r] - learner.start[k])
    vertex(domain, learner.slope, learner.corner, scratch)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] += length * (learner.corner[k, r] - x[k, r])


class OnlineGradientDescent(Learner):
    """Steps of size 1 / (mu t)."""

    card = Card(
        name="ogd",
        title="OGD",
        paper="Hazan, Agarwal & Kale 2007",
        reference="Theorem 1",
        variants={"plain": "its usual form"},
        private=False,
    )

    def state(self, setting: int, runs: int) -> Any:
        """The point is all."""
        return Descent(self.strong_convexity)

    def bound(self, rounds: int) -> Array:
        """(L^2 / (2 mu)) (1 + ln t)."""
        growth = 1 + log(np.arange(1.0, rounds + 1))
        bound = self.lipschitz**2 / (2 * self.strong_convexity) * growth
        return np.tile(bound, (len(self.settings), 1))


class OnlineFrankWolfe(Learner):
    """Online conditional gradient for convex losses."""

    card = Card(
        name="ofw",
        title="OFW",
        paper="Hazan & Kale 2012",
        reference="Online conditional gradient",
        variants={"plain": "its usual form"},
        private=False,
        anytime=False,
    )
    oracle = "vertex"

    def state(self, setting: int, runs: int) -> Any:
        """No gradient yet."""
        eta = self.domain.diameter / (2 * self.lipschitz * self.horizon**0.75)
        room = np.zeros((3, self.domain.dimension, runs))
        return ConditionalGradient(room[0], room[1], room[2], self.point[setting, 0].copy(), float(eta))

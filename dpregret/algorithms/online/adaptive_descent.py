"""Projected gradient descent whose step adapts to the gradients: it needs no constant, not even a Lipschitz one.

Algorithm   Streeter & McMahan 2010 (adaptive step of a single number, "AdaGrad-norm"):
            line 1  x_1 = the center
            line 2  for t = 1, 2, ...
            line 3    q_t = |g_1|^2 + ... + |g_t|^2
            line 4    x_{t+1} = Proj(x_t - D / sqrt(2 q_t) g_t)
Privacy     None.
Guarantee   sqrt(2 q_t) D <= sqrt(2 t) L D, for convex losses, whatever the gradients: with falling steps eta_t regret
            is at most D^2/(2 eta_T) + sum eta_t |g_t|^2/2, and sum |g_t|^2/sqrt(q_t) <= 2 sqrt(q_T).
"""

import math

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot


class AdaptiveDescent(Learner):
    """Steps D / sqrt(2 (|g_1|^2 + ... + |g_t|^2))."""

    card = Card(
        name="adaptive-descent",
        title="adaptive descent",
        paper="Streeter & McMahan 2010",
        reference="Adaptive step, one for all coordinates",
        variants={"plain": "its usual form"},
        private=False,
        convex=True,
    )

    def prepare(self) -> None:
        self.squares = np.zeros((len(self.settings), self.runs))  # line 1

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:  # line 2
        """One projected step."""
        self.squares += vecdot(gradient, gradient)  # line 3
        lengths = np.sqrt(2 * np.maximum(self.squares, np.finfo(float).tiny))
        step = self.domain.diameter / lengths
        self.point = self.domain.project(self.point - step[..., None] * gradient)  # line 4

    def bound(self, rounds: int) -> Array:
        """sqrt(2 t) L D."""
        bound = math.sqrt(2) * self.lipschitz * self.domain.diameter * np.sqrt(np.arange(1.0, rounds + 1))
        return np.tile(bound, (len(self.settings), 1))

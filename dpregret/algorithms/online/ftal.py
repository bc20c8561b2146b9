"""Follow the approximate leader, and everything that only changes the noise of its gradient sum.

Problem     Losses f_t, L-Lipschitz and mu-strongly convex on a convex set of diameter D, arrive one by one.
Algorithm   x_{t+1} = argmin over the set of sum_{s<=t} ( <g_s, x> + (mu/2) |x - x_s|^2 ), g_s = grad f_s(x_s),
            which is Proj( (sum_{s<=t} x_s - G_t / mu) / t ) with G_t = sum_{s<=t} g_s.
            Hazan, Agarwal & Kale 2007; written so in Lou & Cheung 2020, eqs. (6)-(10).
Privacy     The points are a function of the (noisy) sums G_t alone. Unit: one loss; neighbours: it is replaced by
            another, which moves one summand by at most 2 L, whatever the points played: the points are public.
Guarantee   E[regret] <= L ( D + sum_{t=2}^T min( D, (L + mu D) / (mu t) + E|z_{t-1}| / (mu (t - 1)) ) ), z_t the
            noise in G_t: be-the-leader with gradients at the played points, and a projection is a contraction.
"""

from typing import ClassVar

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss
from dpregret.algorithms.rounds import Leader, Step
from dpregret.core.arrays import Array


class FollowTheApproximateLeader(Learner):
    """Non-private FTAL; subclasses add a noise plan for the gradient sum."""

    card = Card(
        name="ftal",
        title="FTAL",
        paper="Hazan, Agarwal & Kale 2007",
        reference="Follow the approximate leader",
        variants={"plain": "as published"},
        private=False,
    )
    kernel: ClassVar[Step] = Leader()

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """x_{t+1} = Proj( (sum x_s - (G_t + z_t) / mu) / t )."""
        self.point = self.domain.project(self.leader(gradient, noise) / self.round)

    def leader(self, gradient: Array, noise: Array | None) -> Array:
        """sum_{s<=t} x_s - (G_t + z_t) / mu: t times the leader of the whole space."""
        if self.round == 1:
            self.total = np.zeros_like(self.point)
        self.total += self.point
        self.total -= gradient / self.strong_convexity
        return self.total if noise is None else self.total - noise / self.strong_convexity

    def bound(self, rounds: int) -> Array:
        """The guarantee of the module."""
        time = np.arange(2, rounds + 1)
        diameter = self.domain.diameter
        drift = (self.lipschitz / self.strong_convexity + diameter) / time
        noise = np.zeros((len(self.settings), rounds - 1))
        if self.noise_plan is not None:
            noise = self.noise_plan.expected_norm(rounds - 1) / (self.strong_convexity * (time - 1))
        distance = np.minimum(diameter, drift + noise)
        first = np.full((len(self.settings), 1), diameter)
        return self.lipschitz * np.cumsum(np.concatenate([first, distance], axis=1), axis=1)

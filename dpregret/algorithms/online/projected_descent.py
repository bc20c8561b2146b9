"""Descents on gradients, noised once where private; projected descent with one step for all rounds.

Algorithm   line 1  x_1 the center, eta = R / (B sqrt(T)), R the reach of the set from its center
            line 2  for t = 1..T: play x_t, release hat g_t = grad f_t(x_t) + xi_t (plain: xi_t = 0)
            line 3    x_{t+1} = Proj(x_t - eta hat g_t)
Privacy     Unit: one loss, whole sequence; neighbours: it is replaced by another, which moves a gradient by at most
            2 L. hat g_t is the one Gaussian release of an item, xi_t ~ N(0, sigma^2 I), sigma = 2 L / mu(eps, delta);
            points are post-processing. (epsilon, delta)-DP, exact, no composition. Plain: none.
Guarantee   Zinkevich 2003 with unbiased gradients: E[regret] <= R^2/(2 eta) + eta t B^2/2, R B sqrt(T) after T rounds,
            where B^2 = L^2 + d' sigma^2, d' the dimension of the hull, for losses chosen in advance.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss
from dpregret.algorithms.online.ftal import gradient_sums
from dpregret.algorithms.privacy import NoisePerItem
from dpregret.numerics.arrays import Array


class GradientDescent(Learner):
    """Subclasses descend on what is released, and play a point of the set; private ones are those whose card declares
    it.

    center, outer_radius: the set lies within `outer_radius` of its center. variance (settings,): E|xi|^2 of one
    round's noise within the hull, 0 without noise. Descents know the horizon, start at the center, and need no strong
    convexity.
    """

    def prepare(self) -> None:
        self.center = self.domain.center()
        self.outer_radius = self.domain.max_distance_from(self.center)
        self.variance = np.zeros(len(self.settings))
        if self.card.private:
            sums = [NoisePerItem()] * len(self.settings)
            self.noise_plan = gradient_sums("gaussian", sums, self.problem, self.settings)
            free = self.domain.dimension - len(self.domain.equalities())
            self.variance = free * np.square(self.noise_plan.scales)
        self.noise_before: Array | float = 0.0

    @property
    def size(self) -> Array:
        """B, root mean square of the largest released gradient, (settings,): B^2 = L^2 + E|xi|^2."""
        return np.sqrt(self.lipschitz**2 + self.variance)

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """`noise` is that of the running sum of gradients, so its increment is fresh noise of this gradient."""
        fresh = None
        if noise is not None:
            fresh, self.noise_before = noise - self.noise_before, noise
        self.receive(gradient, fresh)

    def receive(self, gradient: Array, fresh: Array | None) -> None:
        """Release the gradient with its noise, and descend."""
        self.descend(gradient if fresh is None else gradient + fresh)

    @abstractmethod
    def descend(self, released: Array) -> None:
        """Learn from what is released, (settings, runs, d); the only method that changes the point."""

    @cached_property
    def step(self) -> Array:  # line 1
        """eta = R / (B sqrt(T)), (settings,)."""
        return self.outer_radius / (self.size * np.sqrt(self.horizon))

    def bound(self, rounds: int) -> Array:
        """R^2/(2 eta) + eta t B^2/2."""
        return self.descended(self.outer_radius, self.size, rounds)

    def descended(self, radius: float, size: Array, rounds: int) -> Array:
        """R^2/(2 eta) + eta t B^2/2 for any R, and B (settings,): of steps on gradients of that size."""
        eta, square = self.step[:, None], np.square(size)[:, None]
        return radius**2 / (2 * eta) + eta * square * np.arange(1.0, rounds + 1) / 2

    def displacement(self, rounds: int) -> Array:
        """eta sqrt(t E|xi|^2), (settings, rounds): what the noise of t steps adds up to."""
        return (self.step * np.sqrt(self.variance))[:, None] * np.sqrt(np.arange(1.0, rounds + 1))


NOISED: Mapping[str, str] = {"corrected": "standard deviation 2 L / mu(eps, delta)"}


def noised(plain: Card, reference: str, variants: Mapping[str, str] = NOISED, paper: str = "dpregret") -> Card:
    """The card of a descent on what is noised, from that of the plain one."""
    name, title = f"private-{plain.name}", f"noised {plain.title}"
    return replace(plain, name=name, title=title, paper=paper, reference=reference, variants=variants, private=True)


def columns(values: Array) -> Array:
    """(settings,) -> (settings, 1, 1), to go with points."""
    return values[:, None, None]


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

    def descend(self, released: Array) -> None:  # line 2
        """One projected step."""
        self.point = self.domain.project(self.point - columns(self.step) * released)  # line 3


class PrivateProjectedDescent(ProjectedDescent):
    """Every gradient noised once."""

    card = noised(ProjectedDescent.card, ProjectedDescent.card.reference, paper="baseline")

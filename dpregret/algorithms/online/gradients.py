"""Base of descents on gradients: the part of a gradient within the hull of the set, noised once where private."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Learner, Loss, Problem, Setting
from dpregret.algorithms.online.ftal import gradient_sums
from dpregret.algorithms.privacy import NoisePerItem
from dpregret.numerics.arrays import Array


class GradientDescent(Learner):
    """Subclasses descend on what is released, and play a point of the set; private ones are those whose card declares
    it.

    center, reach: the set lies within `reach` of its center. variance (settings,): E|xi|^2 of one round's noise within
    the hull, 0 without noise. Descents know the horizon, start at the center, and need no strong convexity.
    """

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        self.center = self.domain.center()
        self.reach = self.domain.reach(self.center)
        self.variance = np.zeros(len(settings))
        if self.card.private:
            self.noise_plan = gradient_sums("gaussian", [NoisePerItem()] * len(settings), problem, settings)
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
        """Learn from what is released, (settings, runs, d); the only method after which the point is another."""

    @property
    @abstractmethod
    def step(self) -> Array:
        """eta, (settings,)."""

    def displacement(self, rounds: int) -> Array:
        """eta sqrt(t E|xi|^2), (settings, rounds): what the noise of t steps adds up to."""
        return (self.step * np.sqrt(self.variance))[:, None] * np.sqrt(np.arange(1.0, rounds + 1))


def columns(values: Array) -> Array:
    """(settings,) -> (settings, 1, 1), to go with points."""
    return values[:, None, None]

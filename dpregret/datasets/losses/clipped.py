"""A loss whose slope is held to what was declared of it."""

from dataclasses import dataclass

import numpy as np

from dpregret.core.losses import Loss
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot


@dataclass(frozen=True, slots=True)
class Clipped:
    """The loss f, with the gradient g min(1, L/|g|): no longer than L, the ``lipschitz`` that sensitivities come from.

    Its value stays that of f, so regret is about f. It has no proximal points, whose sensitivity is no matter of g.
    """

    loss: Loss
    lipschitz: float

    def value(self, points: Array) -> Array:
        """f at the points, (...,)."""
        return self.loss.value(points)

    def gradient(self, points: Array) -> Array:
        """The clipped gradient, (..., d)."""
        return self.value_and_gradient(points)[1]

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """f and the clipped gradient, (...,) and (..., d)."""
        value, slope = self.loss.value_and_gradient(points)
        length = np.sqrt(vecdot(slope, slope))[..., None]
        return value, np.where(length > self.lipschitz, slope * (self.lipschitz / np.maximum(length, 1e-300)), slope)

    def prox(self, points: Array, step: float) -> Array:
        """None: raises ValueError."""
        raise ValueError("the option clip is for learners that take gradients; this one takes proximal points")

"""Squares along a direction."""

from typing import NamedTuple

from dpregret.core.losses import PerRun, loss
from dpregret.core.oracles import inner, prox_at, slope_at
from dpregret.numerics.arrays import Array


@loss
class DirectionSquare(NamedTuple):
    """f(x) = (smoothness/2) <direction, x - anchor>^2."""

    direction: PerRun
    anchor: Array
    smoothness: float

    def quadratic_form(self) -> tuple[Array, Array, Array]:
        """(A, b, c) with f(x) = <x, A x>/2 - <b, x> + c; shapes (runs, d, d), (runs, d), (runs,)."""
        matrix = self.smoothness * self.direction[..., :, None] * self.direction[..., None, :]
        linear = matrix @ self.anchor
        return matrix, linear, 0.5 * linear @ self.anchor


@slope_at.add
def _slope_at_direction_square(loss: DirectionSquare, x, gradient, value, scratch):
    """f and smoothness <direction, x - anchor> direction."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.anchor[k]
    inner(gradient, loss.direction, scratch[8], scratch)
    for r in range(x.shape[1]):
        value[r] = 0.5 * loss.smoothness * (scratch[8, r] * scratch[8, r])
        scratch[8, r] *= loss.smoothness
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = scratch[8, r] * loss.direction[k, r]


@prox_at.add
def _prox_at_direction_square(loss: DirectionSquare, x, step, scratch):
    """Return x - weight <direction, x - anchor> direction / (1 + weight |direction|^2), weight = step smoothness."""
    weight, offset, square = step * loss.smoothness, x.copy(), x[0].copy()
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            offset[k, r] -= loss.anchor[k]
    inner(loss.direction, loss.direction, square, scratch)
    inner(offset, loss.direction, scratch[8], scratch)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] -= weight * (scratch[8, r] / (1.0 + weight * square[r])) * loss.direction[k, r]

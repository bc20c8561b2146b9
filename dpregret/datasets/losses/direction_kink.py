"""Kinks along a direction."""

from typing import NamedTuple

import numpy as np

from dpregret.core.losses import PerRun, loss
from dpregret.core.oracles import inner, prox_at, slope_at
from dpregret.numerics.arrays import Array


@loss
class DirectionKink(NamedTuple):
    """f(x) = |<direction, x - anchor>| + (mu/2) |x - anchor|^2."""

    direction: PerRun
    anchor: Array
    strong_convexity: float


@slope_at.add
def _slope_at_direction_kink(loss: DirectionKink, x, gradient, value, scratch):
    """f and sign(<direction, x - anchor>) direction + mu (x - anchor), with sign(0) = 0."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.anchor[k]
    inner(gradient, gradient, value, scratch)
    inner(gradient, loss.direction, scratch[8], scratch)
    for r in range(x.shape[1]):
        value[r] = abs(scratch[8, r]) + 0.5 * loss.strong_convexity * value[r]
        scratch[8, r] = np.sign(scratch[8, r])
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = scratch[8, r] * loss.direction[k, r] + loss.strong_convexity * gradient[k, r]


@prox_at.add
def _prox_at_direction_kink(loss: DirectionKink, x, step, scratch):
    """Return anchor + (w - step g direction) / (1 + step mu).

    Here w = x - anchor and g = clip(<direction, w> / (step |direction|^2), -1, 1) is the subgradient of the absolute
    value at the solution.
    """
    square = np.empty(x.shape[1])
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] -= loss.anchor[k]
    inner(loss.direction, loss.direction, square, scratch)
    inner(x, loss.direction, scratch[8], scratch)
    for r in range(x.shape[1]):
        sign = min(max(scratch[8, r], -step * square[r]), step * square[r])
        scratch[8, r] = sign / (square[r] if square[r] > 0.0 else 1.0)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            moved = x[k, r] - scratch[8, r] * loss.direction[k, r]
            x[k, r] = moved / (1.0 + step * loss.strong_convexity) + loss.anchor[k]

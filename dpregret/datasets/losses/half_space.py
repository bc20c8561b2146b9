"""Distances to half spaces."""

from typing import NamedTuple

from dpregret.core.losses import PerRun, loss
from dpregret.core.oracles import inner, prox_at, slope_at
from dpregret.numerics.arrays import Array


@loss
class HalfSpace(NamedTuple):
    """f(x) = max(0, <direction, x - anchor>) / 2."""

    direction: PerRun
    anchor: Array


@slope_at.add
def _slope_at_half_space(loss: HalfSpace, x, gradient, value, scratch):
    """f and a subgradient: half the direction beyond the border, 0 on it and before it."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.anchor[k]
    inner(gradient, loss.direction, value, scratch)
    for r in range(x.shape[1]):
        scratch[8, r] = 0.5 if value[r] > 0.0 else 0.0
        value[r] = 0.5 * max(value[r], 0.0)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = scratch[8, r] * loss.direction[k, r]


@prox_at.add
def _prox_at_half_space(loss: HalfSpace, x, step, scratch):
    """Move x against the direction by step / 2, but not beyond the border."""
    offset, square = x.copy(), x[0].copy()
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            offset[k, r] -= loss.anchor[k]
    inner(loss.direction, loss.direction, square, scratch)
    inner(offset, loss.direction, scratch[8], scratch)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] -= min(max(scratch[8, r], 0.0) / square[r], 0.5 * step) * loss.direction[k, r]

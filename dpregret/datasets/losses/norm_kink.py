"""The steepest kink there is, and its smooth form."""

from typing import NamedTuple

import numpy as np

from dpregret.core.losses import PerRun, loss
from dpregret.core.oracles import inner, prox_at, slope_at, value_at
from dpregret.numerics.compiled import inlined

FLOOR = 1e-150  # distances below are the kink itself: their squares underflow, and weight / FLOOR must stay finite


@loss
class NormKink(NamedTuple):
    """f(x) = weight h(|x - anchor|_2) + (mu/2) |x - anchor|^2 with h(s) = s.

    With a ``radius`` r > 0 the kink is Huber's: h(s) = s - r/2 from r on and s^2 / (2 r) below, which has the slope
    1 of the kink outside the radius and is smooth with constant weight / r.
    """

    anchor: PerRun
    weight: float
    strong_convexity: float
    radius: float = 0.0


@inlined
def bent(distance, weight, bend, radius):
    """Weight h(distance) + bend distance^2; s - h(s) = r/2 - (r - s)^2 / (2 r) below r."""
    value = distance * (weight + bend * distance)
    if radius > 0.0:
        inside = max(radius - distance, 0.0)
        value -= 0.5 * weight / radius * (radius * radius - inside * inside)
    return value


@value_at.add
def _value_at_norm_kink(loss: NormKink, x, value, scratch):
    """f alone."""
    offset = np.empty(x.shape)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            offset[k, r] = x[k, r] - loss.anchor[k, r]
    inner(offset, offset, value, scratch)
    for r in range(x.shape[1]):
        value[r] = bent(np.sqrt(value[r]), loss.weight, 0.5 * loss.strong_convexity, loss.radius)


@slope_at.add
def _slope_at_norm_kink(loss: NormKink, x, gradient, value, scratch):
    """f and (weight / max(|x - anchor|, radius) + mu) (x - anchor), 0 at the anchor."""
    weight, radius, bend = loss.weight, loss.radius, 0.5 * loss.strong_convexity
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.anchor[k, r]
    inner(gradient, gradient, value, scratch)
    for r in range(x.shape[1]):
        distance = np.sqrt(value[r])
        value[r] = bent(distance, weight, bend, radius)
        scratch[8, r] = weight / max(distance, max(radius, FLOOR)) + loss.strong_convexity
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] *= scratch[8, r]


@prox_at.add
def _prox_at_norm_kink(loss: NormKink, x, step, scratch):
    """Shrink the distance from the anchor by step weight, then divide it by 1 + step mu.

    Where that would end within the radius: divide it by 1 + step (mu + weight / radius).
    """
    weight, radius, mu = loss.weight, loss.radius, loss.strong_convexity
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] -= loss.anchor[k, r]
    inner(x, x, scratch[8], scratch)
    for r in range(x.shape[1]):
        distance = np.sqrt(scratch[8, r])
        scratch[8, r] = max(1.0 - step * weight / max(distance, FLOOR), 0.0) / (1.0 + step * mu)
        if radius > 0.0 and scratch[8, r] * distance < radius:
            scratch[8, r] = 1.0 / (1.0 + step * (mu + weight / radius))
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = scratch[8, r] * x[k, r] + loss.anchor[k, r]

"""Quadratics around a center."""

from typing import NamedTuple

from dpregret.core.losses import PerRun, loss
from dpregret.core.oracles import inner, prox_at, slope_at


@loss
class Quadratic(NamedTuple):
    """f(x) = (mu/2) |x - center|^2."""

    center: PerRun
    strong_convexity: float


@slope_at.add
def _slope_at_quadratic(loss: Quadratic, x, gradient, value, scratch):
    """f and mu (x - center)."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.center[k, r]
    inner(gradient, gradient, value, scratch)
    for r in range(x.shape[1]):
        value[r] *= 0.5 * loss.strong_convexity
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] *= loss.strong_convexity


@prox_at.add
def _prox_at_quadratic(loss: Quadratic, x, step, scratch):
    """(x + step mu center) / (1 + step mu)."""
    weight = step * loss.strong_convexity
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = (x[k, r] + weight * loss.center[k, r]) / (1.0 + weight)

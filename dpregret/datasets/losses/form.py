"""Quadratic forms."""

from typing import NamedTuple

from dpregret.core.losses import PerRunNumber, loss
from dpregret.core.oracles import inner, slope_at
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import add_product


@loss
class Form(NamedTuple):
    """f(x) = <x, G x>/2 - <c, x> + m/2 with the moments G (d, d), symmetric, c (d,) and m, a run's own."""

    square: PerRunNumber
    gram: Array
    moment: Array


@slope_at.add
def _slope_at_form(loss: Form, x, gradient, value, scratch):
    """f and G x - c, f = <x, G x - c>/2 + (m - <c, x>)/2."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = 0.0
    add_product(loss.gram, x, gradient)
    for r in range(x.shape[1]):
        scratch[8, r] = loss.square[0, r]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] -= loss.moment[k]
            scratch[8, r] -= loss.moment[k] * x[k, r]
    inner(x, gradient, value, scratch)
    for r in range(x.shape[1]):
        value[r] = 0.5 * value[r] + 0.5 * scratch[8, r]

"""Linear losses."""

from typing import NamedTuple

from dpregret.core.losses import PerRun, loss
from dpregret.core.oracles import inner, slope_at


@loss
class Linear(NamedTuple):
    """f(x) = <slope, x>."""

    slope: PerRun


@slope_at.add
def _slope_at_linear(loss: Linear, x, gradient, value, scratch):
    """f and the slope."""
    inner(loss.slope, x, value, scratch)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = loss.slope[k, r]

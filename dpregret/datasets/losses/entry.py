"""Distances of a single coordinate."""

from typing import NamedTuple

from dpregret.core.losses import PerRunNumber, loss
from dpregret.core.oracles import value_at
from dpregret.numerics.arrays import Array


@loss
class Entry(NamedTuple):
    """f(x) = |x_i - truth_i| for the coordinate i that is observed; truth (d,)."""

    observed: PerRunNumber
    truth: Array


@value_at.add
def _value_at_entry(loss: Entry, x, value, scratch):
    """f alone."""
    for r in range(x.shape[1]):
        i = int(loss.observed[0, r])
        value[r] = abs(x[i, r] - loss.truth[i])

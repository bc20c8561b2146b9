"""Affine losses out of a pool."""

from typing import NamedTuple

import numpy as np

from dpregret.core.losses import PerRunNumber, loss
from dpregret.core.oracles import arm_at, value_at
from dpregret.numerics.arrays import Array


@loss
class Affine(NamedTuple):
    """f(x) = <cost, x> + offset, the `entry` of costs (pool, d) and of offsets (pool,)."""

    entry: PerRunNumber
    costs: Array
    offsets: Array


@value_at.add
def _value_at_affine(loss: Affine, x, value, scratch):
    """One coordinate after the other, then the offset."""
    entry = np.empty(x.shape[1], np.int64)
    for r in range(x.shape[1]):
        entry[r] = int(loss.entry[0, r])
        value[r] = 0.0
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            value[r] += loss.costs[entry[r], k] * x[k, r]
    for r in range(x.shape[1]):
        value[r] += loss.offsets[entry[r]]


@arm_at.add
def _arm_at_affine(loss: Affine, arm, r):
    """A cost and the offset."""
    entry = int(loss.entry[0, r])
    return loss.costs[entry, arm] + loss.offsets[entry]

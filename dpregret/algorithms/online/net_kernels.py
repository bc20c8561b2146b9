"""Compiled sums of losses over the points of a net; the definition is `NetExperts.count_plainly`."""

import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled
from dpregret.core.kernels import DIRECTION_SQUARE, HALF_SPACE

ALONG = frozenset({DIRECTION_SQUARE, HALF_SPACE})
"""Losses that are a function of one inner product."""


@compiled
def add_losses(kind: int, directions: Array, anchor: Array, bend: float, unit: float, net: Array, sums: Array) -> None:
    """sums (N, runs) += f(net) / unit, clipped to [0, 1]; directions (d, runs), anchor (d,), net (N, d), d < 8."""
    dimension, runs = directions.shape
    along = np.empty(runs)
    for place in range(len(net)):
        along[:] = 0.0
        for k in range(dimension):
            shift, own = net[place, k] - anchor[k], directions[k]
            for run in range(runs):
                along[run] += own[run] * shift
        into = sums[place]
        for run in range(runs):
            inner = along[run]
            loss = 0.5 * bend * (inner * inner) if kind == DIRECTION_SQUARE else 0.5 * max(inner, 0.0)
            into[run] += min(max(loss / unit, 0.0), 1.0)

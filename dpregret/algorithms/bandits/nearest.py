"""The point of a set that is nearest to a goal: by projection, or nearly, by linear oracles.

Both on a copy of the set that is shrunk about its center. served (1,): how many columns the oracle has served.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpregret.core.oracles import project, vertex
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined
from dpregret.numerics.generic import generic

nearest = generic("nearest")
"""nearest(solver, domain, goal, x, s): move x (d, columns) to the points of the set nearest to goals, which go."""

TINY = 1e-300  # of a square by which is divided


class ByProjection(NamedTuple):
    """One projection."""

    center: Array
    shrink: float
    served: NDArray[np.int64]


class ByVertices(NamedTuple):
    """Conditional gradient on |x - goal|^2/2 with exact line search.

    Stops at a gap of `allowed`, after `most` vertices at the latest.
    """

    center: Array
    shrink: float
    served: NDArray[np.int64]
    allowed: float
    most: int


@nearest.add
def _(solver: ByProjection, domain, goal, x, s):
    """Points of a shrunk copy are those of the set, shrunk."""
    about(solver.center, 1.0, solver.shrink, goal, x)
    project(domain, x, s)
    solver.served[0] += x.shape[1]
    about(solver.center, solver.shrink, 1.0, x, x)


@nearest.add
def _(solver: ByVertices, domain, goal, x, s):
    """From x on; columns that exist need no more."""
    d, left = x.shape
    about(solver.center, 1.0, solver.shrink, x, x)
    about(solver.center, 1.0, solver.shrink, goal, goal)
    some, others, gap, square = np.empty(d * left), np.empty(d * left), np.empty(left), np.empty(left)
    active = np.arange(left)
    for _ in range(solver.most):
        slope, away = some[: d * left].reshape(d, left), others[: d * left].reshape(d, left)
        for k in range(d):
            for a in range(left):
                slope[k, a] = x[k, active[a]] - goal[k, active[a]]
        vertex(domain, slope, away, s)
        solver.served[0] += left
        for a in range(left):
            gap[a] = square[a] = 0.0
        for k in range(d):
            for a in range(left):
                away[k, a] -= x[k, active[a]]
                gap[a] -= slope[k, a] * away[k, a]
                square[a] += away[k, a] * away[k, a]
        kept = 0
        for a in range(left):
            if gap[a] > solver.allowed:
                length = min(gap[a] / max(square[a], TINY), 1.0)
                for k in range(d):
                    x[k, active[a]] += length * away[k, a]
                active[kept] = active[a]
                kept += 1
        left = kept
        if left == 0:
            break
    about(solver.center, solver.shrink, 1.0, x, x)


@inlined
def about(center, times, over, points, moved):
    """Moved = center + times (points - center) / over; what is neither stretched nor shrunk stays as it is."""
    for k in range(points.shape[0]):
        for c in range(points.shape[1]):
            if times == over:
                moved[k, c] = points[k, c]
            elif times == 1.0:
                moved[k, c] = center[k] + (points[k, c] - center[k]) / over
            else:
                moved[k, c] = center[k] + times * (points[k, c] - center[k])

"""Certified minima of smooth convex functions on a set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

CHECK_EVERY: Final = 8
"""Steps from one look at the gaps to the next."""
PATIENCE: Final = 100
"""Looks in which a gap that is small enough may fail to halve."""


def minimise(
    domain: ConstraintSet,
    gradient: Callable[[Array], Array],
    start: Array,
    smoothness: float | Array,
    *,
    goal: float = 1e-12,
    allowed: float = 1e-8,
    max_steps: int = 200_000,
) -> tuple[Array, Array, int]:
    """Minima of smooth convex functions on a set, of each row on its own: points (..., p), gaps (...,), steps taken.

    Accelerated projected gradient (Beck & Teboulle 2009), the momentum restarted where it points uphill (O'Donoghue &
    Candes 2015). ``gradient``: (..., p) -> (..., p), also a little outside the set; ``start`` (..., p);
    ``smoothness``: a number, or an array that broadcasts to (..., 1).

    The gap max over v in the set of <gradient f(x), x - v> bounds f(x) - min f. A row's answer is its first point
    whose gap is at most ``goal`` or, where rounding forbids that, its best point once a gap of at most ``allowed`` has
    stopped falling: it does not depend on the other rows. Raises FloatingPointError with the worst gap where a row has
    no answer after ``max_steps`` steps.
    """
    point = ahead = domain.project(start)
    inertia = np.ones((*start.shape[:-1], 1))
    best, gaps = point.copy(), np.full(start.shape[:-1], np.inf)
    waited, ended = np.zeros(gaps.shape, dtype=int), np.zeros(gaps.shape, dtype=bool)
    for taken in range(max_steps + 1):
        if taken % CHECK_EVERY == 0:
            slope = gradient(point)
            gap = np.maximum(vecdot(slope, point - domain.linear_oracle(slope)), 0.0)
            waited = np.where(gap < 0.5 * gaps, 0, waited + 1)
            better = ~ended & (gap < gaps)
            best[better], gaps[better] = point[better], gap[better]
            ended |= (gaps <= goal) | ((gaps <= allowed) & (waited > PATIENCE))
            if ended.all():
                return best, gaps, taken
        moved = domain.project(ahead - gradient(ahead) / smoothness)
        uphill = vecdot(ahead - moved, moved - point)[..., None] > 0.0
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * inertia**2))
        ahead = moved + np.where(uphill, 0.0, (inertia - 1.0) / grown) * (moved - point)
        inertia = np.where(uphill, 1.0, grown)
        point = moved
    if (gaps <= allowed).all():
        return best, gaps, max_steps
    worst = float(np.where(gaps <= allowed, 0.0, gaps).max())
    raise FloatingPointError(f"no certified minimum: gap {worst:.1e} is above {allowed:.0e} after {max_steps} steps")

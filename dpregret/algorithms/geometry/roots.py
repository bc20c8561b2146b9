"""Roots of many increasing scalar equations at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpregret.numerics.arrays import Array

MOST_STEPS = 100
"""Every other step halves the bracket at least: enough for roots down to 2^-40 of it, to rounding."""

SETTLED = 4e-15
"""Relative length of the last step of Newton's method."""


def increasing_root(equation: Callable[[Array], tuple[Array, Array]], low: Array, high: Array) -> Array:
    """Root (...,) of an increasing function between low and high (...,), to rounding, entry by entry.

    equation maps (...,) to value and slope (...,). Newton's step where it stays inside the bracket and is at most
    half as long as the step before, else to the midpoint; starts at `high`, from where Newton never overshoots
    on a convex function. A root outside the bracket comes back as the nearer end.
    """
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    roots = high.copy()
    lengths = high - low
    found = np.zeros(roots.shape, dtype=bool)
    for _ in range(MOST_STEPS):
        values, slopes = equation(roots)
        high = np.where(values > 0.0, roots, high)
        low = np.where(values > 0.0, low, roots)
        steps = values / np.where(slopes > 0.0, slopes, np.inf)
        newton = roots - steps
        good = (newton >= low) & (newton <= high) & (slopes > 0.0) & (2.0 * np.abs(steps) <= lengths)
        # Newton's last steps are rounding of the values: a midpoint would then lead away from the root again.
        found |= values == 0.0
        roots, before = np.where(found, roots, np.where(good, newton, low + 0.5 * (high - low))), roots
        found |= good & (np.abs(steps) <= SETTLED * np.abs(roots))
        lengths = np.abs(roots - before)
        if np.all(lengths <= 2.0 * np.spacing(np.abs(roots))):
            break
    return roots

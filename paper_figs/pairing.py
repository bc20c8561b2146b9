"""Learners with different numbers of runs, paired as far as they go."""

from __future__ import annotations

import numpy as np

from dpregret.core.arrays import Array
from dpregret.paper_figs.stopping import caution

FEWEST = 5  # pairs from which a slope is taken


def fill_missing(own: Array, other: Array, cells: np.ndarray) -> Array:
    """What is subtracted from `own` where the counterpart has fewer runs, since it needed no more; all (rows,).

    own: p_i of n runs in each cell; other: c_i of the counterpart, NaN in all but m of them; cells: number of a row's
    cell. Missing c_i are predicted from p_i by least squares, f_i = c + b (p_i - p), means over the m pairs; those that
    are there become f_i + k (c_i - f_i). Then the mean of own - result is that of all p_i less the predicted mean of c,
    and its variance over runs, divided by n, counts (1 - b)^2 Var(p_i) / n and Var(c_i - f_i) / m. For this k is about
    n / m; it also counts that b is estimated, and that few pairs have a wider t quantile. Cells where nothing is
    missing stay as they are; with less than two pairs they stay NaN.
    """
    filled = other.copy()
    for cell in np.unique(cells[np.isnan(other)]):
        here = np.flatnonzero(cells == cell)
        known = here[~np.isnan(other[here])]
        runs, pairs = len(here), len(known)
        if pairs < 2:
            continue
        apart, slope, free = own - own[known].mean(), 0.0, pairs - 1
        square = float((apart[known] ** 2).sum())
        if pairs >= FEWEST and square > 0:
            slope, free = float(apart[known] @ other[known]) / square, pairs - 2
        fitted = other[known].mean() + slope * apart
        spread = runs / pairs * np.sqrt(pairs * (runs - 1) / (runs * free)) * caution(free + 1) / caution(runs)
        if slope:
            spread *= np.sqrt(1 + (1 - pairs / runs) / (pairs - 3))
        filled[here] = fitted[here]
        filled[known] += spread * (other[known] - fitted[known])
    return filled

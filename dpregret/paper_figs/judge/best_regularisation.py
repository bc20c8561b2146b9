"""The best of several tried numbers, such as the regularisation of a leader."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array


def best_regularisation(cell: pd.DataFrame) -> tuple[Array, bool]:
    """Jackknife pseudo-values (runs,) of a cell's best regularisation, and whether it lies inside the tried ones.

    `cell`: rows of several variants (columns regularisation, run, regret).
    """
    table = cell.pivot_table(index="run", columns="regularisation", values="regret").dropna()  # runs of all variants
    tried, regrets = np.log(table.columns.to_numpy(dtype=float)), table.to_numpy(dtype=float)
    total, runs = regrets.sum(axis=0), len(regrets)
    place = int(np.argmin(total))
    if not 0 < place < len(tried) - 1:
        return np.full(runs, np.exp(tried[place])), False
    near = slice(place - 1, place + 2)

    def bottom(means: Array) -> float:
        curvature, slope, _ = np.polyfit(tried[near] - tried[place], np.log(means[near]), 2)
        return float(np.exp(tried[place] - slope / (2 * curvature)))

    whole = bottom(total / runs)
    others = np.array([bottom((total - each) / (runs - 1)) for each in regrets])
    return np.asarray(runs * whole - (runs - 1) * others, dtype=np.float64), True

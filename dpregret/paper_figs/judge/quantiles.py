"""Statistics of claims on tails and windows: quantiles over runs, and the exact constants of a window."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array

BATCH: Final = 128
"""Runs whose quantile counts as one response."""
ODDS: Final = (2, 4, 8, 16, 32, 64)
"""1 / beta; the rarest level has two runs of a batch above it."""


def quantiles(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for every batch of runs and every beta: `response` is the batch's quantile at 1 - beta, `odds` 1 / beta.

    rows: one for every run, with its `response`. The mean over batches then estimates the quantile, and batches are
    independent as runs are. Further columns are means over the batch; runs that fill no batch are left out.
    """
    batch = rows["run"] // BATCH
    whole = batch.map(batch.value_counts()) == BATCH
    numbers = rows.loc[whole].groupby(batch.loc[whole])
    parts = []
    for odds in ODDS:
        part = numbers.mean(numeric_only=True)
        part["response"] = numbers["response"].quantile(1 - 1 / odds)
        parts.append(part.assign(odds=odds, run=part.index, status="ok", tight=bool(rows["tight"].all())))
    if (rows["status"] != "ok").any():
        parts = [part.assign(status="failed") for part in parts]
    return pd.concat(parts, ignore_index=True)


def landau(windows: Array) -> Array:
    """G_W = sum_{j<W} (C(2j, j) / 4^j)^2 of every window: the least variance for a window of W is its square."""
    root = np.cumprod(np.append(1.0, 1 - 0.5 / np.arange(1.0, float(windows.max()))))
    found: Array = np.cumsum(np.square(root))[windows.astype(np.int64) - 1]
    return found


def mean_root(windows: Array) -> Array:
    """A_W: the mean of sqrt(number of noisy nodes) over the sums of a block of the window tree.

    At position j of a block of W = 2^m a sum holds m + 1 - v2(j) noisy nodes, v2 the trailing zeros: i of them at
    W / 2^(i+1) positions for i < m, m at the last one. A_W is 1 at W = 1 and about sqrt(log2 W) later.
    """
    found = []
    for window in windows:
        depth = round(float(np.log2(window)))
        zeros = np.arange(depth)
        found.append(float(np.sum(0.5 ** (zeros + 1) * np.sqrt(depth + 1 - zeros)) + 0.5**depth))
    return np.array(found)

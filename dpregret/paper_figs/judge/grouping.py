"""Groups of rows by arrays: what a sweep needs of a frame, at the price of arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from dpregret.numerics.arrays import Array

NDArrayInt = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


def numbered(rows: pd.DataFrame, keys: Sequence[str]) -> tuple[NDArrayInt, NDArrayInt]:
    """Number of every row's group of equal `keys`, groups in their order; and the first row of each group."""
    number = np.zeros(len(rows), dtype=np.int64)
    for key in keys:
        column = rows[key]
        if is_numeric_dtype(column):
            _, own = np.unique(column.to_numpy(), return_inverse=True)
        else:
            own, _ = pd.factorize(column, sort=True)
        number = number * (own.max() + 1) + own
    _, firsts, groups = np.unique(number, return_index=True, return_inverse=True)
    return groups, firsts


def group_means(rows: pd.DataFrame, names: Sequence[str], groups: NDArrayInt) -> dict[str, Array]:
    """Means over the rows of each group, (groups,) by name; missing numbers are left out."""
    numbers = np.column_stack([rows[name].to_numpy(dtype=float) for name in names])
    means = pd.DataFrame(numbers).groupby(groups).mean().to_numpy()
    return dict(zip(names, means.T, strict=True))

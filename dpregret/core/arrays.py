"""The array type of the whole package."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sum_rows(rows: Array) -> Array:
    """Sum over the first axis, row after row: NumPy adds a single column pairwise, and several columns like this."""
    total: Array = np.cumsum(rows, axis=0)[-1] if rows[0].size == 1 else rows.sum(axis=0)
    return total

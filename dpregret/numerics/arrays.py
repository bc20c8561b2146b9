"""The array type of the whole package."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def without_gaps(array: Array) -> Array:
    """The array, or a copy where it has gaps or may not be written: a kernel is compiled for each layout it meets."""
    found = np.ascontiguousarray(array)
    return found if found.flags.writeable else found.copy()


def sum_rows(rows: Array) -> Array:
    """Sum over the first axis, row after row, whatever the shape and the layout.

    NumPy does so where the rows lie one after the other and have several numbers, and else adds pairwise.
    """
    return np.cumsum(rows, axis=0)[-1] if rows[0].size == 1 else np.ascontiguousarray(rows).sum(axis=0)

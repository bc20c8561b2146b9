"""The array type of the whole package."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def without_gaps(array: Array) -> Array:
    """The array, or a copy where it has gaps or may not be written: a kernel is compiled for each layout it meets."""
    contiguous = np.ascontiguousarray(array)
    return contiguous if contiguous.flags.writeable else contiguous.copy()

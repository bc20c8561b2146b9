"""Inner products in one fixed order, so that their last bits depend on neither the processor nor the batch.

NumPy's `vecdot` calls a BLAS that chooses its kernel, hence its order of summation, by the processor. Here eight lanes
each add every eighth product; the lanes are added pairwise, ((0+4)+(2+6)) + ((1+5)+(3+7)), and what is left of a length
that is no multiple of eight is added at the end, one by one.
"""

import numba
import numpy as np
from numpy.typing import ArrayLike

from dpregret.core.arrays import Array
from dpregret.core.compiled import inlined

LANES = 8


@inlined
def dot(first: Array, second: Array) -> float:
    """<first, second> of two vectors (d,), in the order above; called by kernels."""
    whole = len(first) // LANES * LANES
    a = b = c = d = e = f = g = h = 0.0
    for k in range(0, whole, LANES):
        a += first[k] * second[k]
        b += first[k + 1] * second[k + 1]
        c += first[k + 2] * second[k + 2]
        d += first[k + 3] * second[k + 3]
        e += first[k + 4] * second[k + 4]
        f += first[k + 5] * second[k + 5]
        g += first[k + 6] * second[k + 6]
        h += first[k + 7] * second[k + 7]
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for k in range(whole, len(first)):
        total += first[k] * second[k]
    return total


@numba.guvectorize(["void(float64[::1], float64[::1], float64[:])"], "(n),(n)->()", cache=True)  # type: ignore[untyped-decorator]
def _inner(first: Array, second: Array, out: Array) -> None:
    out[0] = dot(first, second)


def vecdot(first: ArrayLike, second: ArrayLike) -> Array:
    """<first, second> along the last axis, others broadcast: `numpy.vecdot` for real numbers, in the order above."""
    found: Array = _inner(_close(first), _close(second))
    return found


def _close(values: ArrayLike) -> Array:
    """Numbers whose last axis lies without gaps."""
    array = np.asarray(values, dtype=np.float64)
    return array if array.strides[-1] == array.itemsize else np.ascontiguousarray(array)

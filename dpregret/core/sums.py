"""Inner products in one fixed order, so that their last bits depend on neither the processor nor the batch.

NumPy's `vecdot` calls a BLAS that chooses its kernel, hence its order of summation, by the processor. Here eight lanes
each add every eighth product; the lanes are added pairwise, ((0+4)+(2+6)) + ((1+5)+(3+7)), and what is left of a length
that is no multiple of eight is added at the end, one by one. Matrix products add along the shared axis, one by one.
"""

import math

import numba
import numpy as np
from numpy.typing import ArrayLike

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled, inlined

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


def product(left: ArrayLike, right: ArrayLike) -> Array:
    """`left @ right` for real numbers, left (..., k), right (k, m) or (k,): an entry is added from place 0 to k - 1."""
    first, second = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    lead, columns = first.shape[:-1], second.shape[1:]
    found = np.zeros((math.prod(lead), math.prod(columns)))
    rows = np.ascontiguousarray(first.reshape(len(found), first.shape[-1]))
    _add_product(rows, np.ascontiguousarray(second.reshape(len(second), found.shape[1])), found)
    return found.reshape(lead + columns)


TILE = 512  # columns of a piece, whose sums stay in the nearest memory


@compiled
def _add_product(left: Array, right: Array, found: Array) -> None:
    """found (n, m) += left (n, k) @ right (k, m), four places of k in one sweep over a row."""
    places, columns = right.shape
    whole = places // 4 * 4
    for first in range(0, columns, TILE):
        last = min(first + TILE, columns)
        for row in range(len(left)):
            sums = found[row, first:last]
            for k in range(0, whole, 4):
                a, b, c, d = left[row, k], left[row, k + 1], left[row, k + 2], left[row, k + 3]
                one, two = right[k, first:last], right[k + 1, first:last]
                three, four = right[k + 2, first:last], right[k + 3, first:last]
                for j in range(len(sums)):
                    sums[j] = (((sums[j] + a * one[j]) + b * two[j]) + c * three[j]) + d * four[j]
            for k in range(whole, places):
                a, one = left[row, k], right[k, first:last]
                for j in range(len(sums)):
                    sums[j] += a * one[j]


def largest_eigenvalue(matrices: ArrayLike) -> Array:
    """Upper bound on the largest eigenvalue of symmetric matrices (..., d, d), and on 0: 1e-7 above it at most.

    LAPACK's last bits depend on the processor. They are rounded away: up by 1e-9, then up to 24 binary digits.
    """
    largest = np.linalg.eigvalsh(np.asarray(matrices, dtype=np.float64))[..., -1] * (1.0 + 1e-9)
    mantissa, exponent = np.frexp(np.maximum(largest, 0.0))
    return np.asarray(np.ldexp(np.ceil(np.ldexp(mantissa, 24)), exponent - 24), dtype=np.float64)


def _close(values: ArrayLike) -> Array:
    """Numbers whose last axis lies without gaps."""
    array = np.asarray(values, dtype=np.float64)
    return array if array.strides[-1] == array.itemsize else np.ascontiguousarray(array)

"""Inner products in one fixed order, so that their last bits depend on neither the processor nor the batch.

NumPy's `vecdot` calls a BLAS that chooses its kernel, hence its order of summation, by the processor. Here eight lanes
each add every eighth product; the lanes are added pairwise, ((0+4)+(2+6)) + ((1+5)+(3+7)), and what is left of a length
that is no multiple of eight is added at the end, one by one. Matrix products add along the shared axis, one by one,
each with a single rounding (`fused`).
"""

import math

import numba
import numpy as np
from numpy.typing import ArrayLike

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled, fused, inlined

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
    one, other = _close(first), _close(second)
    if one.shape[-1] == 1 == other.shape[-1]:  # numbers: a call for each would cost more than their products
        found: Array = one[..., 0] * other[..., 0] + 0.0  # as in the sum, -0 becomes 0
    else:
        found = _inner(one, other)
    return found


def product(left: ArrayLike, right: ArrayLike) -> Array:
    """`left @ right` for real numbers, left (..., k), right (k, m) or (k,), in the order of `add_product`."""
    first, second = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    lead, columns = first.shape[:-1], second.shape[1:]
    found = np.zeros((math.prod(lead), math.prod(columns)))
    rows = np.ascontiguousarray(first.reshape(len(found), first.shape[-1]))
    add_product(rows, np.ascontiguousarray(second.reshape(len(second), found.shape[1])), found)
    return found.reshape(lead + columns)


PANEL = 512  # columns that stay in the processor's cache
NARROW = 128


@compiled
def add_one(into: Array, a: Array, p: float) -> None:
    """into += p a, with one rounding."""
    for at in range(len(into)):
        into[at] = fused(p, a[at], into[at])


@compiled
def _add_four(into: Array, a: Array, b: Array, c: Array, d: Array, p: Array) -> None:
    e, f, g, h = p[0], p[1], p[2], p[3]
    for at in range(len(into)):
        into[at] = fused(h, d[at], fused(g, c[at], fused(f, b[at], fused(e, a[at], into[at]))))


@compiled
def _add_four_to_two(into: Array, other: Array, a: Array, b: Array, c: Array, d: Array, p: Array, q: Array) -> None:
    e, f, g, h = p[0], p[1], p[2], p[3]
    r, s, t, u = q[0], q[1], q[2], q[3]
    for at in range(len(into)):
        aa, bb, cc, dd = a[at], b[at], c[at], d[at]
        into[at] = fused(h, dd, fused(g, cc, fused(f, bb, fused(e, aa, into[at]))))
        other[at] = fused(u, dd, fused(t, cc, fused(s, bb, fused(r, aa, other[at]))))


@compiled
def add_product(matrix: Array, rows: Array, into: Array) -> None:
    """into += matrix @ rows, (n, m) and (m, width): place after place, each product added with one rounding."""
    if rows.shape[1] <= NARROW:
        _add_narrow_product(matrix, rows, into)
        return
    terms, pairs = matrix.shape[1], len(matrix) - len(matrix) % 2
    fours = terms - terms % 4
    for low in range(0, rows.shape[1], PANEL):
        high = min(low + PANEL, rows.shape[1])
        for i in range(0, fours, 4):
            a, b = rows[i, low:high], rows[i + 1, low:high]
            c, d = rows[i + 2, low:high], rows[i + 3, low:high]
            for n in range(0, pairs, 2):
                p, q = matrix[n, i : i + 4], matrix[n + 1, i : i + 4]
                _add_four_to_two(into[n, low:high], into[n + 1, low:high], a, b, c, d, p, q)
            for n in range(pairs, len(matrix)):
                _add_four(into[n, low:high], a, b, c, d, matrix[n, i : i + 4])
        for i in range(fours, terms):
            for n in range(len(matrix)):
                add_one(into[n, low:high], rows[i, low:high], matrix[n, i])


@compiled
def _add_narrow_product(matrix: Array, rows: Array, into: Array) -> None:
    """The same, row after row: what a few columns would pay for calls is more than for reading them again."""
    terms = matrix.shape[1]
    fours = terms - terms % 4
    for n in range(len(matrix)):
        line = into[n]
        for i in range(0, fours, 4):
            e, f, g, h = matrix[n, i], matrix[n, i + 1], matrix[n, i + 2], matrix[n, i + 3]
            a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
            for at in range(len(line)):
                line[at] = fused(h, d[at], fused(g, c[at], fused(f, b[at], fused(e, a[at], line[at]))))
        for i in range(fours, terms):
            e, a = matrix[n, i], rows[i]
            for at in range(len(line)):
                line[at] = fused(e, a[at], line[at])


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

"""Inner products in one fixed order, so that their last bits depend on neither the processor nor the batch.

NumPy's `vecdot` calls a BLAS that chooses its kernel, hence its order of summation, by the processor. Here eight lanes
each add every eighth product; the lanes are added pairwise, ((0+4)+(2+6)) + ((1+5)+(3+7)), and the last products, where
a length is no multiple of eight, are added at the end, one by one. Matrix products add along the shared axis, one by
one, each with a single rounding (`fused`).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import by_element, compiled, inlined
from dpregret.numerics.intrinsics import WIDTH, fused, load, spread, store

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


@by_element("void(float64[::1], float64[::1], float64[:])", "(n),(n)->()")
def _inner(first: Array, second: Array, out: Array) -> None:
    out[0] = dot(first, second)


def vecdot(first: ArrayLike, second: ArrayLike) -> Array:
    """<first, second> along the last axis, others broadcast: `numpy.vecdot` for real numbers, in the order above."""
    a, b = _close(first), _close(second)
    if a.shape[-1] == 1 == b.shape[-1]:  # numbers: a call for each would cost more than their products
        inner: Array = a[..., 0] * b[..., 0] + 0.0  # as in the sum, -0 becomes 0
    else:
        inner = _inner(a, b)
    return inner


def sum_rows(rows: Array) -> Array:
    """Sum over the first axis, row after row, whatever the shape and the layout.

    NumPy does so where the rows lie one after the other and have several numbers, and else adds pairwise.
    """
    return np.cumsum(rows, axis=0)[-1] if rows[0].size == 1 else np.ascontiguousarray(rows).sum(axis=0)


def product(left: ArrayLike, right: ArrayLike) -> Array:
    """`left @ right` for real numbers, left (..., k), right (k, m) or (k,), in the order of `add_product`."""
    first, second = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    lead, columns = first.shape[:-1], second.shape[1:]
    out = np.zeros((math.prod(lead), math.prod(columns)))
    rows = without_gaps(first.reshape(len(out), first.shape[-1]))
    add_product(rows, np.ascontiguousarray(second.reshape(len(second), out.shape[1])), out)
    return out.reshape(lead + columns)


def products(left: ArrayLike, right: ArrayLike) -> Array:
    """`product` of several pairs, (n, l, k) and (n, k, m) -> (n, l, m)."""
    first, second = (np.ascontiguousarray(factor, dtype=np.float64) for factor in (left, right))
    out = np.zeros((*first.shape[:2], second.shape[2]))
    _add_products(first, second, out)
    return out


@compiled
def _add_products(matrices: Array, rows: Array, into: Array) -> None:
    for n in range(len(matrices)):
        add_product(matrices[n], rows[n], into[n])


FEW = 8  # terms; with fewer, four rows at a time do not pay
DEPTH = 256  # terms whose sixteen columns stay there


@compiled
def add_product(matrix: Array, rows: Array, into: Array) -> None:
    """into += matrix @ rows, (n, m) and (m, width), in order along m: each product is added with one rounding.

    rows and into lie without gaps. Four rows of sixteen columns are added up in registers, or one of sixty-four.
    """
    width = rows.shape[1]
    fours = len(matrix) - len(matrix) % 4 if len(rows) >= FEW else 0
    wide = width - width % (2 * WIDTH) if fours else 0
    for begun in range(0, len(rows), DEPTH):
        end = min(begun + DEPTH, len(rows))
        for column in range(0, wide, 2 * WIDTH):
            for n in range(0, fours, 4):
                _add_block(matrix, rows, into, n, column, begun, end)
        for n in range(len(matrix)):
            column = wide if n < fours else 0
            while column + 8 * WIDTH <= width:
                _add_long(matrix, rows, into, n, column, begun, end)
                column += 8 * WIDTH
            while column + WIDTH <= width:
                total = load(into, n * width + column)
                for i in range(begun, end):
                    total = fused(spread(matrix[n, i]), load(rows, i * width + column), total)
                store(into, n * width + column, total)
                column += WIDTH
        _add_rest(matrix, rows, into, width - width % WIDTH, begun, end)


@inlined
def _add_rest(matrix: Array, rows: Array, into: Array, column: int, begun: int, end: int) -> None:
    """Columns that fill no lanes, of four rows side by side."""
    last = len(matrix) - 1
    for n in range(0, len(matrix) if column < rows.shape[1] else 0, 4):
        two, three, four = min(n + 1, last), min(n + 2, last), min(n + 3, last)
        for at in range(column, rows.shape[1]):
            a, b, c, d = into[n, at], into[two, at], into[three, at], into[four, at]
            for i in range(begun, end):
                term = rows[i, at]
                a, b = fused(matrix[n, i], term, a), fused(matrix[two, i], term, b)
                c, d = fused(matrix[three, i], term, c), fused(matrix[four, i], term, d)
            into[n, at], into[two, at], into[three, at], into[four, at] = a, b, c, d


@inlined
def _add_long(matrix: Array, rows: Array, into: Array, n: int, column: int, begun: int, end: int) -> None:
    width = rows.shape[1]
    first = n * width + column
    a, b, c, d = load(into, first), load(into, first + 8), load(into, first + 16), load(into, first + 24)
    e, f, g, h = load(into, first + 32), load(into, first + 40), load(into, first + 48), load(into, first + 56)
    for i in range(begun, end):
        p, k = spread(matrix[n, i]), i * width + column
        a, b = fused(p, load(rows, k), a), fused(p, load(rows, k + 8), b)
        c, d = fused(p, load(rows, k + 16), c), fused(p, load(rows, k + 24), d)
        e, f = fused(p, load(rows, k + 32), e), fused(p, load(rows, k + 40), f)
        g, h = fused(p, load(rows, k + 48), g), fused(p, load(rows, k + 56), h)
    store(into, first, a)
    store(into, first + 8, b)
    store(into, first + 16, c)
    store(into, first + 24, d)
    store(into, first + 32, e)
    store(into, first + 40, f)
    store(into, first + 48, g)
    store(into, first + 56, h)


@inlined
def _add_block(matrix: Array, rows: Array, into: Array, n: int, column: int, begun: int, end: int) -> None:
    width = rows.shape[1]
    one, two = n * width + column, (n + 1) * width + column
    three, four = (n + 2) * width + column, (n + 3) * width + column
    a, b, c, d = load(into, one), load(into, two), load(into, three), load(into, four)
    e, f, g, h = load(into, one + 8), load(into, two + 8), load(into, three + 8), load(into, four + 8)
    for i in range(begun, end):
        left, right = load(rows, i * width + column), load(rows, i * width + column + 8)
        p, q = spread(matrix[n, i]), spread(matrix[n + 1, i])
        a, e = fused(p, left, a), fused(p, right, e)
        b, f = fused(q, left, b), fused(q, right, f)
        r, s = spread(matrix[n + 2, i]), spread(matrix[n + 3, i])
        c, g = fused(r, left, c), fused(r, right, g)
        d, h = fused(s, left, d), fused(s, right, h)
    store(into, one, a)
    store(into, two, b)
    store(into, three, c)
    store(into, four, d)
    store(into, one + 8, e)
    store(into, two + 8, f)
    store(into, three + 8, g)
    store(into, four + 8, h)


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

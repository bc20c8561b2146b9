"""Jacobi's rotations of eight symmetric matrices side by side, with the bits of `spectral.diagonalise`."""

from typing import Any

import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled, inlined
from dpregret.core.lanes import WIDTH, any_less, load, roots, signed_like, spread, store, where_less

SWEEPS = 30  # of rotations over all pairs; half a dozen are enough


@compiled
def diagonalise_all(matrices: Array, bases: Array, values: Array) -> None:
    """`spectral.diagonalise` of matrices (n, m, m): bases (n, m, m), values (n, m). A NaN makes all values NaN."""
    count, side = values.shape
    images, basis = np.empty((side, side, WIDTH)), np.empty((side, side, WIDTH))
    found, active, off = np.empty((side, WIDTH)), np.empty(WIDTH), np.empty(WIDTH)
    length, zero, one = side * WIDTH, spread(0.0), spread(1.0)
    for first in range(0, count, WIDTH):
        for lane in range(WIDTH):
            own = matrices[min(first + lane, count - 1)]  # the last one again, where there are no eight
            for i in range(side):
                for k in range(side):
                    images[i, k, lane], basis[i, k, lane] = own[i, k], 1.0 if i == k else 0.0
                found[i, lane] = own[i, i]
            active[lane] = 1.0
        size = zero
        for i in range(side):
            size = size + _dot(images, i * length, images, i * length, side)
        for _ in range(SWEEPS):
            store(off, 0, zero)
            limit = where_less(zero, load(active, 0), spread(1e-34) * size, spread(np.inf))
            for p in range(side - 1):
                for q in range(p + 1, side):
                    both = _dot(basis, p * length, images, q * length, side)
                    square = both * both
                    store(off, 0, load(off, 0) + square)
                    if not any_less(limit, square):
                        continue
                    low, high = load(found, p * WIDTH), load(found, q * WIDTH)
                    ratio = spread(0.5) * (high - low) / where_less(limit, square, both, one)
                    steep = signed_like(ratio, one) + roots(one + ratio * ratio)
                    tangent = where_less(limit, square, signed_like(one, ratio) / steep, zero)
                    cosine = one / roots(one + tangent * tangent)
                    sine = tangent * cosine
                    store(found, p * WIDTH, low - tangent * both)
                    store(found, q * WIDTH, high + tangent * both)
                    _turn(images, p * length, q * length, length, cosine, sine)
                    _turn(basis, p * length, q * length, length, cosine, sine)
            store(active, 0, where_less(spread(1e-20) * size, load(off, 0), load(active, 0), zero))
            if not any_less(zero, load(active, 0)):
                break
        for i in range(0, length, WIDTH):
            store(found, i, load(found, i) + (size - size))
        for lane in range(min(WIDTH, count - first)):
            for i in range(side):
                values[first + lane, i] = found[i, lane]
                for k in range(side):
                    bases[first + lane, i, k] = basis[i, k, lane]


@inlined
def _turn(rows: Array, p: int, q: int, length: int, cosine: Any, sine: Any) -> None:
    """Rotate two rows."""
    for k in range(0, length, WIDTH):
        upper, lower = load(rows, p + k), load(rows, q + k)
        store(rows, p + k, cosine * upper - sine * lower)
        store(rows, q + k, sine * upper + cosine * lower)


@inlined
def _dot(first: Array, p: int, second: Array, q: int, side: int) -> Any:
    """Inner products of two rows, in the order of `core.sums.dot`."""
    whole = side // 8 * 8 * WIDTH
    a = b = c = d = e = f = g = h = spread(0.0)
    for k in range(0, whole, 8 * WIDTH):
        a = a + load(first, p + k) * load(second, q + k)
        b = b + load(first, p + k + WIDTH) * load(second, q + k + WIDTH)
        c = c + load(first, p + k + 2 * WIDTH) * load(second, q + k + 2 * WIDTH)
        d = d + load(first, p + k + 3 * WIDTH) * load(second, q + k + 3 * WIDTH)
        e = e + load(first, p + k + 4 * WIDTH) * load(second, q + k + 4 * WIDTH)
        f = f + load(first, p + k + 5 * WIDTH) * load(second, q + k + 5 * WIDTH)
        g = g + load(first, p + k + 6 * WIDTH) * load(second, q + k + 6 * WIDTH)
        h = h + load(first, p + k + 7 * WIDTH) * load(second, q + k + 7 * WIDTH)
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for k in range(whole, side * WIDTH, WIDTH):
        total = total + load(first, p + k) * load(second, q + k)
    return total

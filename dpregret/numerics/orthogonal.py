"""Orthogonal transformations of small matrices, in one fixed order: eigenvalues and singular values by Jacobi's
rotations, complements of rows by Householder's reflections.

LAPACK's last bits, and where values are equal its vectors, depend on the processor. These do not; each rotation is as
exact as rounding allows (Demmel & Veselic 1992). Meant for sides up to some dozens: the cost grows like the cube.
"""

from typing import Any

import numpy as np

from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.intrinsics import WIDTH, any_less, roots, spread, store, take, where_less
from dpregret.numerics.sums import products

SWEEPS = 30  # of rotations over all pairs; half a dozen are enough
CLOSE = 1e-16  # squared cosine: cosines fall quadratically where angles are as small, so that one more sweep is enough
ROUNDING = 1e-30  # squared cosine of rows that are orthogonal, as sums of some dozen products tell
NOTHING = 1e-34  # one that is not worth a rotation
INDEPENDENT = 1e-10  # least length of a row's part orthogonal to the rows before, relative to the row


def symmetric(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues (..., m) from the smallest on, and eigenvectors (..., m, m) as columns, of symmetric matrices."""
    values, vectors, _ = decomposed(_one_after_the_other(matrices), True)
    return values.reshape(matrices.shape[:-1]), vectors.reshape(matrices.shape).swapaxes(-1, -2)


def singular(matrices: Array) -> tuple[Array, Array, Array]:
    """U (..., m, m), singular values (..., m) from the largest on, V^T (..., m, m) of square matrices.

    A row of V^T that belongs to the value 0 is zero; U is orthogonal always.
    """
    values, left, right = decomposed(_one_after_the_other(matrices), False)
    shape = matrices.shape
    return left.reshape(shape).swapaxes(-1, -2), values.reshape(shape[:-1]), right.reshape(shape)


def composed(left: Array, values: Array, right: Array) -> Array:
    """left diag(values) right, (..., m, m): one value after the other, each product added with one rounding."""
    side = values.shape[-1]
    scaled = (left * values[..., None, :]).reshape(-1, side, side)
    return products(scaled, right.reshape(-1, side, side)).reshape(right.shape)


def _one_after_the_other(matrices: Array) -> Array:
    """Matrices (..., m, m) as (n, m, m), for kernels."""
    return without_gaps(matrices.reshape(-1, *matrices.shape[-2:]))


@compiled
def decomposed(matrices: Array, symmetric: bool) -> tuple[Array, Array, Array]:
    """Values (n, m), U^T and V^T (n, m, m) of A = U diag(values) V^T.

    symmetric: U = V, eigenvalues from the smallest on; else see `singular`. Equal values stay in the order in which
    they are found.
    """
    count, side = matrices.shape[:2]
    rows, found = np.empty((count, side, 2 * side)), np.empty((count, side))
    for n in range(count):
        for i in range(side):
            for k in range(side):
                rows[n, i, k], rows[n, i, side + k] = matrices[n, i, k], 1.0 if i == k else 0.0
    orthogonalise(rows, found, symmetric)
    values, left, right = np.empty(found.shape), np.empty(matrices.shape), np.empty(matrices.shape)
    order = np.empty(side, dtype=np.int64)
    for n in range(count):
        for k in range(side):
            value = found[n, k] if symmetric else np.sqrt(0.0 if found[n, k] < 0.0 else found[n, k])
            place, found[n, k] = k, value if symmetric else -value
            while place > 0 and found[n, k] < found[n, order[place - 1]]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = k
        for k in range(side):
            row, value = rows[n, order[k]], found[n, order[k]] if symmetric else -found[n, order[k]]
            values[n, k] = value
            for i in range(side):
                left[n, k, i] = row[side + i]
                right[n, k, i] = row[side + i] if symmetric else row[i] / (value if value > 0.0 else 1.0)
    return values, left, right


@compiled
def orthogonalise(rows: Array, values: Array, symmetric: bool) -> None:
    """Rotate the rows (n, m, w) of n matrices A, their first m columns, in place; the other columns turn along.

    symmetric: w = 2 m, and (A, I) becomes (V A, V) with the eigenvectors as rows of V; values (n, m) become the
    eigenvalues. Else the rows of A become orthogonal, the identity beside them U^T of A = U S V^T, and the values the
    squared lengths. A NaN makes all values NaN. Eight matrices are done at a time, the last alone: bits are the same.
    """
    count, side, width = rows.shape
    group, results = np.empty((side, width, WIDTH)), np.empty((side, WIDTH))
    for first in range(0, count, WIDTH):
        if first == count - 1:
            _rotate(rows[first], values[first], symmetric, 1.0, 1)
            return
        for lane in range(WIDTH):  # the last one again, where there are no eight
            matrix = rows[min(first + lane, count - 1)]
            for i in range(side):
                for k in range(width):
                    group[i, k, lane] = matrix[i, k]
        _rotate(group, results, symmetric, spread(1.0), WIDTH)
        for lane in range(min(WIDTH, count - first)):
            for i in range(side):
                values[first + lane, i] = results[i, lane]
                for k in range(width):
                    rows[first + lane, i, k] = group[i, k, lane]


@inlined
def _rotate(rows: Array, values: Array, symmetric: bool, one: Any, lanes: int) -> None:
    """`orthogonalise` of one matrix, (m, w) and (m,), or of eight side by side, (m, w, 8) and (m, 8).

    one: the number 1, or eight of them; lanes: 1 or 8.
    """
    side, length, square = len(rows), rows.shape[1] * lanes, len(rows) * lanes
    begun = square if symmetric else 0  # V A V^T is (V A) times V, and the squares are A times A
    zero = one - one
    whole = zero
    for p in range(side):
        whole = whole + _inner(rows, p * length, p * length, square, one, lanes)
    active = one
    for _ in range(SWEEPS):
        for p in range(side):
            value = _inner(rows, p * length + begun, p * length, square, one, lanes)
            store(values, p * lanes, value + (whole - whole))
        if not any_less(zero, active):
            break
        turned = zero
        for p in range(side - 1):
            for q in range(p + 1, side):
                low, high = take(values, p * lanes, one), take(values, q * lanes, one)
                both = _inner(rows, p * length + begun, q * length, square, one, lanes)
                met, size = both * both, whole if symmetric else low * high
                limit = where_less(zero, active, NOTHING * size, np.inf)
                if not any_less(limit, met):
                    continue
                apart, double = high - low, both + both
                root = roots(apart * apart + double * double)
                steep = double / (apart + where_less(apart, zero, zero - root, root))
                tangent = where_less(limit, met, steep, zero)
                cosine = one / roots(one + tangent * tangent)
                sine = tangent * cosine
                store(values, p * lanes, low - tangent * both)
                store(values, q * lanes, high + tangent * both)
                least = where_less(CLOSE, tangent * tangent, ROUNDING, CLOSE * one)
                turned = where_less(least * size, met, one, turned)
                shift = (q - p) * length
                for k in range(p * length, (p + 1) * length, lanes):
                    upper, lower = take(rows, k, one), take(rows, k + shift, one)
                    store(rows, k, cosine * upper - sine * lower)
                    store(rows, k + shift, sine * upper + cosine * lower)
        active = active * turned


@inlined
def _inner(rows: Array, p: int, q: int, count: int, one: Any, lanes: int) -> Any:
    """Inner product of the numbers from indices p and q on, in the order of `sums.dot`; of eight matrices too."""
    whole = count // (8 * lanes) * (8 * lanes)
    a = b = c = d = e = f = g = h = one - one
    for k in range(0, whole, 8 * lanes):
        a = a + take(rows, p + k, one) * take(rows, q + k, one)
        b = b + take(rows, p + k + lanes, one) * take(rows, q + k + lanes, one)
        c = c + take(rows, p + k + 2 * lanes, one) * take(rows, q + k + 2 * lanes, one)
        d = d + take(rows, p + k + 3 * lanes, one) * take(rows, q + k + 3 * lanes, one)
        e = e + take(rows, p + k + 4 * lanes, one) * take(rows, q + k + 4 * lanes, one)
        f = f + take(rows, p + k + 5 * lanes, one) * take(rows, q + k + 5 * lanes, one)
        g = g + take(rows, p + k + 6 * lanes, one) * take(rows, q + k + 6 * lanes, one)
        h = h + take(rows, p + k + 7 * lanes, one) * take(rows, q + k + 7 * lanes, one)
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for k in range(whole, count, lanes):
        total = total + take(rows, p + k, one) * take(rows, q + k, one)
    return total


@compiled
def orthogonal_to(rows: Array) -> Array:
    """Orthonormal columns (d, d - k) orthogonal to independent rows (k, d); k = 0 columns where rows depend.

    The last columns of H_1 ... H_k, where H_i maps the rest of row i to a multiple of e_i. A singular value
    decomposition would give another basis of the same space on another processor, where rounding decides the sign of a
    reflection; then random directions differ, and not by rounding only.
    """
    count, dimension = rows.shape
    rest = rows.copy()
    mirrors = np.zeros((count, dimension))
    for i in range(count):
        square = whole = 0.0
        for j in range(dimension):
            whole += rows[i, j] * rows[i, j]
            square += rest[i, j] * rest[i, j] if j >= i else 0.0
        if square <= INDEPENDENT * INDEPENDENT * whole:
            return np.zeros((dimension, 0))
        length = np.sqrt(square)
        pivot = rest[i, i] if abs(rest[i, i]) > INDEPENDENT * length else 0.0  # a sign that rounding may not decide
        for j in range(i + 1, dimension):
            mirrors[i, j] = rest[i, j]
        mirrors[i, i] = pivot + np.copysign(length, pivot)
        for row in range(i + 1, count):
            _reflect(mirrors[i], rest[row])
    basis = np.zeros((dimension - count, dimension))
    for k in range(dimension - count):
        basis[k, count + k] = 1.0
        for i in range(count - 1, -1, -1):
            _reflect(mirrors[i], basis[k])
    return basis.T.copy()


@compiled
def _reflect(mirror: Array, vector: Array) -> None:
    square = along = 0.0
    for j in range(len(mirror)):
        square += mirror[j] * mirror[j]
        along += mirror[j] * vector[j]
    for j in range(len(mirror)):
        vector[j] -= 2.0 * along / square * mirror[j]

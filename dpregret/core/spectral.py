"""Eigenvalues and singular values of small matrices by Jacobi's rotations, in one fixed order.

LAPACK's last bits, and where values are equal its vectors, depend on the processor. These do not; each rotation is as
exact as rounding allows (Demmel & Veselic 1992). Meant for sides up to some dozens: the cost grows like the cube.
"""

import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled, fused
from dpregret.core.spectral_lanes import SWEEPS, diagonalise_all
from dpregret.core.sums import dot


def symmetric(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues (..., m) from the smallest on, and eigenvectors (..., m, m) as columns, of symmetric matrices."""
    side = matrices.shape[-1]
    rows = np.array(matrices, dtype=np.float64, order="C").reshape(-1, side, side)
    values, bases = np.empty(rows.shape[:2]), np.empty(rows.shape)
    if len(rows) > 1:
        diagonalise_all(rows, bases, values)
    else:
        for matrix, basis, own in zip(rows, bases, values, strict=True):
            diagonalise(matrix, basis, own)
    order = np.argsort(values, axis=-1, kind="stable")
    values = np.take_along_axis(values, order, axis=-1).reshape(matrices.shape[:-1])
    vectors = np.take_along_axis(bases, order[..., None], axis=-2).reshape(matrices.shape)
    return values, vectors.swapaxes(-1, -2)


def singular(matrices: Array) -> tuple[Array, Array, Array]:
    """U (..., m, m), singular values (..., m) from the largest on, V^T (..., m, m) of square matrices.

    A row of V^T that belongs to the value 0 is zero; U is orthogonal always.
    """
    side = matrices.shape[-1]
    rows = np.array(matrices, dtype=np.float64, order="C").reshape(-1, side, side)
    values, bases = np.empty(rows.shape[:2]), np.empty(rows.shape)
    _singular(rows, bases, values)
    order = np.argsort(-values, axis=-1, kind="stable")
    values = np.take_along_axis(values, order, axis=-1).reshape(matrices.shape[:-1])
    left, right = (
        np.take_along_axis(each, order[..., None], axis=-2).reshape(matrices.shape) for each in (bases, rows)
    )
    return left.swapaxes(-1, -2), values, right


def composed(left: Array, values: Array, right: Array) -> Array:
    """left diag(values) right, (..., m, m): one value after the other, each product added with one rounding."""
    side = values.shape[-1]
    columns, rows = (np.ascontiguousarray(each).reshape(-1, side, side) for each in (left.swapaxes(-1, -2), right))
    found = np.zeros(rows.shape)
    _compose(columns, np.ascontiguousarray(values).reshape(-1, side), rows, found)
    return found.reshape(right.shape)


@compiled
def rotation(one: float, both: float, other: float) -> tuple[float, float, float]:
    """Jacobi's rotation (tangent, cosine, sine) that diagonalises the matrix ((one, both), (both, other))."""
    ratio = 0.5 * (other - one) / both
    tangent = np.copysign(1.0, ratio) / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    return tangent, cosine, tangent * cosine


@compiled
def _turn(rows: Array, p: int, q: int, cosine: float, sine: float) -> None:
    """Rotate two rows."""
    low, high = rows[p], rows[q]
    for k in range(len(low)):
        one, other = low[k], high[k]
        low[k] = cosine * one - sine * other
        high[k] = sine * one + cosine * other


@compiled
def _identity(basis: Array) -> None:
    basis[:] = 0.0
    for k in range(len(basis)):
        basis[k, k] = 1.0


@compiled
def diagonalise(images: Array, basis: Array, values: Array) -> None:
    """Cyclic Jacobi on a symmetric matrix A (m, m): its eigenvectors become rows of the basis (m, m).

    images: A; row k becomes A times row k of the basis, so that whole rows turn and nothing else. values: (m,), in
    the order of the rows.
    """
    side, size = len(images), 0.0
    _identity(basis)
    for k in range(side):
        values[k] = images[k, k]
        size += dot(images[k], images[k])
    for _ in range(SWEEPS):
        off = 0.0
        for p in range(side - 1):
            for q in range(p + 1, side):
                both = dot(basis[p], images[q])
                off += both * both
                if both * both <= 1e-34 * size:
                    continue
                tangent, cosine, sine = rotation(values[p], both, values[q])
                values[p] -= tangent * both
                values[q] += tangent * both
                _turn(images, p, q, cosine, sine)
                _turn(basis, p, q, cosine, sine)
        if off <= 1e-20 * size:  # what a sweep leaves is the square of what it found
            break


@compiled
def orthogonalise(rows: Array, basis: Array, squares: Array) -> None:
    """One-sided Jacobi: rows (m, n) turn until they are orthogonal; the basis (m, m) collects the rotations.

    squares: squared lengths (m,) of the rows, at the end. Where the basis is not needed, `geometry.singular` takes
    eight matrices at a time.
    """
    side = len(rows)
    _identity(basis)
    for _ in range(SWEEPS):
        turned = False
        for p in range(side):
            squares[p] = dot(rows[p], rows[p])
        for p in range(side - 1):
            for q in range(p + 1, side):
                both = dot(rows[p], rows[q])
                if both == 0.0 or both * both <= 1e-32 * squares[p] * squares[q]:
                    continue
                turned = True
                tangent, cosine, sine = rotation(squares[p], both, squares[q])
                squares[p] -= tangent * both
                squares[q] += tangent * both
                _turn(rows, p, q, cosine, sine)
                _turn(basis, p, q, cosine, sine)
        if not turned:
            break


@compiled
def _singular(matrices: Array, bases: Array, values: Array) -> None:
    for n in range(len(matrices)):
        rows = matrices[n]
        orthogonalise(rows, bases[n], values[n])
        for p in range(len(rows)):
            values[n, p] = np.sqrt(max(values[n, p], 0.0))
            if values[n, p] > 0.0:
                for k in range(len(rows)):
                    rows[p, k] /= values[n, p]


@compiled
def _compose(columns: Array, values: Array, rows: Array, found: Array) -> None:
    for n in range(len(found)):
        for k in range(values.shape[1]):
            for i in range(values.shape[1]):
                share = columns[n, k, i] * values[n, k]
                for j in range(values.shape[1]):
                    found[n, i, j] = fused(share, rows[n, k, j], found[n, i, j])

"""Directions orthogonal to given rows, by Householder reflections in a fixed order.

A singular value decomposition would give another basis of the same space on another processor, where rounding decides
the sign of a reflection; then random directions differ, and not by rounding only.
"""

import numpy as np

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled

INDEPENDENT = 1e-10  # what must be left of a row, relative to it, beyond the rows before


@compiled
def orthogonal_to(rows: Array) -> Array:
    """Orthonormal columns (d, d - k) orthogonal to independent rows (k, d); k = 0 columns where rows depend.

    The last columns of H_1 ... H_k, where H_i turns what is left of row i into a multiple of e_i.
    """
    count, dimension = rows.shape
    left = rows.copy()
    mirrors = np.zeros((count, dimension))
    for i in range(count):
        square = whole = 0.0
        for j in range(dimension):
            whole += rows[i, j] * rows[i, j]
            square += left[i, j] * left[i, j] if j >= i else 0.0
        if square <= INDEPENDENT * INDEPENDENT * whole:
            return np.zeros((dimension, 0))
        length = np.sqrt(square)
        pivot = left[i, i] if abs(left[i, i]) > INDEPENDENT * length else 0.0  # a sign that rounding may not decide
        for j in range(i + 1, dimension):
            mirrors[i, j] = left[i, j]
        mirrors[i, i] = pivot + np.copysign(length, pivot)
        for other in range(i + 1, count):
            _reflect(mirrors[i], left[other])
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

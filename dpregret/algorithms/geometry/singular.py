"""Matrices whose singular values are changed, by one-sided Jacobi in a fixed order.

LAPACK's last bits depend on the processor. Here rows are rotated in pairs until they are orthogonal (Hestenes 1958):
B = U' A, whose rows are s_i v_i. Then U f(S) V' = A sum_i f_i / s_i v_i v_i'; U itself is not needed.
"""

import math

import numpy as np

from dpregret.algorithms.geometry.l1_ball import L1BallData
from dpregret.algorithms.geometry.powers import keep_powers
from dpregret.core.oracles import SCRATCH, project
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.elementary import power_of
from dpregret.numerics.jacobi import orthogonalise
from dpregret.numerics.sums import add_product, dot


def onto_ball(points: Array, radius: float) -> Array:
    """Project m x m matrices, (..., m * m), onto the nuclear-norm ball; what lies inside comes back unchanged."""
    matrices = _matrices(points)
    moved = matrices.copy()
    _onto_ball(matrices, radius, matrices.copy(), moved)
    return moved.reshape(points.shape)


def spectral_step(duals: Array, radius: float, inverse: float) -> Array:
    """`SpectralPotential.step` from its dual matrices (..., m * m): states (..., 2 m * m), 1 / q given."""
    matrices = _matrices(duals)
    states = np.empty((len(matrices), 2, *matrices.shape[1:]))
    _spectral_step(matrices, radius, inverse, matrices.copy(), states)
    return states.reshape(*duals.shape[:-1], 2 * duals.shape[-1])


def _matrices(points: Array) -> Array:
    side = math.isqrt(points.shape[-1])
    return np.ascontiguousarray(points, dtype=np.float64).reshape(-1, side, side)


@compiled
def _onto_ball(matrices: Array, radius: float, rows: Array, moved: Array) -> None:
    """Write those of matrices (n, m, m) that move to `moved`; rows: a copy that is lost."""
    side = matrices.shape[1]
    scales, lengths, weights = _orthogonalise(rows), np.empty(side), np.empty((1, side))
    column, s = np.empty((side, 1)), np.empty((SCRATCH, 1))
    for each in range(len(matrices)):
        kept, norm = weights[0], 0.0
        _measure(rows[each], scales[each], lengths, kept)
        for i in range(side):
            norm += kept[i]
            column[i, 0] = kept[i]
        if norm > radius:
            project(L1BallData(radius), column, s)
            for i in range(side):
                kept[i] = column[i, 0]
            _recompose(matrices[each], rows[each], lengths, scales[each], weights, moved[each : each + 1])


@compiled
def _spectral_step(matrices: Array, radius: float, inverse: float, rows: Array, states: Array) -> None:
    side = matrices.shape[1]
    scales, lengths, values = _orthogonalise(rows), np.empty(side), np.empty(side)
    weights, work = np.empty((2, side)), np.empty((2, side))
    for each in range(len(matrices)):
        _measure(rows[each], scales[each], lengths, values)
        keep_powers(values, inverse, weights[0], work)
        for i in range(side):
            weights[1, i] = radius * power_of(weights[0, i], inverse)
        _recompose(matrices[each], rows[each], lengths, scales[each], weights, states[each])


@compiled
def _measure(rows: Array, scale: float, lengths: Array, values: Array) -> None:
    """Write the lengths (m,) of rows (m, m), and these times the scale."""
    for i in range(len(rows)):
        lengths[i] = np.sqrt(dot(rows[i], rows[i]))
        values[i] = lengths[i] * scale


@compiled
def _orthogonalise(matrices: Array) -> Array:
    """Rotate the rows of matrices (n, m, m) in place until they are orthogonal; no matrix depends on its neighbours.

    They are divided by scales, powers of two, which are returned: squares stay within the range of numbers.
    """
    scales = np.ones(len(matrices))
    for each in range(len(matrices)):
        largest = 0.0
        for row in matrices[each]:
            for number in row:
                largest = max(largest, abs(number))
        if 0.0 < largest < np.inf:
            scales[each] = math.ldexp(1.0, math.frexp(largest)[1] - 1)
            for row in matrices[each]:
                for k in range(len(row)):
                    row[k] /= scales[each]
    orthogonalise(matrices, np.empty(matrices.shape[:2]), False)
    return scales


@inlined
def _any_left(weights: Array) -> bool:
    left = False
    for weight in weights:
        left = left or weight > 0.0
    return left


@compiled
def _recompose(
    matrix: Array, rows: Array, lengths: Array, scale: float, changed: Array, found: Array
) -> None:  # fmt: skip
    """The matrix with other singular values, (n, m) -> (n, m, m), each at most a small multiple of the old one.

    rows: orthogonal, of the lengths given, which are the old singular values over the scale.
    """
    side, kept = len(lengths), 0
    for i in range(side):
        kept += _any_left(changed[:, i])
    columns, along, scaled = np.empty((side, kept)), np.zeros((side, kept)), np.empty((kept, side))
    for each in range(len(changed)):
        place = 0
        for i in range(side):
            if _any_left(changed[:, i]):
                weight = changed[each, i] / scale / (lengths[i] * lengths[i] * lengths[i])
                for k in range(side):
                    columns[k, place], scaled[place, k] = rows[i, k], weight * rows[i, k]
                place += 1
        if each == 0:
            add_product(matrix, columns, along)
        found[each] = 0.0
        add_product(along, scaled, found[each])

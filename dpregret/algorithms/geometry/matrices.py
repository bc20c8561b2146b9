"""Sets of m x m matrices; a point is the matrix row by row, a vector of length m * m.

LAPACK's last bits depend on the processor. Singular values are changed by one-sided Jacobi in a fixed order: rows are
rotated in pairs until they are orthogonal (Hestenes 1958), B = U' A, whose rows are s_i v_i. Then
U f(S) V' = A sum_i f_i / s_i v_i v_i'; U itself is not needed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.l1_ball import L1BallData
from dpregret.algorithms.geometry.set_kinds import NormBall, checked_dimension, data_from, reject_dimension
from dpregret.algorithms.geometry.simplex import Simplex
from dpregret.core.oracles import SCRATCH, project, vertex
from dpregret.core.sets import ConstraintSet, Oracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.orthogonal import composed, orthogonalise, singular, symmetric
from dpregret.numerics.sums import add_product, dot

ZERO = 1e-12
"""Singular values below this share of the largest one count as zero."""


def matrix_side(name: str, dimension: int, minimum: int) -> int:
    """Return m with m * m = dimension and m >= minimum; raises ValueError naming the nearest dimensions."""
    size = checked_dimension(name, dimension, minimum=minimum**2)
    side = math.isqrt(size)
    if side**2 != size:
        nearest = f"the nearest are {side**2} and {(side + 1) ** 2}"
        reject_dimension(name, dimension, f"m * m entries of an m x m matrix, m >= {minimum}; {nearest}")
    return side


def as_matrices(points: Array, side: int) -> Array:
    """View (..., m, m) of points (..., m * m)."""
    return points.reshape(*points.shape[:-1], side, side)


def listed(points: Array, side: int) -> Array:
    """Matrices (n, m, m) of points (..., m * m), without gaps."""
    return np.ascontiguousarray(points, dtype=np.float64).reshape(-1, side, side)


@inlined
def _decomposed(cost, side, symmetric):
    """`orthogonalise` of all columns (m * m, columns), or of their symmetric parts, beside identities."""
    columns = cost.shape[1]
    rows, values = np.zeros((columns, side, 2 * side)), np.empty((columns, side))
    for r in range(columns):
        for i in range(side):
            rows[r, i, side + i] = 1.0
            for j in range(side):
                entry, mirrored = cost[i * side + j, r], cost[j * side + i, r]
                rows[r, i, j] = 0.5 * (entry + mirrored) if symmetric else entry
    orthogonalise(rows, values, symmetric)
    return rows, values


class Nuclear(NamedTuple):
    """The nuclear-norm ball, for compiled rounds."""

    side: int
    radius: float


@vertex.add
def _vertex_nuclear(ball: Nuclear, cost, x, scratch):
    """-radius u v^T of the top singular pairs, all columns together; u = v = e_1 of a zero matrix."""
    side = ball.side
    rows, squares = _decomposed(cost, side, False)
    for r in range(cost.shape[1]):
        best = np.argmax(squares[r])
        zero, top = squares[r, best] <= 0.0, rows[r, best]
        scale = 0.0 if zero else -ball.radius / np.sqrt(squares[r, best])
        for i in range(side):
            for j in range(side):
                x[i * side + j, r] = scale * top[side + i] * top[j]
        if zero:
            x[0, r] = -ball.radius


class NuclearBall(NormBall):
    """{X : sum of singular values <= radius}, the hull of the matrices radius u v^T with unit u, v."""

    name = "nuclear"
    title = "nuclear-norm ball"
    reference_limit = 64
    reference_tolerance = 1e-8
    data = data_from(Nuclear)

    def __init__(self, dimension: int, *, radius: float = 1.0):
        self.side = matrix_side(self.name, dimension, 1)
        super().__init__(self.side**2, radius)

    def norm(self, points: Array) -> Array:
        """Sum of the singular values."""
        return np.asarray(singular(as_matrices(points, self.side))[1].sum(axis=-1))

    def project(self, points: Array) -> Array:
        """Project the singular values onto the l1 ball; points inside come back unchanged."""
        matrices = listed(points, self.side)
        moved = matrices.copy()
        _onto_ball(matrices, self.radius, matrices.copy(), moved)
        return moved.reshape(points.shape)

    def norm_gradient(self, points: Array) -> Array:
        """U V^T of a singular value decomposition, over the singular values that are not zero."""
        left, values, right = singular(as_matrices(points, self.side))
        positive = (values > ZERO * values[..., :1]) & (values > 0.0)
        return composed(left, np.where(positive, 1.0, 0.0), right).reshape(points.shape)

    def inner_radius(self) -> float:
        """radius / sqrt(m), exact: the nuclear norm is at most sqrt(m) times the Frobenius norm."""
        return self.radius / math.sqrt(self.side)

    def cvxpy_norm(self, variable: Any) -> Any:
        """Nuclear norm of the matrix."""
        import cvxpy

        return cvxpy.normNuc(cvxpy.reshape(variable, (self.side, self.side), order="C"))


@compiled
def _onto_ball(matrices: Array, radius: float, rows: Array, moved: Array) -> None:
    """Write projections of matrices (n, m, m) outside the ball to `moved`; rows: a copy that is overwritten."""
    side = matrices.shape[1]
    scales, lengths, weights = orthogonal_rows(rows), np.empty(side), np.empty((1, side))
    column, scratch = np.empty((side, 1)), np.empty((SCRATCH, 1))
    for n in range(len(matrices)):
        values, norm = weights[0], 0.0
        measure(rows[n], scales[n], lengths, values)
        for i in range(side):
            norm += values[i]
            column[i, 0] = values[i]
        if norm > radius:
            project(L1BallData(radius), column, scratch)
            for i in range(side):
                values[i] = column[i, 0]
            recompose(matrices[n], rows[n], lengths, scales[n], weights, moved[n : n + 1])


@compiled
def measure(rows: Array, scale: float, lengths: Array, values: Array) -> None:
    """Write the lengths (m,) of rows (m, m), and these times the scale."""
    for i in range(len(rows)):
        lengths[i] = np.sqrt(dot(rows[i], rows[i]))
        values[i] = lengths[i] * scale


@compiled
def orthogonal_rows(matrices: Array) -> Array:
    """Rotate the rows of matrices (n, m, m) in place until they are orthogonal; no matrix depends on its neighbours.

    They are divided by scales, powers of two, which are returned: squares stay within the range of numbers.
    """
    scales = np.ones(len(matrices))
    for n in range(len(matrices)):
        largest = 0.0
        for row in matrices[n]:
            for number in row:
                largest = max(largest, abs(number))
        if 0.0 < largest < np.inf:
            scales[n] = math.ldexp(1.0, math.frexp(largest)[1] - 1)
            for row in matrices[n]:
                for k in range(len(row)):
                    row[k] /= scales[n]
    orthogonalise(matrices, np.empty(matrices.shape[:2]), False)
    return scales


@compiled
def recompose(matrix: Array, rows: Array, lengths: Array, scale: float, changed: Array, out: Array) -> None:
    """The matrix with other singular values, (n, m) -> (n, m, m), each at most a small multiple of the old one.

    rows: orthogonal, with these lengths, which are the old singular values over the scale.
    """
    side, count = len(lengths), 0
    indices = np.empty(side, np.int64)  # rows with a positive value in any matrix
    for i in range(side):
        indices[count] = i
        count += changed[:, i].max() > 0.0
    columns, along, scaled = np.empty((side, count)), np.zeros((side, count)), np.empty((count, side))
    for n in range(len(changed)):
        for c in range(count):
            i = indices[c]
            weight = changed[n, i] / scale / (lengths[i] * lengths[i] * lengths[i])
            for k in range(side):
                columns[k, c], scaled[c, k] = rows[i, k], weight * rows[i, k]
        if n == 0:
            add_product(matrix, columns, along)
        out[n] = 0.0
        add_product(along, scaled, out[n])


class Projectors(NamedTuple):
    """The spectrahedron, for compiled rounds."""

    side: int


@vertex.add
def _vertex_projectors(domain: Projectors, cost, x, scratch):
    """v v^T, v the bottom eigenvectors of the symmetric parts, all columns together."""
    side = domain.side
    rows, values = _decomposed(cost, side, True)
    for r in range(cost.shape[1]):
        bottom = rows[r, np.argmin(values[r])]
        for i in range(side):
            for j in range(side):
                x[i * side + j, r] = bottom[side + i] * bottom[side + j]


class Spectrahedron(ConstraintSet):
    """{X symmetric, positive semidefinite, trace X = 1}, m >= 2; extreme points v v^T, center I / m."""

    name = "spectrahedron"
    reference_limit = 64
    data = data_from(Projectors)

    def __init__(self, dimension: int):
        self.side = matrix_side(self.name, dimension, 2)
        self.dimension = self.side**2
        self.diameter = float(np.sqrt(2.0))
        self._eigenvalues = Simplex(self.side)

    def center(self) -> Array:
        """I / m, as a vector (m * m,)."""
        return np.diag(self._eigenvalues.center()).ravel()

    def target(self) -> Array:
        """Diagonal, uniform on the first max(2, m // 4) entries; (3/4, 1/4) for m = 2, where that is the center."""
        return np.diag(self._eigenvalues.target()).ravel()

    def max_distance_from(self, point: Array) -> float:
        """sqrt(1 + |Y|_F^2 - 2 lambda_min(symmetric part of Y)), exact."""
        smallest = float(symmetric(self._symmetric(point))[0][0])
        return float(np.sqrt(max(1.0 + float(point @ point) - 2.0 * smallest, 0.0)))

    def project(self, points: Array) -> Array:
        """Project the eigenvalues of the symmetric part onto the simplex."""
        values, vectors = symmetric(self._symmetric(points))
        matrix = composed(vectors, self._eigenvalues.project(values), vectors.swapaxes(-1, -2))
        nearest = self._symmetric(matrix.reshape(points.shape))
        return nearest.reshape(points.shape)

    def violation(self, points: Array) -> Array:
        """max(0, largest |X_ij - X_ji| / 2, -lambda_min, |trace - 1|)."""
        matrices, mirrored = as_matrices(points, self.side), self._symmetric(points)
        skew = np.abs(matrices - mirrored).max(axis=(-1, -2))
        negative = np.maximum(-symmetric(mirrored)[0][..., 0], 0.0)
        return np.maximum(np.maximum(skew, negative), np.abs(np.linalg.trace(matrices) - 1.0))

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """X = X^T, X positive semidefinite, trace X = 1."""
        import cvxpy

        matrix = cvxpy.reshape(variable, (self.side, self.side), order="C")
        return [matrix == matrix.T, matrix >> 0, cvxpy.trace(matrix) == 1]

    def equalities(self) -> Array:
        """X_ij - X_ji for i < j, and the trace."""
        upper, lower = np.triu_indices(self.side, 1)
        rows = np.zeros((len(upper) + 1, self.side, self.side))
        rows[np.arange(len(upper)), upper, lower] = 1.0
        rows[np.arange(len(upper)), lower, upper] = -1.0
        rows[-1] = np.eye(self.side)
        return rows.reshape(len(rows), self.dimension)

    def gauge(self) -> Oracle:
        """m times minus the smallest eigenvalue of W; the subgradient is I - m v v^T, v the bottom eigenvector."""
        return lambda offsets: np.eye(self.side).ravel() - self.side * self.linear_oracle(offsets)

    def along_hull(self, vectors: Array) -> Array:
        """The symmetric part without its trace."""
        symmetric = self._symmetric(vectors)
        traces = np.trace(symmetric, axis1=-2, axis2=-1)[..., None, None]
        within: Array = symmetric - traces * np.eye(self.side) / self.side
        return within.reshape(vectors.shape)

    def inner_radius(self) -> float:
        """1 / sqrt(m (m - 1)), exact: the smallest eigenvalue falls fastest along I/m - v v^T."""
        return 1 / math.sqrt(self.side * (self.side - 1))

    def _symmetric(self, points: Array) -> Array:
        """(X + X^T) / 2, (..., m * m) -> (..., m, m)."""
        matrices = as_matrices(points, self.side)
        return 0.5 * (matrices + np.swapaxes(matrices, -1, -2))

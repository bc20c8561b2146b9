"""Polytopes given by their vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpregret.algorithms.geometry.set_kinds import FacetGauge, checked_dimension, reject_dimension
from dpregret.core.sets import ConstraintSet, Oracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import product

CHUNK_ENTRIES = 1 << 20
SEED = 20150  # of the signs
SHARES = (1.0, 100.0, 0.1, 10.0)
"""Tried one after the other: where vertices tie, nonnegative least squares may stop early, and says nothing."""
ROUNDING = 1e-14
"""Largest max_v <y - p, v - p> of a projection p, as a share of the squared distance to the farthest vertex."""


class VertexPolytope(ConstraintSet):
    """Convex hull of `vertices` (k, d), at least two; by default the d + 1 of a regular simplex on the unit sphere.

    There is no local oracle: its constants depend on facets, which are known of the default vertices only.
    """

    name = "polytope"
    closed_form_projection = False

    def __init__(self, dimension: int, *, vertices: ArrayLike | None = None):
        self.dimension = checked_dimension(self.name, dimension)
        self.vertices = regular_simplex(self.dimension) if vertices is None else np.array(vertices, dtype=float)
        if self.vertices.ndim != 2 or self.vertices.shape[1] < 1:
            raise ValueError(
                f"vertices of the set {self.name!r} must have shape (k, dimension), not {self.vertices.shape}"
            )
        if self.vertices.shape[1] != self.dimension:
            allowed = f"the length of the vertices given, {self.vertices.shape[1]}"
            reject_dimension(self.name, dimension, allowed)
        if not np.isfinite(self.vertices).all():
            raise ValueError(f"vertices of the set {self.name!r} must be finite")
        if len(np.unique(self.vertices, axis=0)) != len(self.vertices) or len(self.vertices) < 2:
            raise ValueError(f"vertices of the set {self.name!r} must be two or more different points")
        self.diameter = self._diameter()
        self._regular = vertices is None

    def _diameter(self) -> float:
        from scipy.spatial.distance import cdist

        rows = max(1, CHUNK_ENTRIES // len(self.vertices))
        starts = range(0, len(self.vertices), rows)
        return max(float(cdist(self.vertices[start : start + rows], self.vertices).max()) for start in starts)

    def center(self) -> Array:
        """The mean of the vertices (d,)."""
        return self.vertices.mean(axis=0)

    def target(self) -> Array:
        """Half-way from the center to the vertex farthest from it (d,)."""
        center = self.center()
        farthest = np.argmax(np.linalg.norm(self.vertices - center, axis=-1))
        return 0.5 * (center + self.vertices[farthest])

    def max_distance_from(self, point: Array) -> float:
        """Distance to the farthest vertex, exact."""
        return float(np.linalg.norm(self.vertices - point, axis=-1).max())

    def linear_oracle(self, cost: Array) -> Array:
        """The first vertex of smallest cost, by enumeration."""
        best = np.argmin(product(cost, self.vertices.T), axis=-1)
        return self.vertices[best]

    def project(self, points: Array) -> Array:
        """By nonnegative least squares, row by row, in about 0.1 milliseconds, by an active-set method.

        Accurate to rounding of squared distances: about 1e-15 s^2 for a point s diameters away.

        min |U^T w|^2 + (sum w - 1)^2 over w >= 0, with rows U = vertices - y, is attained at a multiple of the
        weights of the nearest point: with w = s v, sum v = 1 and the best s it is f / (1 + f), f = |U^T v|^2.
        """
        rows = points.reshape(-1, self.dimension)
        return np.array([self._project_row(row) for row in rows]).reshape(points.shape)

    def _project_row(self, point: Array) -> Array:
        from scipy.optimize import nnls

        differences = self.vertices - point
        scale = float(np.abs(differences).max())
        candidates = []
        for share in SHARES:  # of the sum in the squares
            system = np.vstack([differences.T / scale, np.full(len(differences), share)])
            weights, _ = nnls(system, np.append(np.zeros(self.dimension), share))
            nearest = product(weights / weights.sum(), self.vertices)
            gap = float((product(point - nearest, self.vertices.T) - np.vecdot(point - nearest, nearest)).max())
            candidates.append((gap, tuple(nearest)))
            if gap <= ROUNDING * scale**2:
                break
        return np.array(min(candidates)[1])

    def gauge(self) -> Oracle:
        """Of the default vertices, whose facets are <-v_i, x> <= 1/d. Raises UnsupportedSet for others."""
        if not self._regular:
            return super().gauge()
        return FacetGauge(-self.vertices, np.full(len(self.vertices), self.inner_radius()))

    def inner_radius(self) -> float:
        """1/d of the default vertices, exact. Raises UnsupportedSet for others."""
        return 1.0 / self.dimension if self._regular else super().inner_radius()

    def violation(self, points: Array) -> Array:
        """Distance to the polytope, by projection."""
        return np.linalg.norm(points - self.project(points), axis=-1)

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """Convex weights on the vertices, as a further variable."""
        import cvxpy

        weights = cvxpy.Variable(len(self.vertices), nonneg=True)
        return [self.vertices.T @ weights == variable, cvxpy.sum(weights) == 1]


def regular_simplex(dimension: int) -> Array:
    """Vertices (d + 1, d) of a regular simplex on the unit sphere: <v_i, v_j> = -1/d for i != j."""
    size = float(dimension)
    vertices = np.sqrt(1.0 + 1.0 / size) * np.eye(dimension) - (np.sqrt(size + 1.0) + 1.0) / size**1.5
    return np.vstack([vertices, np.full(dimension, 1.0 / np.sqrt(size))])


class SignPolytope(VertexPolytope):
    """Convex hull of k = `corners` unit vectors +-s_i, s_i signs over sqrt(d) drawn by a fixed seed, all different.

    The number of corners and the dimension are chosen apart: for k <= 2^d even. Symmetric, of radius 1; its Gaussian
    width is about sqrt(2 ln k) as long as that is well below sqrt(d). The corners of a smaller k are among those of a
    larger one. By default k is 4 d, or 2^d where that is less.
    """

    name = "sign-polytope"
    title = "polytope of sign vectors"

    def __init__(self, dimension: int, *, corners: int | None = None):
        size = checked_dimension(self.name, dimension)
        most = 2 ** min(size, 40)
        count = min(4 * size, most) if corners is None else corners
        if not (isinstance(count, int) and 2 <= count <= most and count % 2 == 0):
            raise ValueError(f"corners of the set {self.name!r} must be an even number of 2..{most}, not {corners!r}")
        half = _different_signs(size, count // 2) / np.sqrt(size)
        super().__init__(size, vertices=np.concatenate([half, -half]))

    def _diameter(self) -> float:
        return 2.0

    def center(self) -> Array:
        """The origin (d,)."""
        return np.zeros(self.dimension)


def _different_signs(dimension: int, count: int) -> Array:
    """Sign vectors (count, dimension), no two equal or opposite: the first sign is +, the others are drawn."""
    generator, distinct = np.random.default_rng(SEED), dict[bytes, Array]()
    while len(distinct) < count:
        signs: Array = 1.0 - 2.0 * generator.integers(0, 2, size=dimension).astype(np.float64)
        signs[0] = 1.0
        distinct.setdefault(signs.tobytes(), signs)
    return np.stack(list(distinct.values()))

"""What sets share: checks of what they are made of, one sum of coordinates, balls of norms, projections by a solver,
and gauges (Minkowski functionals).

The gauge gamma(w) is the least s >= 0 for which center + w/s lies in the set, w a direction within its affine hull. An
oracle answers with a subgradient nu of gamma at w, within the hull: <nu, w> = gamma(w), so that one answer says both,
and <nu, z> <= gamma(z) <= 1 for every center + z of the set. |nu| <= 1/r where the set holds the ball of radius r.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from dpregret.core.sets import ConstraintSet, Oracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.sums import product, vecdot

if TYPE_CHECKING:
    from dpregret.algorithms.geometry.reference import ReferenceProjection

FEW = 256  # dimensions in which the normals of all facets are kept
PROJECTION_TOLERANCES: dict[str, Any] = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-10}
"""Of CLARABEL: as tight as a quadratic programme over a polytope bears."""


def checked_dimension(name: str, dimension: SupportsIndex, minimum: int = 1) -> int:
    """Return the dimension as an int; raises ValueError, naming what is allowed, where it is too small."""
    try:
        size = operator.index(dimension)
    except TypeError:
        reject_dimension(name, dimension, f"an integer, at least {minimum}")
    if isinstance(dimension, bool) or size < minimum:
        reject_dimension(name, dimension, f"an integer, at least {minimum}; the nearest is {minimum}")
    return size


def reject_dimension(name: str, dimension: object, allowed: str) -> NoReturn:
    """Raise the ValueError of an impossible dimension."""
    raise ValueError(f"dimension {dimension!r} is impossible for the set {name!r}; allowed: {allowed}")


def reach_of_binary(linear_oracle_value: float, point: Array) -> float:
    """Reach of a polytope with 0/1 vertices: |v - y|^2 = |y|^2 - <2 y - 1, v> is linear in a vertex v.

    linear_oracle_value is min_v <2 point - 1, v>; a convex function is largest at a vertex, so this is exact.
    """
    return float(np.sqrt(max(float(point @ point) - linear_oracle_value, 0.0)))


class FixedSum(ConstraintSet):
    """A set whose points have one sum of coordinates, and no other equality."""

    def equalities(self) -> Array:
        """A row of ones."""
        return np.ones((1, self.dimension))

    def along_hull(self, vectors: Array) -> Array:
        """Without their mean."""
        return vectors - vectors.mean(axis=-1, keepdims=True)


class SolvedProjection(ConstraintSet):
    """A set whose projection has no closed form."""

    closed_form_projection = False

    @cached_property
    def _reference(self) -> ReferenceProjection:
        from dpregret.algorithms.geometry.reference import ReferenceProjection

        return ReferenceProjection(self, **PROJECTION_TOLERANCES)

    def project(self, points: Array) -> Array:
        """Slow: one quadratic programme a row through cvxpy, about a millisecond (10 microseconds in closed form).

        The accuracy is the solver's: about 1e-9 in a coordinate, up to 1e-5 for points on the boundary. This call is
        what projection-free methods avoid.
        """
        return self._reference.project(points)


class NormBall(ConstraintSet):
    """{x : norm(x) <= radius} for a norm with norm(x) >= |x|_2 and norm(e_1) = 1.

    Hence the diameter is 2 radius. Center 0, target (radius / 2) e_1.
    """

    def __init__(self, dimension: int, radius: float):
        self.dimension = dimension
        if not (radius > 0 and np.isfinite(radius)):
            raise ValueError(f"radius of the set {self.name!r} must be positive and finite, not {radius!r}")
        self.radius = float(radius)
        self.diameter = 2.0 * self.radius

    @abstractmethod
    def norm(self, points: Array) -> Array:
        """The norm, (..., d) -> (...,)."""

    @abstractmethod
    def norm_gradient(self, points: Array) -> Array:
        """A subgradient of the norm, (..., d) -> (..., d); zero at the origin."""

    @abstractmethod
    def cvxpy_norm(self, variable: Any) -> Any:
        """Return the norm of a cvxpy variable (d,) as an expression."""

    def gauge(self) -> Oracle:
        """The norm over the radius."""
        return lambda offsets: self.norm_gradient(offsets) / self.radius

    def center(self) -> Array:
        """The origin (d,)."""
        return np.zeros(self.dimension)

    def target(self) -> Array:
        """(radius / 2) e_1, an interior point (d,)."""
        point = np.zeros(self.dimension)
        point[0] = 0.5 * self.radius
        return point

    def reach(self, point: Array) -> float:
        """sqrt(|y|^2 + R^2 + 2 max_{x in C} <x, y>), exact where all extreme points have |x|_2 = R."""
        support = max(float(vecdot(point, self.linear_oracle(-point))), 0.0)
        return float(np.sqrt(point @ point + self.radius**2 + 2.0 * support))

    def violation(self, points: Array) -> Array:
        """max(norm(x) - radius, 0)."""
        return np.maximum(self.norm(points) - self.radius, 0.0)

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """One norm constraint."""
        return [self.cvxpy_norm(variable) <= self.radius]


class CoordinateGauge:
    """Of {-below_i <= w_i <= above_i}, with infinities where there is no bound.

    along: what takes a vector to its part within the hull. Of equal facets the first one, lower bounds before upper.
    """

    def __init__(self, below: Array, above: Array, along: Oracle):
        self.below, self.above, self.along = below, above, along

    def __call__(self, offsets: Array) -> Array:
        """+-e_i over its bound, i the coordinate that is farthest out, within the hull."""
        dimension = len(self.below)
        facets = _farthest(np.ascontiguousarray(offsets).reshape(-1, dimension), self.below, self.above)
        normals = self._normals[facets] if dimension <= FEW else self.along(self._across(facets))
        return normals.reshape(offsets.shape)

    def _across(self, facets: NDArray[np.int64]) -> Array:
        """+-e_i over its bound, (facets, d)."""
        rows, across = np.arange(len(facets)), np.zeros((len(facets), len(self.below)))
        across[rows, facets % len(self.below)] = np.concatenate([-1.0 / self.below, 1.0 / self.above])[facets]
        return across

    @cached_property
    def _normals(self) -> Array:
        """Of all facets, lower bounds before upper."""
        return self.along(self._across(np.arange(2 * len(self.below))))


@compiled
def _farthest(offsets: Array, below: Array, above: Array) -> NDArray[np.int64]:
    """The facet of each row (n, d) that it is farthest out at: i for the lower bound of coordinate i, or d + i."""
    facets = np.empty(len(offsets), dtype=np.int64)
    for row in range(len(offsets)):
        most, place = -np.inf, 0
        for i in range(len(below)):
            share = max(-offsets[row, i] / below[i], offsets[row, i] / above[i])
            if share > most:
                most, place = share, i
        facets[row] = place if offsets[row, place] < 0.0 else len(below) + place
    return facets


class FacetGauge:
    """Of listed facets {<a_i, w> <= b_i}, b > 0; the rows a_i (k, d) within the hull. The first of equal facets."""

    def __init__(self, rows: Array, bounds: Array):
        self.normals: Array = rows / bounds[:, None]

    def __call__(self, offsets: Array) -> Array:
        """a_i / b_i of the facet with the largest <a_i, w> / b_i."""
        return self.normals[np.argmax(product(offsets, self.normals.T), axis=-1)]

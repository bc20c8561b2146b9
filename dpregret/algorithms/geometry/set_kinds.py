"""What sets share: checks of their parameters, one sum of coordinates, balls of norms, projections by a solver,
gauges (Minkowski functionals), and counts of oracle calls.

The gauge gamma(w) is the least s >= 0 for which center + w/s lies in the set, w a direction within its affine hull. An
oracle answers with a subgradient nu of gamma at w, within the hull: <nu, w> = gamma(w), so that one answer says both,
and <nu, z> <= gamma(z) <= 1 for every center + z of the set. |nu| <= 1/r where the set holds the ball of radius r.
"""

from __future__ import annotations

import copy
import operator
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from dpregret.core.sets import ConstraintSet, LocalOracle, Oracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.sums import product, vecdot

if TYPE_CHECKING:
    from dpregret.algorithms.geometry.reference import ReferenceProjection

FEW = 256  # dimensions in which the normals of all facets are stored
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
        return vectors - vectors.sum(axis=-1, keepdims=True) / self.dimension


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

    def max_distance_from(self, point: Array) -> float:
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
        most, coordinate = -np.inf, 0
        for i in range(len(below)):
            share = max(-offsets[row, i] / below[i], offsets[row, i] / above[i])
            if share > most:
                most, coordinate = share, i
        facets[row] = coordinate if offsets[row, coordinate] < 0.0 else len(below) + coordinate
    return facets


class FacetGauge:
    """Of listed facets {<a_i, w> <= b_i}, b > 0; the rows a_i (k, d) within the hull. The first of equal facets."""

    def __init__(self, rows: Array, bounds: Array):
        self.normals: Array = rows / bounds[:, None]

    def __call__(self, offsets: Array) -> Array:
        """a_i / b_i of the facet with the largest <a_i, w> / b_i."""
        return self.normals[np.argmax(product(offsets, self.normals.T), axis=-1)]


@dataclass
class Tally:
    """Use of one oracle."""

    calls: int = 0
    rows: int = 0
    """Vectors served: the product of the leading axes, summed over calls."""
    seconds: float = 0.0
    """CPU seconds of this process."""

    def serve(self, oracle: Callable[..., Array], *arguments: Any) -> Array:
        """Call the oracle, count the vectors (..., k) that it returns and the CPU time that it takes."""
        start = time.process_time()
        answer = oracle(*arguments)
        self.seconds += time.process_time() - start
        self.calls += 1
        self.rows += answer.size // answer.shape[-1]
        return answer

    def add(self, rows: int, seconds: float) -> None:
        """Count what a compiled loop served in one go; its seconds are those of the whole loop."""
        self.calls += 1
        self.rows += rows
        self.seconds += seconds


def _of_inner(name: str) -> Any:
    """The attribute of the inner set with this name."""
    return property(operator.attrgetter(f"inner.{name}"))


class CountedSet(ConstraintSet):
    """Proxy of a set with a tally each for `project`, `linear_oracle`, the local oracle's `answer`, gauge, separation.

    Every other attribute is that of the set inside. What an oracle calls within itself is not counted again.
    """

    def __init__(self, inner: ConstraintSet):
        self.inner = inner
        self.projections = Tally()
        self.linear_oracles = Tally()
        self.local_oracles = Tally()
        self.gauges = Tally()
        self.separations = Tally()

    def calls(self) -> dict[str, int]:
        """Vectors served, by columns of a run; gauge and separation oracle where they were called."""
        return {f"{name}s": tally.rows for name, tally in self._named().items()}

    def seconds(self) -> dict[str, float]:
        """CPU seconds of the same."""
        return {f"seconds_{name}": tally.seconds for name, tally in self._named().items()}

    def _named(self) -> dict[str, Tally]:
        always = ("projection", "linear_oracle", "local_oracle")
        tallies: dict[str, Tally] = {name: getattr(self, f"{name}s") for name in (*always, "gauge", "separation")}
        return {name: tally for name, tally in tallies.items() if name in always or tally.rows}

    def linear_oracle(self, cost: Array) -> Array:
        """Counted: the linear oracle of the set inside."""
        return self.linear_oracles.serve(self.inner.linear_oracle, cost)

    def project(self, points: Array) -> Array:
        """Counted: the projection of the set inside."""
        return self.projections.serve(self.inner.project, points)

    def local_oracle(self) -> LocalOracle:
        """The local oracle of the set inside, its `answer` counted. Raises UnsupportedSet where it does."""
        oracle = copy.copy(self.inner.local_oracle())
        vars(oracle)["answer"] = partial(self.local_oracles.serve, oracle.answer)
        return oracle

    def gauge(self) -> Oracle:
        """The gauge of the set inside, counted. Raises UnsupportedSet where it does."""
        return partial(self.gauges.serve, self.inner.gauge())

    def separation(self) -> Oracle:
        """The separation oracle of the set inside, counted. Raises UnsupportedSet where it does."""
        return partial(self.separations.serve, self.inner.separation())

    title = _of_inner("title")
    closed_form_projection = _of_inner("closed_form_projection")
    reference_limit = _of_inner("reference_limit")
    reference_tolerance = _of_inner("reference_tolerance")
    center = _of_inner("center")
    target = _of_inner("target")
    max_distance_from = _of_inner("max_distance_from")
    violation = _of_inner("violation")
    cvxpy_constraints = _of_inner("cvxpy_constraints")
    equalities = _of_inner("equalities")
    hull_basis = _of_inner("hull_basis")
    inner_radius = _of_inner("inner_radius")
    along_hull = _of_inner("along_hull")

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "inner":  # not set yet while unpickling: avoids endless recursion
            raise AttributeError(attribute)
        return getattr(self.inner, attribute)


class SolvedSet(CountedSet):
    """The same with every projection by the general solver: what a method pays that has no closed form."""

    @cached_property
    def _solver(self) -> ReferenceProjection:
        from dpregret.algorithms.geometry.reference import ReferenceProjection

        return ReferenceProjection(self.inner)

    def project(self, points: Array) -> Array:
        """Counted: the reference projection of the set inside, row by row."""
        return self.projections.serve(self._solver.project, points)


def data_from(kind: Any) -> Any:
    """The `data` of a set whose attributes have the names of a NamedTuple's fields."""
    return property(lambda domain: kind(*[getattr(domain, name) for name in kind._fields]))


ORACLES = {"project", "linear_oracle", "local_oracle"}


def data_of(domain: ConstraintSet) -> Any:
    """A set, counted or not, as compiled loops know it; None where a class has changed an oracle below its `data`."""
    inner = domain.inner if type(domain) is CountedSet else domain
    for kind in type(inner).__mro__:
        if "data" in vars(kind):
            return inner.data
        if ORACLES & vars(kind).keys():
            return None
    return None

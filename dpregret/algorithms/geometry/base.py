"""What a constraint set and a local linear optimisation oracle answer; all oracles act on the last axis."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex

import numpy as np

from dpregret.algorithms.geometry.gauges import separation_by
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import product

if TYPE_CHECKING:
    from dpregret.algorithms.geometry.gauges import Oracle


class UnsupportedSet(ValueError):  # noqa: N818  (a set is unsupported; the name is part of the interface)
    """The set has no oracle of the kind that was asked for; the message says which set and why."""


class LocalOracle(ABC):
    """Local linear optimisation oracle of Garber & Hazan (2016), in the weights of a decomposition.

    For weights w of the point x, a radius r > 0 and a cost c the answer has an image p with
    (i) <p, c> <= <y, c> for all y of the set with |y - x|_2 <= r, and (ii) |p - x|_2 <= ratio * r.
    A convex combination of weights is again valid. Where no decomposition is needed, weights are points.
    """

    ratio: float
    """rho of property (ii)."""

    def lift(self, points: Array) -> Array:
        """Weights (..., k) whose image are the points (..., d) of the set; the identity by default."""
        return points

    def point(self, weights: Array) -> Array:
        """Image (..., d) of weights (..., k); the identity by default."""
        return weights

    @abstractmethod
    def answer(self, weights: Array, radius: float | Array, cost: Array) -> Array:
        """Weights (..., k) of the local minimiser.

        weights (..., k) and cost (..., d) share, or broadcast to, their leading axes; radius >= 0 is a number
        or an array that broadcasts to the leading axes.
        """


class ConstraintSet(ABC):
    """A compact convex set of R^d; every method takes any number of leading batch axes."""

    name: str
    title: ClassVar[str] = ""
    """What people write, where it is not the name."""
    dimension: int
    diameter: float
    """Largest Euclidean distance of two points of the set, exact."""
    closed_form_projection: bool = True
    """False where `project` calls a solver."""
    reference_limit: int = 1024
    """Largest dimension in which a conic solver projects within about a second."""
    reference_tolerance: float = 1e-10
    """Relative gap that a conic solver reaches on `cvxpy_constraints`."""

    @property
    def data(self) -> Any:
        """The set as a NamedTuple, for compiled rounds (dpregret.core.oracles); None where these ask the methods."""
        return None

    @property
    @abstractmethod
    def vertex_count(self) -> int | float:
        """Number of extreme points; `math.inf` for a curved set."""

    @abstractmethod
    def center(self) -> Array:
        """Point (d,) from which learners start, x_1; the set's centre of symmetry or the mean of its vertices."""

    @abstractmethod
    def target(self) -> Array:
        """Point (d,) to be the comparator of synthetic streams, well away from the center; never a vertex."""

    @abstractmethod
    def reach(self, point: Array) -> float:
        """Largest distance max_{x in C} |x - point|_2 from a point (d,), inside or outside the set.

        Exact, or an upper bound where the set says so.
        """

    @abstractmethod
    def linear_oracle(self, cost: Array) -> Array:
        """Extreme points argmin_{v in C} <cost, v>, (..., d) -> (..., d)."""

    @abstractmethod
    def project(self, points: Array) -> Array:
        """Nearest points of the set in the Euclidean norm, (..., d) -> (..., d)."""

    @abstractmethod
    def violation(self, points: Array) -> Array:
        """Residual of the most violated constraint (...,), in units of the coordinates; 0 inside."""

    @abstractmethod
    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """Return the constraints `variable in C` on a cvxpy variable (d,), for the reference projection."""

    def equalities(self) -> Array:
        """Rows (k, d) of linear forms that are constant on the set: none where it has inner points."""
        return np.zeros((0, self.dimension))

    def hull_basis(self) -> Array:
        """Orthonormal basis (d, d') of the directions within the set's affine hull, as columns.

        Raises ValueError where rows of `equalities` depend on each other.
        """
        from dpregret.algorithms.geometry.orthogonal import orthogonal_to

        rows = self.equalities()
        if not len(rows):
            return np.eye(self.dimension)
        basis = orthogonal_to(np.ascontiguousarray(rows, dtype=np.float64))
        if not basis.size:
            raise ValueError(f"the equalities of the set {self.name!r} depend on each other, or leave one point")
        return basis

    def inner_radius(self) -> float:
        """Radius of a ball around the center, within the affine hull, that lies in the set. Raises UnsupportedSet."""
        raise UnsupportedSet(f"no ball inside the set {self.name!r} is known")

    def along_hull(self, vectors: Array) -> Array:
        """The part of vectors (..., d) that lies in directions within the set's affine hull."""
        if self._hull is None:
            return vectors
        return product(product(vectors, self._hull), self._hull.T)

    @cached_property
    def _hull(self) -> Array | None:
        """`hull_basis`, None where it is everything."""
        return self.hull_basis() if len(self.equalities()) else None

    def gauge(self) -> Oracle:
        """The gauge around the center (gauges.py): from directions to subgradients. Raises UnsupportedSet."""
        raise UnsupportedSet(f"no gauge of the set {self.name!r} is known; use a learner that calls the linear oracle")

    def separation(self) -> Oracle:
        """The separation oracle around the center: zero inside, else a normal (gauges.py). Raises UnsupportedSet."""
        return separation_by(self.gauge())

    def local_oracle(self) -> LocalOracle:
        """Local linear optimisation oracle of the set. Raises UnsupportedSet where there is none."""
        raise UnsupportedSet(
            f"the set {self.name!r} has no local linear oracle; use a learner that projects or that calls "
            "the linear oracle only"
        )


class FixedSum(ConstraintSet):
    """A set whose points have one sum of coordinates, and no other equality."""

    def equalities(self) -> Array:
        """A row of ones."""
        return np.ones((1, self.dimension))

    def along_hull(self, vectors: Array) -> Array:
        """Without their mean."""
        centred: Array = vectors - vectors.mean(axis=-1, keepdims=True)
        return centred


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


def checked_positive(name: str, option: str, value: float) -> float:
    """Return value as a float; raises ValueError unless it is positive and finite."""
    if not (value > 0 and np.isfinite(value)):
        raise ValueError(f"{option} of the set {name!r} must be positive and finite, not {value!r}")
    return float(value)


def reach_of_binary(linear_oracle_value: float, point: Array) -> float:
    """Reach of a polytope with 0/1 vertices: |v - y|^2 = |y|^2 - <2 y - 1, v> is linear in a vertex v.

    linear_oracle_value is min_v <2 point - 1, v>; a convex function is largest at a vertex, so this is exact.
    """
    return float(np.sqrt(max(float(point @ point) - linear_oracle_value, 0.0)))


ORACLES = {"project", "linear_oracle", "local_oracle"}


def data_of(domain: Any) -> Any:
    """The set as compiled loops know it; None where a class has changed an oracle below the one that says so."""
    for kind in type(domain).__mro__:
        if "data" in vars(kind):
            return domain.data
        if ORACLES & vars(kind).keys():
            return None
    return None

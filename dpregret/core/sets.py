"""The interface of a constraint set and of a local linear optimisation oracle, and certified minima on a set.

All oracles act on the last axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from dpregret.core.oracles import moved, projected, vertices
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.orthogonal import orthogonal_to
from dpregret.numerics.sums import dot, product, vecdot

Oracle = Callable[[Array], Array]
"""Directions w (..., d) to vectors (..., d): subgradients, or normals of hyperplanes."""
CHECK_EVERY: Final = 8
"""Steps from one check of the gaps to the next."""
PATIENCE: Final = 100
"""Checks in which a gap that is small enough may fail to halve."""


class UnsupportedSet(ValueError):  # noqa: N818  (a set is unsupported; the name is part of the interface)
    """The set has no oracle of the kind that was requested; the message says which set and why."""


class LocalOracle:
    """Local linear optimisation oracle of Garber & Hazan (2016), in the weights of a decomposition.

    For weights w of the point x, a radius r > 0 and a cost c the answer has an image p with
    (i) <p, c> <= <y, c> for all y of the set with |y - x|_2 <= r, and (ii) |p - x|_2 <= ratio * r.
    A convex combination of weights is again valid. Where no decomposition is needed, weights are points.
    """

    ratio: float
    """rho of property (ii)."""
    data: Any = None
    """The set's, where it has a `local_step`."""

    def lift(self, points: Array) -> Array:
        """Weights (..., k) whose image are the points (..., d) of the set; the identity by default."""
        return points

    def point(self, weights: Array) -> Array:
        """Image (..., d) of weights (..., k); the identity by default."""
        return weights

    def answer(self, weights: Array, radius: float | Array, cost: Array) -> Array:
        """Weights (..., k) of the local minimiser: by default those of the `local_step` of `data`.

        weights (..., k) and cost (..., d) share, or broadcast to, their leading axes; radius >= 0 is a number
        or an array that broadcasts to the leading axes.
        """
        return moved(self.data, weights, radius, cost)


class ConstraintSet(ABC):
    """A compact convex set of R^d; every method takes any number of leading batch axes."""

    name: str
    title: ClassVar[str] = ""
    """The displayed name, where it differs from the name."""
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
        """The set as a NamedTuple, for compiled rounds (dpregret.core.oracles); None where compiled loops call the
        methods."""
        return None

    @abstractmethod
    def center(self) -> Array:
        """Point (d,) from which learners start, x_1; the set's centre of symmetry or the mean of its vertices."""

    @abstractmethod
    def target(self) -> Array:
        """Point (d,) to be the comparator of synthetic streams, well away from the center; never a vertex."""

    @abstractmethod
    def max_distance_from(self, point: Array) -> float:
        """Largest distance max_{x in C} |x - point|_2 from a point (d,), inside or outside the set.

        Exact, or an upper bound where the set says so.
        """

    def linear_oracle(self, cost: Array) -> Array:
        """Extreme points argmin_{v in C} <cost, v>, (..., d) -> (..., d): by default the `vertex` of `data`."""
        return vertices(self.data, cost)

    def project(self, points: Array) -> Array:
        """Nearest points of the set in the Euclidean norm, (..., d) -> (..., d): by default the `project` of `data`.

        Points inside come back unchanged.
        """
        return projected(self.data, points)

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
        """The gauge around the center: from directions to subgradients. Raises UnsupportedSet."""
        raise UnsupportedSet(f"no gauge of the set {self.name!r} is known; use a learner that calls the linear oracle")

    def separation(self) -> Oracle:
        """The separation oracle around the center, by the gauge: zero inside, else nu with <nu, w> > 1 >= <nu, z>.

        For all center + z of the set. Raises UnsupportedSet.
        """
        gauge = self.gauge()

        def separate(offsets: Array) -> Array:
            normals = np.ascontiguousarray(gauge(offsets))
            rows = (normals.reshape(-1, self.dimension), np.ascontiguousarray(offsets).reshape(-1, self.dimension))
            return _cleared(*rows).reshape(normals.shape)

        return separate

    def local_oracle(self) -> LocalOracle:
        """Local linear optimisation oracle of the set. Raises UnsupportedSet where there is none."""
        raise UnsupportedSet(
            f"the set {self.name!r} has no local linear oracle; use a learner that projects or that calls "
            "the linear oracle only"
        )


@compiled
def _cleared(normals: Array, offsets: Array) -> Array:
    """Rows nu (n, d) where <nu, w> > 1, else zero."""
    cleared = np.zeros(normals.shape)
    for row in range(len(normals)):
        if dot(normals[row], offsets[row]) > 1.0:
            for k in range(normals.shape[1]):  # in a loop: to assign a slice takes a second to compile
                cleared[row, k] = normals[row, k]
    return cleared


def minimise(
    domain: ConstraintSet,
    gradient: Callable[[Array], Array],
    start: Array,
    smoothness: float | Array,
    *,
    goal: float = 1e-12,
    allowed: float = 1e-8,
    max_steps: int = 200_000,
    certify: bool = True,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Array, Array, int]:
    """Minima of smooth convex functions on a set, of each row on its own: points (..., p), gaps (...,), steps taken.

    Accelerated projected gradient (Beck & Teboulle 2009), the momentum restarted where it points uphill (O'Donoghue &
    Candes 2015). ``gradient``: (..., p) -> (..., p), also a little outside the set; ``start`` (..., p);
    ``smoothness``: a number, or an array that broadcasts to (..., 1).

    The gap max over v in the set of <gradient f(x), x - v> bounds f(x) - min f. A row's answer is its first point
    whose gap is at most ``goal`` or, where rounding forbids that, its best point once a gap of at most ``allowed`` has
    stopped falling: it does not depend on the other rows. Raises FloatingPointError with the worst gap where a row has
    no answer after ``max_steps`` steps, or once ``stop`` says so; without ``certify`` its best point is returned.
    """
    point = ahead = domain.project(start)
    inertia = np.ones((*start.shape[:-1], 1))
    best, gaps = point.copy(), np.full(start.shape[:-1], np.inf)
    waited, ended = np.zeros(gaps.shape, dtype=int), np.zeros(gaps.shape, dtype=bool)
    for taken in range(max_steps + 1):
        if taken % CHECK_EVERY == 0:
            slope = gradient(point)
            gap = np.maximum(vecdot(slope, point - domain.linear_oracle(slope)), 0.0)
            waited = np.where(gap < 0.5 * gaps, 0, waited + 1)
            better = ~ended & (gap < gaps)
            best[better], gaps[better] = point[better], gap[better]
            ended |= (gaps <= goal) | ((gaps <= allowed) & (waited > PATIENCE))
            if ended.all():
                return best, gaps, taken
            if stop():
                break
        moved = domain.project(ahead - gradient(ahead) / smoothness)
        uphill = vecdot(ahead - moved, moved - point)[..., None] > 0.0
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * inertia**2))
        ahead = moved + np.where(uphill, 0.0, (inertia - 1.0) / grown) * (moved - point)
        inertia = np.where(uphill, 1.0, grown)
        point = moved
    if not certify or (gaps <= allowed).all():
        return best, gaps, taken
    worst = float(np.where(gaps <= allowed, 0.0, gaps).max())
    raise FloatingPointError(f"no certified minimum: gap {worst:.1e} is above {allowed:.0e} after {taken} steps")

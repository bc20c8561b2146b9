"""A constraint set as learners use it; dpregret.algorithms.geometry has those that there are."""

from collections.abc import Callable
from typing import Protocol

from dpregret.numerics.arrays import Array


class LocalOracle(Protocol):
    """Local linear oracle as a learner uses it (see dpregret.algorithms.geometry)."""

    ratio: float

    def lift(self, points: Array) -> Array:
        """Weights whose image the points are."""

    def point(self, weights: Array) -> Array:
        """Image of weights."""

    def answer(self, weights: Array, radius: Array, cost: Array) -> Array:
        """Weights whose image is at most as costly as every point of the set within radius."""


class Domain(Protocol):
    """A constraint set as a learner uses it (see dpregret.algorithms.geometry)."""

    name: str
    dimension: int
    diameter: float

    def center(self) -> Array:
        """Where learners start, (d,)."""

    def linear_oracle(self, cost: Array) -> Array:
        """argmin over the set of <cost, v>."""

    def project(self, points: Array) -> Array:
        """Nearest points of the set."""

    def violation(self, points: Array) -> Array:
        """0 inside, a distance-like excess outside."""

    def local_oracle(self) -> LocalOracle:
        """Local linear oracle; raises ValueError where the set has none."""

    def reach(self, point: Array) -> float:
        """Largest distance from the point to the set (or an upper bound)."""

    def equalities(self) -> Array:
        """Linear forms (k, d) that are constant on the set."""

    def along_hull(self, vectors: Array) -> Array:
        """The part of vectors within the set's affine hull."""

    def inner_radius(self) -> float:
        """Radius of a ball around the center, within the hull, that lies in the set; raises ValueError without one."""

    def gauge(self) -> Callable[[Array], Array]:
        """The gauge around the center, as subgradients; raises ValueError where the set has none."""

    def separation(self) -> Callable[[Array], Array]:
        """The separation oracle around the center; raises ValueError where the set has none."""

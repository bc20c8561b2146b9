"""Unit balls of norms, scaled: what they share."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from dpregret.algorithms.geometry.base import checked_positive
from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

if TYPE_CHECKING:
    from dpregret.core.sets import Oracle


class NormBall(ConstraintSet):
    """{x : norm(x) <= radius} for a norm with norm(x) >= |x|_2 and norm(e_1) = 1.

    Hence the diameter is 2 radius. Center 0, target (radius / 2) e_1.
    """

    def __init__(self, dimension: int, radius: float):
        self.dimension = dimension
        self.radius = checked_positive(self.name, "radius", radius)
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
        excess: Array = np.maximum(self.norm(points) - self.radius, 0.0)
        return excess

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """One norm constraint."""
        return [self.cvxpy_norm(variable) <= self.radius]

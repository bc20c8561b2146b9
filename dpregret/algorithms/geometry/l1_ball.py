"""l1 ball."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpregret.algorithms.geometry.base import (
    LocalOracle,
    checked_dimension,
)
from dpregret.algorithms.geometry.mass import move_mass
from dpregret.algorithms.geometry.norm_ball import NormBall
from dpregret.algorithms.geometry.simplex import threshold_from_largest
from dpregret.core.arrays import Array
from dpregret.core.kernels import L1_BALL, SetKernel

if TYPE_CHECKING:
    from dpregret.algorithms.geometry.oracle_kernels import VertexRule


class L1Ball(NormBall):
    """{x : |x|_1 <= radius} in R^dimension, center 0, target (radius / 2) e_1."""

    name = "l1-ball"
    kernel: ClassVar[SetKernel] = SetKernel(L1_BALL, ("radius", 0.0))

    def __init__(self, dimension: int, *, radius: float = 1.0):
        super().__init__(checked_dimension(self.name, dimension), radius)
        self._counts = np.arange(1.0, self.dimension + 1.0)

    @property
    def vertex_count(self) -> int | float:
        """2 d: plus and minus radius e_j."""
        return 2 * self.dimension

    def reach(self, point: Array) -> float:
        """Distance to the farthest vertex, sqrt(|y|^2 + R^2 + 2 R max_j |y_j|), exact."""
        largest = float(np.max(np.abs(point)))
        return float(np.sqrt(point @ point + self.radius**2 + 2.0 * self.radius * largest))

    def linear_oracle(self, cost: Array) -> Array:
        """-radius sign(c_j) e_j with j the first coordinate of largest |c_j|."""
        vertices = np.zeros_like(cost)
        best = np.argmax(np.abs(cost), axis=-1, keepdims=True)
        corner = np.copysign(self.radius, -np.take_along_axis(cost, best, axis=-1))
        np.put_along_axis(vertices, best, corner, axis=-1)
        return vertices

    @cached_property
    def vertex_rule(self) -> VertexRule:
        """The radius."""
        from dpregret.algorithms.geometry.oracle_kernels import L1_BALL, rule

        return rule(L1_BALL, real=[self.radius])

    def project(self, points: Array) -> Array:
        """Soft-threshold by the threshold that makes the l1 norm equal the radius; exact, by sorting."""
        sizes = np.abs(points)
        largest, shift = threshold_from_largest(sizes, self.radius, self._counts)
        # Inside, largest + shift <= 0: the minimum then returns the size itself.
        kept = np.minimum(np.maximum((sizes - largest) - shift, 0.0), sizes)
        projected: Array = np.copysign(kept, points)
        return projected

    def inner_radius(self) -> float:
        """radius / sqrt(d), exact."""
        return self.radius / float(np.sqrt(self.dimension))

    def norm(self, points: Array) -> Array:
        """|x|_1."""
        norms: Array = np.abs(points).sum(axis=-1)
        return norms

    def norm_gradient(self, points: Array) -> Array:
        """The signs."""
        return np.sign(points)

    def cvxpy_norm(self, variable: Any) -> Any:
        """Return the l1 norm."""
        import cvxpy

        return cvxpy.norm(variable, 1)

    def local_oracle(self) -> LocalOracle:
        """Moves mass between the signed vertices."""
        return L1LocalOracle(self.dimension, self.radius)


class L1LocalOracle(LocalOracle):
    """Weights (..., 2 d) of the vertices (+R e_1..+R e_d, -R e_1..-R e_d); M = min(1, sqrt(d) r / R) moves.

    (i): let D = |y - x|_1 / R <= sqrt(d) r / R. Coordinate by coordinate, y is reached from x by taking from
    the opposite vertex and adding to the equal one, in all D units of weight; an excess or a lack of total
    weight is settled by pairs +e_j, -e_j, whose image is zero, with no more than D removed over all (possible
    because |y|_1 <= R). Half of that mass is not enough: from the weights (1/2, 1/2) on one such pair, every
    other direction costs its full length. (ii): mass M moves over at most the diameter 2 R: ratio 2 sqrt(d).
    """

    def __init__(self, dimension: int, set_radius: float):
        self.ratio = 2.0 * float(np.sqrt(dimension))
        self._dimension = dimension
        self._set_radius = set_radius
        self._mass_per_radius = float(np.sqrt(dimension)) / set_radius

    def lift(self, points: Array) -> Array:
        """Weight |x_j| / R on the vertex of x_j's sign, the rest spread evenly over all 2 d vertices."""
        scaled = points / self._set_radius
        weights: Array = np.maximum(np.concatenate([scaled, -scaled], axis=-1), 0.0)
        weights += np.maximum(1.0 - weights.sum(axis=-1, keepdims=True), 0.0) / (2 * self._dimension)
        return weights

    def point(self, weights: Array) -> Array:
        """R (w_plus - w_minus)."""
        image: Array = weights[..., : self._dimension] - weights[..., self._dimension :]
        image *= self._set_radius
        return image

    def answer(self, weights: Array, radius: float | Array, cost: Array) -> Array:
        """Weights (..., 2 d) after the move."""
        scores = np.concatenate([cost, -cost], axis=-1)
        return move_mass(weights, scores, np.minimum(self._mass_per_radius * radius, 1.0))

"""Box."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.set_kinds import CoordinateGauge, checked_dimension, data_from
from dpregret.core.oracles import local_step, project, vertex
from dpregret.core.sets import ConstraintSet, LocalOracle, Oracle
from dpregret.numerics.arrays import Array


class BoxData(NamedTuple):
    """The box, for compiled rounds."""

    lower: float
    upper: float


@project.add
def _project_box(box: BoxData, x, scratch):
    """Clip every coordinate."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = min(max(x[k, r], box.lower), box.upper)


@vertex.add
def _vertex_box(box: BoxData, cost, x, scratch):
    """Lower where the cost is positive, else upper."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = box.lower if cost[k, r] > 0.0 else box.upper


@local_step.add
def _local_step_box(box: BoxData, weights, radius, length, cost, x, scratch):
    """Towards clip(x - radius sign(c)); points are their own weights."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            moved = min(max(weights[k, r] - radius * np.sign(cost[k, r]), box.lower), box.upper)
            weights[k, r] += length * (moved - weights[k, r])
            x[k, r] = weights[k, r]


class Box(ConstraintSet):
    """[lower, upper]^dimension; by default [-1, 1]^d / sqrt(d), the cube inscribed in the unit ball."""

    name = "box"
    data = data_from(BoxData)

    def __init__(self, dimension: int, *, lower: float | None = None, upper: float | None = None):
        self.dimension = checked_dimension(self.name, dimension)
        half = 1.0 / float(np.sqrt(self.dimension))
        self.lower = -half if lower is None else float(lower)
        self.upper = half if upper is None else float(upper)
        if not (np.isfinite(self.lower) and np.isfinite(self.upper) and self.lower < self.upper):
            raise ValueError(f"the box needs finite lower < upper, not lower={self.lower}, upper={self.upper}")
        self.diameter = (self.upper - self.lower) * float(np.sqrt(self.dimension))

    def center(self) -> Array:
        """The midpoint (d,)."""
        return np.full(self.dimension, 0.5 * (self.lower + self.upper))

    def target(self) -> Array:
        """Half-way from the center to the upper corner, an interior point (d,)."""
        return np.full(self.dimension, 0.25 * self.lower + 0.75 * self.upper)

    def max_distance_from(self, point: Array) -> float:
        """Distance to the farthest corner, exact."""
        return float(np.linalg.norm(np.maximum(np.abs(point - self.lower), np.abs(self.upper - point))))

    def inner_radius(self) -> float:
        """Half a side, exact."""
        return 0.5 * (self.upper - self.lower)

    def gauge(self) -> Oracle:
        """The coordinate that is farthest out, in half sides."""
        half = np.full(self.dimension, self.inner_radius())
        return CoordinateGauge(half, half, self.along_hull)

    def violation(self, points: Array) -> Array:
        """Largest excess of a coordinate over its bounds."""
        outside = np.maximum(self.lower - points, points - self.upper).max(axis=-1)
        return np.maximum(outside, 0.0)

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """Lower <= x <= upper."""
        return [variable >= self.lower, variable <= self.upper]

    def local_oracle(self) -> LocalOracle:
        """Shifts every coordinate by the radius."""
        return BoxLocalOracle(self)


class BoxLocalOracle(LocalOracle):
    """clip(x - r sign(c)): the minimiser over the cube of half-side r around x, within the box.

    The cube holds the ball of radius r, property (i), and lies in that of radius sqrt(d) r: ratio sqrt(d).
    """

    def __init__(self, box: Box):
        self.ratio = float(np.sqrt(box.dimension))
        self.data = box.data

"""Probability simplex, and the threshold rule that it shares with the l1 ball."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.base import CoordinateGauge, FixedSum, checked_dimension, reach_of_binary
from dpregret.algorithms.geometry.mass import move_mass, move_towards
from dpregret.core.oracles import local_step, project, vertex
from dpregret.core.sets import LocalOracle, Oracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined


@inlined
def threshold(sizes, total, kept):
    """(m, s): m the largest size, sum of max(size - m - s, 0) = total. s grows, so only what lies above it is kept."""
    largest = sizes[0]
    for k in range(1, len(sizes)):
        largest = max(largest, sizes[k])
    count, height = 0, 0.0
    for k in range(len(sizes)):
        above = sizes[k] - largest
        if above > -total:
            kept[count] = above
            count += 1
            height += above
    while True:
        shift = (height - total) / count
        before, count, height = count, 0, 0.0
        for k in range(before):
            if kept[k] > shift:
                kept[count] = kept[k]
                count += 1
                height += kept[count - 1]
        if count == before:
            return largest, shift


class SimplexData(NamedTuple):
    """The simplex, for compiled rounds."""

    total: float


@project.add
def _(simplex: SimplexData, x, s):
    """max(x - threshold, 0) with the threshold that makes the sum one; exact."""
    column, kept = np.empty(x.shape[0]), np.empty(x.shape[0])
    for r in range(x.shape[1]):
        for k in range(x.shape[0]):
            column[k] = x[k, r]
        largest, shift = threshold(column, simplex.total, kept)
        for k in range(x.shape[0]):
            x[k, r] = max((column[k] - largest) - shift, 0.0)


@vertex.add
def _(simplex: SimplexData, cost, x, s):
    """The first coordinate of smallest cost."""
    for r in range(x.shape[1]):
        best = 0
        for k in range(x.shape[0]):
            x[k, r] = 0.0
            best = k if cost[k, r] < cost[best, r] else best
        x[best, r] = simplex.total


@local_step.add
def _(simplex: SimplexData, weights, radius, length, cost, x, s):
    """Towards the point with mass sqrt(d) radius / 2 moved to the best coordinate; points are their own weights."""
    mass = min(0.5 * np.sqrt(float(x.shape[0])) * radius, 1.0)
    move_towards(weights, cost, mass, length)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = weights[k, r]


class Simplex(FixedSum):
    """{x >= 0, sum x = 1} in R^dimension, dimension >= 2; center the barycentre."""

    name = "simplex"

    def __init__(self, dimension: int):
        self.dimension = checked_dimension(self.name, dimension, minimum=2)
        self.diameter = float(np.sqrt(2.0))

    @property
    def data(self) -> SimplexData:
        """Its sum, 1."""
        return SimplexData(1.0)

    def center(self) -> Array:
        """The barycentre (d,)."""
        return np.full(self.dimension, 1.0 / self.dimension)

    def target(self) -> Array:
        """Uniform on the first max(2, d // 4) coordinates; (3/4, 1/4) for d = 2, where that is the center."""
        if self.dimension == 2:
            return np.array([0.75, 0.25])
        support = max(2, self.dimension // 4)
        return np.where(np.arange(self.dimension) < support, 1.0 / support, 0.0)

    def gauge(self) -> Oracle:
        """Facets x_i >= 0: d times minus the smallest coordinate."""
        return CoordinateGauge(self.center(), np.full(self.dimension, np.inf), self.along_hull)

    def inner_radius(self) -> float:
        """1 / sqrt(d (d - 1)), exact."""
        return 1 / float(np.sqrt(self.dimension * (self.dimension - 1)))

    def reach(self, point: Array) -> float:
        """Distance to the farthest vertex, exact."""
        return reach_of_binary(float(np.min(2.0 * point - 1.0)), point)

    def violation(self, points: Array) -> Array:
        """max(0, -min_i x_i, |sum x - 1|)."""
        negative = np.maximum(-points.min(axis=-1), 0.0)
        return np.maximum(negative, np.abs(points.sum(axis=-1) - 1.0))

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """x >= 0 and sum x = 1."""
        import cvxpy

        return [variable >= 0, cvxpy.sum(variable) == 1]

    def local_oracle(self) -> LocalOracle:
        """Moves mass to the best coordinate."""
        return SimplexLocalOracle(self.dimension)


class SimplexLocalOracle(LocalOracle):
    """Move M = min(1, sqrt(d) r / 2) from the worst coordinates to the best; points are their own weights.

    y - x sums to zero, so y is x with mass |y - x|_1 / 2 <= sqrt(d) r / 2 moved: property (i). What is moved
    changes x by at most (M, -M) in l1, hence sqrt(2) M in l2: ratio sqrt(d / 2) (Garber & Hazan 2016).
    """

    def __init__(self, dimension: int):
        self.ratio = float(np.sqrt(dimension / 2.0))
        self._mass_per_radius = 0.5 * float(np.sqrt(dimension))

    def answer(self, weights: Array, radius: float | Array, cost: Array) -> Array:
        """Points (..., d) after the move."""
        return move_mass(weights, cost, np.minimum(self._mass_per_radius * radius, 1.0))

"""Hypersimplex: the base polytope of the uniform matroid; and products of hypersimplices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.set_kinds import (
    CoordinateGauge,
    checked_dimension,
    data_from,
    reach_of_binary,
    reject_dimension,
)
from dpregret.algorithms.geometry.simplex import exchange_mass
from dpregret.core.oracles import by_corners, corner, vertex
from dpregret.core.sets import ConstraintSet, LocalOracle, Oracle
from dpregret.numerics.arrays import Array


class Cheapest(NamedTuple):
    """Choices of the `rank` cheapest of every `block` coordinates, for compiled rounds."""

    rank: int
    block: int


@corner.add
def _corner_cheapest(sets: Cheapest, cost, out, whole, real):
    """Count the cheaper coordinates, without branches."""
    for first in range(0, len(cost), sets.block):
        for j in range(first, first + sets.block):
            price, cheaper = cost[j], 0
            for i in range(first, j):
                cheaper += cost[i] <= price
            for i in range(j + 1, first + sets.block):
                cheaper += cost[i] < price
            out[j] = 1.0 if cheaper < sets.rank else 0.0


vertex.kinds[Cheapest] = by_corners


class Choices(ConstraintSet):
    """{0 <= x <= 1, every block of `block` coordinates sums to `rank`}; of equal costs the first is the smaller."""

    rank: int
    block: int

    def center(self) -> Array:
        """rank / block in every coordinate."""
        return np.full(self.dimension, self.rank / self.block)

    def project(self, points: Array) -> Array:
        """clip(x - shift, 0, 1) with the shift that makes the sum of a block `rank`; exact, by sorting 2 block numbers.

        The shift lies within one below the rank-th largest coordinate, so coordinates further than one from
        that coordinate can be clipped to it first: no cancellation for far points.
        """
        parts = self._parts(points)
        pivot = np.partition(parts, self.block - self.rank, axis=-1)[..., self.block - self.rank]
        near = np.minimum(np.maximum(parts - pivot[..., None], -1.0), 1.0)
        projected: Array = np.minimum(np.maximum(near - self._shift(near), 0.0), 1.0)
        return projected.reshape(points.shape)

    def _shift(self, points: Array) -> Array:
        """Root (..., 1) of the piecewise linear, decreasing sum(clip(x - shift, 0, 1)) - rank."""
        breakpoints = np.concatenate([points - 1.0, points], axis=-1)
        order = np.argsort(breakpoints, axis=-1)
        ordered = np.take_along_axis(breakpoints, order, axis=-1)
        slopes = np.cumsum(np.where(order < self.block, -1.0, 1.0), axis=-1)
        excess = np.empty_like(ordered)
        excess[..., 0] = self.block - self.rank
        np.cumsum(slopes[..., :-1] * np.diff(ordered, axis=-1), axis=-1, out=excess[..., 1:])
        excess[..., 1:] += self.block - self.rank
        # The excess is constant where the slope is zero, so the last positive one has a negative slope.
        last = (excess > 0.0).sum(axis=-1, keepdims=True) - 1
        start, height, slope = (np.take_along_axis(values, last, axis=-1) for values in (ordered, excess, slopes))
        return start - height / slope

    def violation(self, points: Array) -> Array:
        """max(0, -min_i x_i, max_i x_i - 1, |sum of a block - rank|)."""
        parts = self._parts(points)
        outside = np.maximum(np.maximum(-parts, parts - 1.0).max(axis=-1), 0.0)
        return np.maximum(outside, np.abs(parts.sum(axis=-1) - self.rank)).max(axis=-1)

    def equalities(self) -> Array:
        """The sum of every block."""
        return np.repeat(np.eye(self.dimension // self.block), self.block, axis=1)

    def along_hull(self, vectors: Array) -> Array:
        """Without the mean of every block."""
        parts = self._parts(vectors)
        centred: Array = parts - parts.mean(axis=-1, keepdims=True)
        return centred.reshape(vectors.shape)

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """0 <= x <= 1 and the sums."""
        return [variable >= 0, variable <= 1, self.equalities() @ variable == self.rank]

    def gauge(self) -> Oracle:
        """Facets x_i >= 0 and x_i <= 1."""
        return CoordinateGauge(self.center(), 1.0 - self.center(), self.along_hull)

    def inner_radius(self) -> float:
        """Distance from the center to the nearest facet x_i = 0 or x_i = 1, exact."""
        share = self.rank / self.block
        return float(min(share, 1 - share) / np.sqrt(1 - 1 / self.block))

    def _parts(self, points: Array) -> Array:
        return points.reshape(*points.shape[:-1], -1, self.block)


class Hypersimplex(Choices):
    """{0 <= x <= 1, sum x = rank} in R^dimension, 1 <= rank < dimension; rank max(1, dimension // 4) by default."""

    name = "hypersimplex"
    data = data_from(Cheapest)

    def __init__(self, dimension: int, *, rank: int | None = None):
        self.dimension = self.block = checked_dimension(self.name, dimension, minimum=2)
        self.rank = max(1, self.dimension // 4) if rank is None else rank
        if self.rank < 1:
            raise ValueError(f"rank {rank} is impossible for the set {self.name!r}; allowed: 1 to dimension - 1")
        if self.rank >= self.dimension:
            allowed = f"at least {self.rank + 1} at rank {self.rank}; or a rank of at most {self.dimension - 1}"
            reject_dimension(self.name, dimension, allowed)
        self.diameter = float(np.sqrt(2.0 * min(self.rank, self.dimension - self.rank)))

    def target(self) -> Array:
        """1 on some coordinates, 1/2 on the next 2 h, 0 on the rest; h = max(1, min(rank, d - rank) // 2).

        The mean of vertices of one face, inside that face; (3/4, 1/4) for d = 2, where that is the center.
        """
        if self.dimension == 2:
            return np.array([0.75, 0.25])
        halves = max(1, min(self.rank, self.dimension - self.rank) // 2)
        point = np.zeros(self.dimension)
        point[: self.rank + halves] = 0.5
        point[: self.rank - halves] = 1.0
        return point

    def max_distance_from(self, point: Array) -> float:
        """Distance to the farthest vertex, exact."""
        cost = 2.0 * point - 1.0
        return reach_of_binary(float(cost @ self.linear_oracle(cost)), point)

    def local_oracle(self) -> LocalOracle:
        """Exchanges mass between coordinates."""
        return HypersimplexLocalOracle(self.dimension, self.rank)


class HypersimplexLocalOracle(LocalOracle):
    """Move up to sqrt(d) r / 2 from the worst to the best coordinates, each within [0, 1]; points are weights.

    y - x sums to zero, so y is x with mass |y - x|_1 / 2 <= sqrt(d) r / 2 exchanged: property (i). The change
    is at most (M, -M) in l1, hence sqrt(2) M in l2: ratio sqrt(d / 2).
    """

    def __init__(self, dimension: int, rank: int):
        self.ratio = float(np.sqrt(dimension / 2.0))
        self._mass_per_radius = 0.5 * float(np.sqrt(dimension))
        self._rank = rank

    def answer(self, weights: Array, radius: float | Array, cost: Array) -> Array:
        """Points (..., d) after the exchange."""
        return exchange_mass(weights, cost, self._mass_per_radius * radius, self._rank)

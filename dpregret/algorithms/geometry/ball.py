"""Euclidean ball."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.set_kinds import NormBall, checked_dimension, data_from
from dpregret.core.oracles import inner, project, vertex
from dpregret.core.sets import LocalOracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot


class BallData(NamedTuple):
    """The ball, for compiled rounds."""

    radius: float


@project.add
def _project_ball(ball: BallData, x, scratch):
    """Scale to the sphere by radius / max(|x|_2, radius): points inside stay, bit by bit."""
    inner(x, x, scratch[8], scratch)
    for r in range(x.shape[1]):
        scratch[8, r] = ball.radius / max(np.sqrt(scratch[8, r]), ball.radius)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] *= scratch[8, r]


@vertex.add
def _vertex_ball(ball: BallData, cost, x, scratch):
    """-radius cost / |cost|_2; radius e_1 where the cost is zero."""
    inner(cost, cost, scratch[8], scratch)
    for r in range(x.shape[1]):
        norm = np.sqrt(scratch[8, r])
        scratch[8, r] = -ball.radius / norm if norm > 0.0 else 0.0
        scratch[0, r] = ball.radius if norm == 0.0 else 0.0
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = cost[k, r] * scratch[8, r]
    for r in range(x.shape[1]):
        x[0, r] += scratch[0, r]


class Ball(NormBall):
    """{x : |x|_2 <= radius} in R^dimension, center 0, target (radius / 2) e_1."""

    name = "ball"
    data = data_from(BallData)

    def __init__(self, dimension: int, *, radius: float = 1.0):
        super().__init__(checked_dimension(self.name, dimension), radius)

    def max_distance_from(self, point: Array) -> float:
        """|point|_2 + radius, exact."""
        return float(np.sqrt(vecdot(point, point))) + self.radius

    def norm(self, points: Array) -> Array:
        """|x|_2."""
        return np.sqrt(vecdot(points, points))

    def norm_gradient(self, points: Array) -> Array:
        """x / |x|_2."""
        lengths = self.norm(points)[..., None]
        return points / np.where(lengths > 0.0, lengths, 1.0)

    def cvxpy_norm(self, variable: Any) -> Any:
        """Return the Euclidean norm."""
        import cvxpy

        return cvxpy.norm(variable, 2)

    def inner_radius(self) -> float:
        """The radius."""
        return self.radius

    def local_oracle(self) -> LocalOracle:
        """The exact minimiser over the intersection of two balls."""
        return BallLocalOracle(self.radius)


class BallLocalOracle(LocalOracle):
    """argmin <p, c> over |p| <= R and |p - x| <= r, so ratio 1; points are their own weights.

    The answer is x - r c/|c| if that lies in the set, else -R c/|c| if that lies within r of x, else the
    lowest point of the sphere |p| = R, |p - x| = r: it lies in span(x, c), at a = (R^2 + |x|^2 - r^2)/(2|x|)
    along x and at sqrt(R^2 - a^2) against the part of c orthogonal to x. A zero cost leaves x in place.
    """

    ratio = 1.0

    def __init__(self, set_radius: float):
        self._set_radius = set_radius

    def answer(self, weights: Array, radius: float | Array, cost: Array) -> Array:
        """Points (..., d) that minimise the cost within `radius` of the points `weights`, inside the ball."""
        points, cost = np.broadcast_arrays(weights, cost)
        norms = np.sqrt(vecdot(cost, cost))
        nonzero = norms > 0.0
        inverse = nonzero / np.where(nonzero, norms, 1.0)
        steps: Array = np.asarray(radius * nonzero, dtype=np.float64)
        squares = vecdot(points, points)
        slopes = vecdot(points, cost) * inverse
        limit = self._set_radius
        stays_inside = squares - 2.0 * steps * slopes + steps**2 <= limit**2
        within_reach = squares + 2.0 * limit * slopes + limit**2 <= steps**2
        lengths = np.where(stays_inside, steps, limit) * inverse
        answers: Array = stays_inside[..., None] * points - lengths[..., None] * cost
        both = ~(stays_inside | within_reach)
        if both.any():
            unit_costs = cost[both] * inverse[both][..., None]
            answers[both] = self._on_both_spheres(points[both], steps[both], unit_costs)
        return answers

    def _on_both_spheres(self, points: Array, steps: Array, unit_costs: Array) -> Array:
        """Lowest points of the intersection of the two spheres; points (n, d), steps (n,), unit costs (n, d)."""
        limit = self._set_radius
        squares = vecdot(points, points)
        distances = np.sqrt(squares)
        axes = points / distances[..., None]
        along = np.clip((limit**2 + squares - steps**2) / (2.0 * distances), -limit, limit)
        across = np.sqrt(limit**2 - along**2)
        normals = unit_costs - vecdot(unit_costs, axes)[..., None] * axes
        lengths = np.sqrt(vecdot(normals, normals))
        # Parallel cost and point: the two spheres touch, across is rounding and the direction is irrelevant.
        across /= np.maximum(lengths, np.finfo(float).tiny)
        return along[..., None] * axes - across[..., None] * normals

"""l1 ball."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.set_kinds import NormBall, checked_dimension, data_from
from dpregret.algorithms.geometry.simplex import move_towards, threshold
from dpregret.core.oracles import local_step, project, vertex
from dpregret.core.sets import LocalOracle
from dpregret.numerics.arrays import Array


class L1BallData(NamedTuple):
    """The l1 ball, for compiled rounds."""

    radius: float


@project.add
def _project_l1_ball(ball: L1BallData, x, scratch):
    """Soft-threshold by the threshold that makes the l1 norm equal the radius; what lies inside is unchanged."""
    sizes, kept = np.empty(x.shape[0]), np.empty(x.shape[0])
    for r in range(x.shape[1]):
        norm = 0.0
        for k in range(x.shape[0]):
            sizes[k] = abs(x[k, r])
            norm += sizes[k]
        if norm > ball.radius:
            largest, shift = threshold(sizes, ball.radius, kept)
            for k in range(x.shape[0]):
                size = min(max((sizes[k] - largest) - shift, 0.0), sizes[k])
                x[k, r] = size if x[k, r] > 0.0 else -size


@vertex.add
def _vertex_l1_ball(ball: L1BallData, cost, x, scratch):
    """-radius sign(c_j) e_j with j the first coordinate of largest |c_j|."""
    best, largest = np.zeros(x.shape[1], np.int64), scratch[8]
    for r in range(x.shape[1]):
        largest[r] = abs(cost[0, r])
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = 0.0
            if abs(cost[k, r]) > largest[r]:
                best[r], largest[r] = k, abs(cost[k, r])
    for r in range(x.shape[1]):
        x[best[r], r] = np.copysign(ball.radius, -cost[best[r], r])


@local_step.add
def _local_step_l1_ball(ball: L1BallData, weights, radius, length, cost, x, scratch):
    """Towards the weights (2 d, runs) of the signed vertices with mass sqrt(d) radius / R moved to the best one."""
    d = x.shape[0]
    scores = np.empty((2 * d, x.shape[1]))
    for k in range(d):
        for r in range(x.shape[1]):
            scores[k, r], scores[d + k, r] = cost[k, r], -cost[k, r]
    move_towards(weights, scores, min(np.sqrt(float(d)) / ball.radius * radius, 1.0), length)
    for k in range(d):
        for r in range(x.shape[1]):
            x[k, r] = (weights[k, r] - weights[d + k, r]) * ball.radius


class L1Ball(NormBall):
    """{x : |x|_1 <= radius} in R^dimension, center 0, target (radius / 2) e_1."""

    name = "l1-ball"
    data = data_from(L1BallData)

    def __init__(self, dimension: int, *, radius: float = 1.0):
        super().__init__(checked_dimension(self.name, dimension), radius)

    def inner_radius(self) -> float:
        """radius / sqrt(d), exact."""
        return self.radius / float(np.sqrt(self.dimension))

    def norm(self, points: Array) -> Array:
        """|x|_1."""
        return np.abs(points).sum(axis=-1)

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
        self.data = L1BallData(set_radius)

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

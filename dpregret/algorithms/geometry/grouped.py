"""Ball of the grouped l1 norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.set_kinds import NormBall, checked_dimension
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot


class GroupedL1Ball(NormBall):
    """{x : sum_j |x^(j)|_2 <= radius}, x^(j) the consecutive blocks of block_size coordinates.

    block_size divides the dimension; by default it is the largest divisor up to 4. Block size 1 is the l1 ball,
    block size d the Euclidean ball.
    """

    name = "grouped-l1"
    title = "grouped l1 ball"
    reference_tolerance = 1e-8

    def __init__(self, dimension: int, *, block_size: int | None = None, radius: float = 1.0):
        size = checked_dimension(self.name, dimension)
        divisors = [block for block in range(1, size + 1) if size % block == 0]
        if block_size is None:
            block_size = max(block for block in divisors if block <= 4)
        if block_size not in divisors:
            raise ValueError(
                f"block_size {block_size!r} is impossible for the set {self.name!r} in dimension {size}; "
                f"allowed: its divisors {', '.join(map(str, divisors))}"
            )
        super().__init__(size, radius)
        self.block_size = int(block_size)
        self.block_count = size // self.block_size
        self._block_norms_ball = L1Ball(self.block_count, radius=radius)

    def blocks(self, points: Array) -> Array:
        """View (..., block_count, block_size) of points (..., d)."""
        return points.reshape(*points.shape[:-1], self.block_count, self.block_size)

    def block_norms(self, points: Array) -> Array:
        """|x^(j)|_2, (..., d) -> (..., block_count)."""
        blocks = self.blocks(points)
        return np.sqrt(vecdot(blocks, blocks))

    def norm(self, points: Array) -> Array:
        """sum_j |x^(j)|_2."""
        return self.block_norms(points).sum(axis=-1)

    def linear_oracle(self, cost: Array) -> Array:
        """-radius c^(j) / |c^(j)|_2 on the first block of largest norm; radius e_1 where the cost is zero."""
        norms = self.block_norms(cost)
        best = np.argmax(norms, axis=-1)[..., None]
        largest = np.take_along_axis(norms, best, axis=-1)[..., None]
        zero = largest == 0.0
        chosen = (np.arange(self.block_count) == best)[..., None]
        directions = np.where(chosen, self.blocks(cost), 0.0) * (-self.radius / np.where(zero, 1.0, largest))
        directions[..., :1, :1] += self.radius * zero
        return directions.reshape(cost.shape)

    def project(self, points: Array) -> Array:
        """Project the block norms onto the l1 ball and scale the blocks; points inside come back unchanged."""
        norms = self.block_norms(points)
        factors = self._block_norms_ball.project(norms) / np.where(norms > 0.0, norms, 1.0)
        return (self.blocks(points) * factors[..., None]).reshape(points.shape)

    def norm_gradient(self, points: Array) -> Array:
        """x^(j) / |x^(j)|_2 block by block, zero on blocks of zeros."""
        lengths = self.block_norms(points)
        return (self.blocks(points) / np.where(lengths > 0.0, lengths, 1.0)[..., None]).reshape(points.shape)

    def inner_radius(self) -> float:
        """radius / sqrt(number of blocks), exact: blocks of equal norm."""
        return self.radius / math.sqrt(self.block_count)

    def cvxpy_norm(self, variable: Any) -> Any:
        """Sum of block norms."""
        import cvxpy

        blocks = np.arange(self.dimension).reshape(self.block_count, self.block_size)
        return cvxpy.sum([cvxpy.norm(variable[block], 2) for block in blocks])

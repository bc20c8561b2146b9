"""A small population that is met once, record by record, and generators."""

from __future__ import annotations

import numpy as np

from dpregret.numerics.arrays import Array

SLOPE, BEND = 1.0, 0.5
"""Largest |a| and h."""


class Pass:
    """Records in their order, and the number of those that are left."""

    def __init__(self, records: Array):
        self.records, self.left = records, records.shape[2]

    def take(self, count: int) -> Array:
        assert 0 <= count <= self.left
        begun = self.records.shape[2] - self.left
        self.left -= count
        return self.records[:, :, begun : begun + count]


class Bowls:
    """Loss <a, x> + (h/2) |x|^2 on the unit ball, |a| <= 1, 0 <= h <= 1/2; records (a, h), of shape (1, runs, n, d+1).

    Records differ in curvature, so gradients of different records move differently.
    """

    lipschitz, lipschitz_l1, smoothness, smoothness_l1 = SLOPE + BEND, SLOPE + BEND, BEND, BEND
    curvature, strong_convexity, hessian_rank = 4 * BEND, 0.0, None

    def __init__(self, samples: int, dimension: int, runs: int, seed: int = 1):
        generator = np.random.default_rng([seed, samples])
        slopes = generator.normal(size=(1, runs, samples, dimension))
        slopes /= np.linalg.norm(slopes, axis=-1, keepdims=True)
        bends = BEND * generator.random((1, runs, samples, 1))
        self.records = np.concatenate([0.5 * SLOPE * slopes, bends], axis=-1)
        self.samples, self.dimension, self.passes = samples, dimension, list[Pass]()

    def stream(self) -> Pass:
        self.passes.append(Pass(self.records))
        return self.passes[-1]

    def gradients(self, points: Array, records: Array) -> Array:
        return np.asarray(records[..., :-1] + records[..., -1:] * points)

    def mean_gradient(self, points: Array, first: int, last: int) -> Array:
        """Of records first..last-1, at points (runs, d): the definition."""
        total = np.zeros_like(points)
        for place in range(first, last):
            total += self.gradients(points, self.records[0, :, place])
        return total / (last - first)

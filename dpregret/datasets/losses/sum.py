"""Sums of losses."""

from typing import Any, NamedTuple

import numpy as np

from dpregret.core.oracles import slope_at
from dpregret.numerics.arrays import Array


class Sum(NamedTuple):
    """f(x) = sum of f_i(x), losses of one kind."""

    terms: tuple[Any, ...]

    def value(self, points: Array) -> Array:
        """f at the points."""
        return self.value_and_gradient(points)[0]

    def gradient(self, points: Array) -> Array:
        """A subgradient at the points."""
        return self.value_and_gradient(points)[1]

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """f and a subgradient at the points."""
        pairs = [term.value_and_gradient(points) for term in self.terms]
        return sum(value for value, _ in pairs), sum(slope for _, slope in pairs)


@slope_at.add
def _slope_at_sum(loss: Sum, x, gradient, value, scratch):
    """Term by term."""
    part, slope = np.empty(x.shape[1]), np.empty(x.shape)
    slope_at(loss.terms[0], x, gradient, value, scratch)
    for i in range(1, len(loss.terms)):
        slope_at(loss.terms[i], x, slope, part, scratch)
        for r in range(x.shape[1]):
            value[r] += part[r]
        for k in range(x.shape[0]):
            for r in range(x.shape[1]):
                gradient[k, r] += slope[k, r]

"""Gauges (Minkowski functionals) of sets, and separation by them.

gamma(w) is the least s >= 0 for which center + w/s lies in the set, w a direction within its affine hull. An oracle
answers with a subgradient nu of gamma at w, within the hull: <nu, w> = gamma(w), so that one answer says both, and
<nu, z> <= gamma(z) <= 1 for every center + z of the set. |nu| <= 1/r where the set holds the ball of radius r.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpregret.core.sets import Oracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.sums import product

FEW = 256  # dimensions in which the normals of all facets are kept


class CoordinateGauge:
    """Of {-below_i <= w_i <= above_i}, with infinities where there is no bound.

    along: what takes a vector to its part within the hull. Of equal facets the first one, lower bounds before upper.
    """

    def __init__(self, below: Array, above: Array, along: Oracle):
        self.below, self.above, self.along = below, above, along

    def __call__(self, offsets: Array) -> Array:
        """+-e_i over its bound, i the coordinate that is farthest out, within the hull."""
        dimension = len(self.below)
        facets = _farthest(np.ascontiguousarray(offsets).reshape(-1, dimension), self.below, self.above)
        found = self._normals[facets] if dimension <= FEW else self.along(self._across(facets))
        return found.reshape(offsets.shape)

    def _across(self, facets: NDArray[np.int64]) -> Array:
        """+-e_i over its bound, (facets, d)."""
        rows, across = np.arange(len(facets)), np.zeros((len(facets), len(self.below)))
        across[rows, facets % len(self.below)] = np.concatenate([-1.0 / self.below, 1.0 / self.above])[facets]
        return across

    @cached_property
    def _normals(self) -> Array:
        """Of all facets, lower bounds before upper."""
        return self.along(self._across(np.arange(2 * len(self.below))))


@compiled
def _farthest(offsets: Array, below: Array, above: Array) -> NDArray[np.int64]:
    """The facet of each row (n, d) that it is farthest out at: i for the lower bound of coordinate i, or d + i."""
    facets = np.empty(len(offsets), dtype=np.int64)
    for row in range(len(offsets)):
        most, place = -np.inf, 0
        for i in range(len(below)):
            share = max(-offsets[row, i] / below[i], offsets[row, i] / above[i])
            if share > most:
                most, place = share, i
        facets[row] = place if offsets[row, place] < 0.0 else len(below) + place
    return facets


class FacetGauge:
    """Of listed facets {<a_i, w> <= b_i}, b > 0; the rows a_i (k, d) within the hull. The first of equal facets."""

    def __init__(self, rows: Array, bounds: Array):
        self.normals: Array = rows / bounds[:, None]

    def __call__(self, offsets: Array) -> Array:
        """a_i / b_i of the facet with the largest <a_i, w> / b_i."""
        chosen: Array = self.normals[np.argmax(product(offsets, self.normals.T), axis=-1)]
        return chosen

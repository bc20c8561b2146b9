"""Gauges (Minkowski functionals) of sets, and separation by them.

gamma(w) is the least s >= 0 for which center + w/s lies in the set, w a direction within its affine hull. An oracle
answers with a subgradient nu of gamma at w, within the hull: <nu, w> = gamma(w), so that one answer says both, and
<nu, z> <= gamma(z) <= 1 for every center + z of the set. |nu| <= 1/r where the set holds the ball of radius r.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.sums import product, vecdot

Oracle = Callable[[Array], Array]
"""Directions w (..., d) to vectors (..., d): subgradients, or normals of hyperplanes."""


class CoordinateGauge:
    """Of {-below_i <= w_i <= above_i}, with infinities where there is no bound.

    along: what takes a vector to its part within the hull. Of equal facets the first one, lower bounds before upper.
    """

    def __init__(self, below: Array, above: Array, along: Oracle):
        self.below, self.above, self.along = below, above, along

    def __call__(self, offsets: Array) -> Array:
        """+-e_i over its bound, i the coordinate that is farthest out, within the hull."""
        shares = np.maximum(-offsets / self.below, offsets / self.above)
        place = np.argmax(shares, axis=-1)
        low = np.take_along_axis(offsets, place[..., None], axis=-1) < 0.0
        size = np.where(low, -1.0 / self.below[place][..., None], 1.0 / self.above[place][..., None])
        normals = np.zeros_like(offsets)
        np.put_along_axis(normals, place[..., None], size, axis=-1)
        return self.along(normals)


class FacetGauge:
    """Of listed facets {<a_i, w> <= b_i}, b > 0; the rows a_i (k, d) within the hull. The first of equal facets."""

    def __init__(self, rows: Array, bounds: Array):
        self.normals: Array = rows / bounds[:, None]

    def __call__(self, offsets: Array) -> Array:
        """a_i / b_i of the facet with the largest <a_i, w> / b_i."""
        chosen: Array = self.normals[np.argmax(product(offsets, self.normals.T), axis=-1)]
        return chosen


def separation_by(gauge: Oracle) -> Oracle:
    """The separation oracle of a gauge: zero inside, else nu with <nu, w> > 1 >= <nu, z> for all z of the set."""

    def separate(offsets: Array) -> Array:
        normals = gauge(offsets)
        return np.where(vecdot(normals, offsets)[..., None] > 1.0, normals, 0.0)

    return separate

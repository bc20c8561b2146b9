"""Polytope of many corners in few dimensions."""

from __future__ import annotations

import numpy as np

from dpregret.algorithms.geometry.base import checked_dimension
from dpregret.algorithms.geometry.polytope import VertexPolytope
from dpregret.numerics.arrays import Array

SEED = 20150


class SignPolytope(VertexPolytope):
    """Convex hull of k = `corners` unit vectors +-s_i, s_i signs over sqrt(d) drawn by a fixed seed, all different.

    The number of corners and the dimension are chosen apart: for k <= 2^d even. Symmetric, of radius 1; its Gaussian
    width is about sqrt(2 ln k) as long as that is well below sqrt(d). The corners of a smaller k are among those of a
    larger one. By default k is 4 d, or 2^d where that is less.
    """

    name = "sign-polytope"
    title = "polytope of sign vectors"

    def __init__(self, dimension: int, *, corners: int | None = None):
        size = checked_dimension(self.name, dimension)
        most = 2 ** min(size, 40)
        count = min(4 * size, most) if corners is None else corners
        if not (isinstance(count, int) and 2 <= count <= most and count % 2 == 0):
            raise ValueError(f"corners of the set {self.name!r} must be an even number of 2..{most}, not {corners!r}")
        half = _different_signs(size, count // 2) / np.sqrt(size)
        super().__init__(size, vertices=np.concatenate([half, -half]))

    def _diameter(self) -> float:
        return 2.0

    def center(self) -> Array:
        """The origin (d,)."""
        return np.zeros(self.dimension)


def _different_signs(dimension: int, count: int) -> Array:
    """Sign vectors (count, dimension), no two equal or opposite: the first sign is +, the others are drawn."""
    generator, found = np.random.default_rng(SEED), dict[bytes, Array]()
    while len(found) < count:
        signs: Array = 1.0 - 2.0 * generator.integers(0, 2, size=dimension).astype(np.float64)
        signs[0] = 1.0
        found.setdefault(signs.tobytes(), signs)
    return np.stack(list(found.values()))

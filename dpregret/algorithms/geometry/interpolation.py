"""Ball of a norm between l1 and l2."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.geometry.ball import Ball
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.set_kinds import NormBall, checked_dimension
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

MOST_STEPS = 100
"""Every other step halves the bracket at least: enough for roots down to 2^-40 of it, to rounding."""

SETTLED = 4e-15
"""Relative length of the last step of Newton's method."""


class InterpolationBall(NormBall):
    """{x : (1 - a) |x|_1 + a |x|_2 <= radius}, a = `mixing` in [0, 1]: the l1 ball at 0, the l2 ball at 1.

    `max_distance_from` is exact from the center and for a in {0, 1}, an upper bound otherwise.
    """

    name = "interpolation"
    title = "interpolation ball"
    reference_tolerance = 1e-8

    def __init__(self, dimension: int, *, mixing: float = 0.5, radius: float = 1.0):
        super().__init__(checked_dimension(self.name, dimension), radius)
        if not 0.0 <= mixing <= 1.0:
            raise ValueError(f"mixing {mixing!r} is impossible for the set {self.name!r}; allowed: 0 (l1) to 1 (l2)")
        self.mixing = float(mixing)
        self._end: L1Ball | Ball | None = None
        if mixing in (0.0, 1.0):
            self._end = (L1Ball if mixing == 0.0 else Ball)(self.dimension, radius=radius)
        self._counts = np.arange(1.0, self.dimension + 1.0)

    def norm(self, points: Array) -> Array:
        """(1 - a) |x|_1 + a |x|_2."""
        euclidean = np.sqrt(vecdot(points, points))
        return (1.0 - self.mixing) * np.abs(points).sum(axis=-1) + self.mixing * euclidean

    def dual_norm(self, costs: Array) -> Array:
        """max_{norm(x) <= 1} <c, x>, (..., d) -> (...,): the s with |soft(c, (1 - a) s)|_2 = a s, by sorting.

        The norm is the support function of (1 - a) B_inf + a B_2; c lies in s times that sum where its distance
        from (1 - a) s B_inf, the norm of the soft threshold, is at most a s.
        """
        if self.mixing in (0.0, 1.0):
            return np.abs(costs).max(axis=-1) if self.mixing == 0.0 else np.sqrt(vecdot(costs, costs))
        keep, mix = 1.0 - self.mixing, self.mixing
        ordered, drops, first, second = self._sorted_sums(np.abs(costs))
        # Coordinate k is kept where the threshold (1 - a) s stays below it: soft(c, c_k) is shorter than a c_k/(1-a).
        lengths = np.maximum(second - 2.0 * drops * first + self._counts * drops**2, 0.0)
        last = self._last(keep**2 * lengths < (mix * ordered) ** 2)
        drop, square = (np.take_along_axis(values, last, axis=-1)[..., 0] for values in (first, second))
        count, largest = last[..., 0] + 1.0, ordered[..., 0]
        sums = count * largest - drop
        squares = count * largest**2 - 2.0 * largest * drop + square
        discriminant = mix**2 * squares - keep**2 * (count * square - drop**2)
        denominator = keep * sums + np.sqrt(np.maximum(discriminant, 0.0))
        return squares / np.where(denominator > 0.0, denominator, 1.0)

    def linear_oracle(self, cost: Array) -> Array:
        """-R z / norm(z) with z = soft(c, (1 - a) dual_norm(c)); R e_1 where the cost is zero."""
        if self._end is not None:
            return self._end.linear_oracle(cost)
        sizes = np.abs(cost)
        shrunk = np.maximum(sizes - (1.0 - self.mixing) * self.dual_norm(cost)[..., None], 0.0)
        lengths = self.norm(shrunk)[..., None]
        zero = lengths == 0.0
        points: Array = np.copysign(shrunk, -cost) * (self.radius / np.where(zero, 1.0, lengths))
        points[..., :1] += self.radius * zero
        return points

    def project(self, points: Array) -> Array:
        """R z / norm(z) with z = soft(y, (1 - a) l), l the multiplier; points inside come back unchanged.

        The proximal point of l norm is z (1 - l a / |z|_2), so l solves (|z|_2 - a l) norm(z) = R |z|_2.
        """
        if self._end is not None:
            return self._end.project(points)
        outside = self.norm(points) > self.radius
        if not outside.any():
            return points.copy()
        projected: Array = points.copy()
        far = points[outside]
        shrunk = np.maximum(np.abs(far) - self._threshold(far)[..., None], 0.0)
        projected[outside] = np.copysign(shrunk, far) * (self.radius / self.norm(shrunk))[..., None]
        return projected

    def _threshold(self, points: Array) -> Array:
        """(1 - a) times the multiplier of the projection, (n, d) -> (n,), for points outside."""
        keep, mix, radius = 1.0 - self.mixing, self.mixing, self.radius
        ordered, drops, first, second = self._sorted_sums(np.abs(points))
        largest = ordered[..., 0]

        def equation(depth: Array, count: Array, drop: Array, square: Array, top: Array) -> tuple[Array, Array]:
            """(|z|_2 - a l) norm(z) - R |z|_2 and its slope, z = (depth - drops)_+, threshold = top - depth."""
            absolute = count * depth - drop
            euclidean = np.sqrt(np.maximum(count * depth**2 - 2.0 * depth * drop + square, 0.0))
            norm = keep * absolute + mix * euclidean
            excess = euclidean - mix * (top - depth) / keep
            euclidean_slope = absolute / np.where(euclidean > 0.0, euclidean, 1.0)
            slope = (euclidean_slope + mix / keep) * norm - radius * euclidean_slope
            return excess * norm - radius * euclidean, slope + excess * (keep * count + mix * euclidean_slope)

        at_coordinates, _ = equation(drops, self._counts, first, second, ordered[..., :1])
        last = self._last((at_coordinates < 0.0) | (drops == 0.0))
        count = self._counts[last[..., 0]]
        drop, square, low = (np.take_along_axis(values, last, axis=-1)[..., 0] for values in (first, second, drops))
        following = np.minimum(last + 1, self.dimension - 1)
        next_drop = np.take_along_axis(drops, following, axis=-1)[..., 0]
        high = np.where(count < self.dimension, next_drop, largest)
        depth = increasing_root(lambda depth: equation(depth, count, drop, square, largest), low, high)
        return largest - depth

    @staticmethod
    def _sorted_sums(sizes: Array) -> tuple[Array, Array, Array, Array]:
        """Sizes in falling order, their drops below the largest, sums of the drops and of their squares."""
        ordered = np.sort(sizes, axis=-1)[..., ::-1]
        drops = ordered[..., :1] - ordered
        return ordered, drops, np.cumsum(drops, axis=-1), np.cumsum(drops**2, axis=-1)

    @staticmethod
    def _last(holds: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Index (..., 1) of the last entry of the leading run of True (0 where there is none)."""
        counts: NDArray[np.intp] = np.logical_and.accumulate(holds, axis=-1).sum(axis=-1, keepdims=True)
        return np.maximum(counts - 1, 0)

    def norm_gradient(self, points: Array) -> Array:
        """(1 - a) sign(x) + a x / |x|_2."""
        lengths = np.sqrt(vecdot(points, points))[..., None]
        directions = points / np.where(lengths > 0.0, lengths, 1.0)
        return (1.0 - self.mixing) * np.sign(points) + self.mixing * directions

    def inner_radius(self) -> float:
        """radius / ((1 - a) sqrt(d) + a), exact: |x|_1 is at most sqrt(d) |x|_2."""
        return self.radius / ((1.0 - self.mixing) * math.sqrt(self.dimension) + self.mixing)

    def cvxpy_norm(self, variable: Any) -> Any:
        """The two norms, mixed."""
        import cvxpy

        return (1.0 - self.mixing) * cvxpy.norm(variable, 1) + self.mixing * cvxpy.norm(variable, 2)


def increasing_root(equation: Callable[[Array], tuple[Array, Array]], low: Array, high: Array) -> Array:
    """Root (...,) of an increasing function between low and high (...,), to rounding, entry by entry.

    equation maps (...,) to value and slope (...,). Newton's step where it stays inside the bracket and is at most
    half as long as the step before, else to the midpoint; starts at `high`, from where Newton never overshoots
    on a convex function. A root outside the bracket comes back as the nearer end.
    """
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    roots = high.copy()
    lengths = high - low
    settled = np.zeros(roots.shape, dtype=bool)
    for _ in range(MOST_STEPS):
        values, slopes = equation(roots)
        high = np.where(values > 0.0, roots, high)
        low = np.where(values > 0.0, low, roots)
        steps = values / np.where(slopes > 0.0, slopes, np.inf)
        newton = roots - steps
        good = (newton >= low) & (newton <= high) & (slopes > 0.0) & (2.0 * np.abs(steps) <= lengths)
        # Newton's last steps are rounding of the values: a midpoint would lead away from the root again.
        settled |= values == 0.0
        roots, before = np.where(settled, roots, np.where(good, newton, low + 0.5 * (high - low))), roots
        settled |= good & (np.abs(steps) <= SETTLED * np.abs(roots))
        lengths = np.abs(roots - before)
        if np.all(lengths <= 2.0 * np.spacing(np.abs(roots))):
            break
    return roots

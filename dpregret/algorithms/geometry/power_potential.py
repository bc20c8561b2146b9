"""Potentials of mirror descent that are powers: of l_q norms, of block norms, of singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpregret.algorithms.geometry.grouped import GroupedL1Ball
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.mass import same_shape
from dpregret.algorithms.geometry.matrices import NuclearBall, as_matrices
from dpregret.algorithms.geometry.potential import Potential
from dpregret.algorithms.geometry.roots import increasing_root
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import power
from dpregret.numerics.jacobi import composed, singular
from dpregret.numerics.sums import vecdot

if TYPE_CHECKING:
    from dpregret.algorithms.geometry.potential_kernels import PotentialRule


def threshold_for_powers(values: Array, exponent: float) -> Array:
    """(v_i - l)_+ with the smallest l >= 0 for which the sum of their powers is at most 1, rowwise.

    values (..., k) >= 0, exponent r >= 1. With l = max v - m, m lies between k^(-1/r) and 1 (where the largest
    alone makes the sum 1), a convex increasing equation.
    """
    largest = values.max(axis=-1)
    drops = largest[..., None] - values

    def equation(height: Array) -> tuple[Array, Array]:
        kept = np.maximum(height[..., None] - drops, 0.0)
        slopes = power(np.where(kept > 0.0, kept, 1.0), exponent - 1.0) * (kept > 0.0)
        return vecdot(slopes, kept) - 1.0, exponent * slopes.sum(axis=-1)

    high = np.ones_like(largest)
    height = np.minimum(increasing_root(equation, high * values.shape[-1] ** (-1.0 / exponent), high), largest)
    kept: Array = np.maximum(height[..., None] - drops, 0.0)
    return kept


class QNormPotential(Potential):
    """|x / R|_q^2 / (2 (q - 1)) on the l1 ball, q = s / (s - 1) with s = max(2, ln d): l_q mirror descent.

    Modulus 1 in |.|_q, which makes it d^(-2/s) >= e^-2 in l1, since |x|_1 <= d^(1/s) |x|_q. Maximum, at the
    vertices, (s - 1) / 2 (Talwar, Thakurta & Zhang 2015, Fact 3.4 and Claim 3.5 for the d vertices e_j; the
    factor 1 / (4 (q - 1)) printed there has modulus 1/2). The printed q is for d >= 8; below that q = 2 does.

    The state is the gradient of Psi in x / R, and then the point, which follows from it without finding it again.
    """

    name = "q-norm"

    def __init__(self, ball: L1Ball):
        self.body = ball
        self._radius = ball.radius
        self._dual = max(2.0, float(np.log(ball.dimension)))
        self._rise = self._dual - 1.0
        self.exponent = self._dual / self._rise
        self.maximum = 0.5 * self._rise
        self.modulus = float(ball.dimension ** (-2.0 / self._dual))

    def start(self) -> Array:
        """The origin twice (2 d,)."""
        return np.tile(self.body.center(), 2)

    def lift(self, points: Array) -> Array:
        """States of points (..., d)."""
        units = points / self._radius
        norms = np.maximum(self._norm(units), np.finfo(float).tiny)[..., None]
        sizes = self._rise * norms * power(np.abs(units) / norms, self.exponent - 1.0)
        return np.concatenate([np.copysign(sizes, units), points], axis=-1)

    def point(self, states: Array) -> Array:
        """The second half."""
        return states[..., self.body.dimension :]

    def value(self, states: Array) -> Array:
        """|x / R|_q^2 / (2 (q - 1))."""
        half: Array = 0.5 * self._rise * self._norm(self.point(states) / self._radius) ** 2
        return half

    def _norm(self, points: Array) -> Array:
        total: Array = power(np.sum(power(np.abs(points), self.exponent), axis=-1), 1.0 / self.exponent)
        return total

    def step(self, states: Array, scaled_gradients: Array) -> Array:
        """The inverse gradient map of the soft-thresholded dual vector; the threshold is a scalar root a row."""
        duals = states[..., : self.body.dimension] - self._radius * scaled_gradients
        largest = np.abs(duals).max(axis=-1)
        drops = largest[..., None] - np.abs(duals)
        high = np.full_like(largest, self._rise)

        def equation(height: Array) -> tuple[Array, Array]:
            kept, low_power, norm = self._inverse(height, drops)
            powers = [vecdot(low_power, kept**order) for order in (0, 1, 2)]
            rise = self._rise
            growth = ((1.0 - rise) * powers[1] / powers[2] + rise * powers[0] / powers[1]) / height
            return norm - 1.0, norm * growth

        # The l1 norm of the result lies between m / r and d^(2/s) m / r, m the height and r = s - 1.
        root = increasing_root(equation, high * self.modulus, high)
        height = np.minimum(root, largest)
        kept, low_power, norm = self._inverse(height, drops)
        powers = low_power * kept
        scale = self._radius * norm / powers.sum(axis=-1)
        sizes = np.concatenate([height[..., None] * kept, powers * scale[..., None]], axis=-1)
        moved: Array = np.copysign(sizes, np.concatenate([duals, duals], axis=-1))
        return moved

    @property
    def rule(self) -> PotentialRule:
        """Radius, s, modulus."""
        from dpregret.algorithms.geometry.potential_kernels import Q_NORM, PotentialRule

        return PotentialRule(Q_NORM, np.array([self._radius, self._dual, self.modulus]))

    def _inverse(self, height: Array, drops: Array) -> tuple[Array, Array, Array]:
        """For dual sizes z = (height - drops)_+: t = z / height, t^(r-1) where t > 0, and the l1 norm of the point.

        The point is |z|_s^(2-s) z^(s-1) / r, s = r + 1.
        """
        safe = np.where(height > 0.0, height, 1.0)[..., None]
        kept = np.maximum(1.0 - drops / safe, 0.0)
        low_power = power(np.where(kept > 0.0, kept, 1.0), self._rise - 1.0) * (kept > 0.0)
        powers = low_power * kept
        lengths = vecdot(powers, kept)
        norm: Array = height / self._rise * power(lengths, (1.0 - self._rise) / self._dual) * powers.sum(axis=-1)
        return kept, low_power, norm


class GroupedPotential(Potential):
    """sum_j |x^(j) / R|_2^M / (M xi) over N blocks; modulus 1 in the grouped l1 norm.

    M = 1 + 1 / ln N and xi = 1 / (e ln N) for N > 2, M = 2 and xi = 1 / N for N <= 2 (Talwar, Thakurta & Zhang
    2015, sec. 3.2, where M also names the number of blocks). Maximum 1 / (M xi), at a single block: of order ln N.
    """

    name = "grouped"
    modulus = 1.0

    def __init__(self, ball: GroupedL1Ball):
        self.body = ball
        self._ball = ball
        count = ball.block_count
        log = float(np.log(count))
        self.exponent = 2.0 if count <= 2 else 1.0 + 1.0 / log
        self._slope = float(count) if count <= 2 else float(np.e) * log
        self.maximum = self._slope / self.exponent

    def start(self) -> Array:
        """The origin (d,)."""
        return self._ball.center()

    def value(self, states: Array) -> Array:
        """sum_j |x^(j) / R|_2^M / (M xi)."""
        norms = self._ball.block_norms(states) / self._ball.radius
        total: Array = self.maximum * np.sum(power(norms, self.exponent), axis=-1)
        return total

    def step(self, states: Array, scaled_gradients: Array) -> Array:
        """Dual block norms soft-thresholded, then raised to 1 / (M - 1); the threshold is a scalar root a row."""
        ball = self._ball
        units = states / ball.radius
        norms = ball.block_norms(units)
        factors = power(np.where(norms > 0.0, norms, 1.0), self.exponent - 2.0)
        shift = ball.blocks(scaled_gradients) * (ball.radius / self._slope)
        duals = ball.blocks(units) * factors[..., None] - shift
        lengths = np.sqrt(vecdot(duals, duals))
        inverse = 1.0 / (self.exponent - 1.0)
        sizes = power(threshold_for_powers(lengths, inverse), inverse)
        scale = ball.radius * sizes / np.where(lengths > 0.0, lengths, 1.0)
        moved: Array = duals * scale[..., None]
        return moved.reshape(*moved.shape[:-2], ball.dimension)

    @property
    def rule(self) -> PotentialRule:
        """Radius, block size, slope, exponent."""
        from dpregret.algorithms.geometry.potential_kernels import GROUPED, PotentialRule

        numbers = [self._ball.radius, self._ball.block_size, self._slope, self.exponent]
        return PotentialRule(GROUPED, np.array(numbers))


class SpectralPotential(Potential):
    """c sum_i sigma_i(X / R)^(1+q), q = 1 / (2 ln 2m), c = 4 sqrt(e) ln(2m) / (2^q (1+q)), on the nuclear ball.

    Maximum c, at rank one. Modulus 2 in the nuclear norm, attained at X with equal singular values (Talwar,
    Thakurta & Zhang 2015, sec. 3.2, print 4 sqrt(e ln 2m), whose modulus 2 / sqrt(ln 2m) is below 1 from m = 28).

    The state is U diag(sigma^q) V^T, a multiple of the gradient of Psi, and then the point: singular values that matter
    there are lost to rounding in X itself (0.02^(1/q) is 3e-17 at m = 64), and X follows without decomposing it again.
    """

    name = "spectral"
    modulus = 2.0

    def __init__(self, ball: NuclearBall):
        self.body = ball
        self._ball = ball
        log = float(np.log(2.0 * ball.side))
        self.exponent = 0.5 / log
        self._slope = 4.0 * float(np.sqrt(np.e)) * log / 2.0**self.exponent
        self.maximum = self._slope / (1.0 + self.exponent)

    def start(self) -> Array:
        """The zero matrix twice, as vectors (m * m,)."""
        return np.tile(self._ball.center(), 2)

    def lift(self, points: Array) -> Array:
        """States of points (..., m * m)."""
        left, values, right = singular(as_matrices(points / self._ball.radius, self._ball.side))
        lifted = composed(left, power(values, self.exponent), right)
        return np.concatenate([lifted.reshape(points.shape), points], axis=-1)

    def point(self, states: Array) -> Array:
        """R U diag(s^(1/q)) V^T for a state with singular values s."""
        return states[..., self._ball.dimension :]

    def value(self, states: Array) -> Array:
        """c sum_i s_i^(1 + 1/q) for a state with singular values s."""
        values = singular(as_matrices(self._dual(states), self._ball.side))[1]
        total: Array = self.maximum * np.sum(power(values, 1.0 + 1.0 / self.exponent), axis=-1)
        return total

    def step(self, states: Array, scaled_gradients: Array) -> Array:
        """Singular values of state - R g / (c (1+q)), soft-thresholded so that the point is in the ball."""
        from dpregret.algorithms.geometry.singular import spectral_step

        duals, scaled_gradients = same_shape(self._dual(states), scaled_gradients)
        moved = duals - scaled_gradients * (self._ball.radius / self._slope)
        return spectral_step(moved, self._ball.radius, 1.0 / self.exponent)

    def _dual(self, states: Array) -> Array:
        return states[..., : self._ball.dimension]

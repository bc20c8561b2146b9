"""Potentials of mirror descent that are powers: of l_q norms, of block norms, of singular values."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpregret.algorithms.geometry.grouped import GroupedL1Ball
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.mass import same_shape
from dpregret.algorithms.geometry.matrices import NuclearBall, as_matrices
from dpregret.algorithms.geometry.potential import Potential
from dpregret.algorithms.geometry.powers import CLOSE, dual_height, keep_powers
from dpregret.core.oracles import mirror_step, point_of
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import finite_power, power
from dpregret.numerics.jacobi import composed, singular


class QNorm(NamedTuple):
    """States are the gradient of Psi in x / R, and then the point. dual: s."""

    radius: float
    dual: float
    modulus: float


@point_of.add
def _(potential: QNorm, state, x, s):
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = state[x.shape[0] + k, r]


@mirror_step.add
def _(potential: QNorm, state, gradient, s):
    """The inverse gradient map of the soft-thresholded dual vector; the threshold is a root, sought from the last on.

    The l1 norm of the result lies between m / (s - 1) and d^(2/s) m / (s - 1), m the height.
    """
    (d, runs), radius, rise = gradient.shape, potential.radius, potential.dual - 1.0
    slopes, sizes, kept, powers, work = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty((2, d))
    last, top, size = np.zeros(runs), np.zeros(runs), np.zeros(runs)
    for k in range(d):
        for r in range(runs):
            last[r] = max(abs(state[k, r]), last[r])
        for r in range(runs):
            state[k, r] -= radius * gradient[k, r]
        for r in range(runs):
            top[r] = max(abs(state[k, r]), top[r])
        for r in range(runs):
            size[r] += abs(state[d + k, r])
    for r in range(runs):
        for k in range(d):
            slopes[k] = state[k, r]
            sizes[k] = abs(slopes[k])
        low, high = min(rise * potential.modulus, top[r]), min(rise, top[r])
        first = high if size[r] < radius * (1.0 - CLOSE) else min(max(last[r], low), high)
        height, norm, total = dual_height(sizes, top[r], first, low, high, potential.dual, kept, powers, work)
        scale = radius * min(norm, 1.0) / total
        for k in range(d):
            state[k, r] = np.copysign(height * kept[k], slopes[k])
            state[d + k, r] = np.copysign(powers[k] * scale, slopes[k])


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
        self._dual = max(2.0, math.log(ball.dimension))
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

    def value(self, states: Array) -> Array:
        """|x / R|_q^2 / (2 (q - 1))."""
        half: Array = 0.5 * self._rise * self._norm(self.point(states) / self._radius) ** 2
        return half

    def _norm(self, points: Array) -> Array:
        total: Array = power(np.sum(power(np.abs(points), self.exponent), axis=-1), 1.0 / self.exponent)
        return total

    @property
    def data(self) -> QNorm:
        """Radius, s, modulus."""
        return QNorm(self._radius, self._dual, self.modulus)


class Grouped(NamedTuple):
    """Blocks of a size, slope = 1 / xi, exponent M; states are points."""

    radius: float
    block: int
    slope: float
    exponent: float


@point_of.add
def _(potential: Grouped, state, x, s):
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = state[k, r]


@mirror_step.add
def _(potential: Grouped, state, gradient, s):
    """Dual block norms soft-thresholded, then raised to 1 / (M - 1); the threshold is a root."""
    block, radius, exponent = int(potential.block), potential.radius, potential.exponent
    count, inverse, rate = state.shape[0] // block, 1.0 / (exponent - 1.0), radius / potential.slope
    duals, sizes, kept, work = np.empty(state.shape[0]), np.empty(count), np.empty(count), np.empty((2, count))
    for r in range(state.shape[1]):
        for i in range(count):
            square = 0.0
            for k in range(i * block, (i + 1) * block):
                duals[k] = state[k, r] / radius
                square += duals[k] * duals[k]
            sizes[i] = np.sqrt(square)
        for i in range(count):
            kept[i] = finite_power(sizes[i], exponent - 2.0)
        for i in range(count):
            square = 0.0
            for k in range(i * block, (i + 1) * block):
                duals[k] = duals[k] * kept[i] - gradient[k, r] * rate
                square += duals[k] * duals[k]
            sizes[i] = np.sqrt(square)
        keep_powers(sizes, inverse, kept, work)
        for i in range(count):
            kept[i] = finite_power(kept[i], inverse) * radius / (sizes[i] if sizes[i] > 0.0 else 1.0)
        for i in range(count):
            for k in range(i * block, (i + 1) * block):
                state[k, r] = duals[k] * kept[i]


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
        log = math.log(count)
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

    @property
    def data(self) -> Grouped:
        """Radius, block size, slope, exponent."""
        return Grouped(self._ball.radius, self._ball.block_size, self._slope, self.exponent)


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
        log = math.log(2.0 * ball.side)
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

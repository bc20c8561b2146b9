"""Potentials of mirror descent: strongly convex functions on a constraint set, with their Bregman step.

What loops know of a potential is a NamedTuple with the texts `point_of` and `mirror_step` (dpregret.core.oracles),
plain loops over states (k, runs). Thresholds of sums of powers are roots of increasing equations, found by Newton.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.ball import Ball
from dpregret.algorithms.geometry.grouped import GroupedL1Ball
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.matrices import NuclearBall, measure, orthogonal_rows, recompose
from dpregret.algorithms.geometry.polytope import VertexPolytope
from dpregret.algorithms.geometry.set_kinds import CountedSet, data_of
from dpregret.algorithms.geometry.simplex import Simplex
from dpregret.core.errors import not_allowed
from dpregret.core.oracles import by_methods, inner, mirror_step, point_of, project
from dpregret.core.sets import ConstraintSet, UnsupportedSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.elementary import exp_of, finite_power, log_of, power_of
from dpregret.numerics.sums import add_product, dot

SETTLED = 1e-13  # of ln(norm), whose rounding is a tenth of it
CLOSE = 1e-9  # relative length of Newton's last step, whose error is about its square


@dataclass(frozen=True, kw_only=True)
class Potential:
    """A function Psi >= 0 on a set C, zero at `start`.

    A learner stores a state (k,), whose image is the point (d,). A state is the point itself
    unless the potential says otherwise. Potentials of norm balls are those of the unit ball at theta / R, and
    their strong convexity is measured in the norm |theta| / R whose unit ball is the set.
    """

    name: str
    body: ConstraintSet
    """Symmetric body Q whose gauge is the norm of the strong convexity; max_{x in Q} <g, x> is its dual norm."""
    modulus: float = 1.0
    """Psi(v) >= Psi(u) + <grad Psi(u), v - u> + (modulus / 2) |v - u|_Q^2 on C."""
    maximum: float
    """max Psi over C; at the start Psi is 0 and minimal, so it bounds the Bregman divergence from there."""
    start: Array
    """State (k,) of the minimiser of Psi over C."""
    data: Any
    """Its parameters for compiled loops."""
    over_printed: float = 1.0
    """Psi over the potential that Talwar, Thakurta & Zhang 2015 print."""


class Euclidean(NamedTuple):
    """Projected steps: states are points."""

    domain: Any


@point_of.add
def _point_of_euclidean(potential: Euclidean, state, x, scratch):
    """The last rows of a state: all of them, unless it is more than a point."""
    first = state.shape[0] - x.shape[0]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = state[first + k, r]


@mirror_step.add
def _mirror_step_euclidean(potential: Euclidean, state, gradient, scratch):
    """Project(x - g)."""
    for k in range(state.shape[0]):
        for r in range(state.shape[1]):
            state[k, r] -= gradient[k, r]
    project(potential.domain, state, scratch)


def euclidean(constraint_set: ConstraintSet) -> Potential:
    """|x - center|_2^2 / 2: projected gradient descent; modulus 1 in l2, maximum half the square of the radius.

    Loops hold the set's data where its projection is compiled (the caller then counts calls); else they call the set.
    """
    center, inner = constraint_set.center(), data_of(constraint_set)
    return Potential(
        name="euclidean",
        body=Ball(constraint_set.dimension),
        maximum=0.5 * constraint_set.max_distance_from(center) ** 2,
        start=center,
        data=Euclidean(inner if type(inner) in project.kinds else by_methods(constraint_set)),
    )


@inlined
def _weigh(state, weights, scratch):
    """weights = e^(state - its largest), and their sums in s[8]."""
    for r in range(state.shape[1]):
        scratch[8, r] = state[0, r]
    for k in range(state.shape[0]):
        for r in range(state.shape[1]):
            scratch[8, r] = max(state[k, r], scratch[8, r])
    for k in range(state.shape[0]):
        for r in range(state.shape[1]):
            weights[k, r] = exp_of(state[k, r] - scratch[8, r])
    inner(weights, None, scratch[8], scratch)


def entropy(body: ConstraintSet, count: int, data: Any) -> Potential:
    """sum_i w_i ln(k w_i) over weights w of k vertices: exponentiated gradient; modulus 1 in |w|_1, maximum ln k.

    The state is the logarithms of the weights up to one constant: no weight is lost to rounding permanently. A
    difference of weights has an image of no larger gauge in the body, the symmetric hull of the vertices, and the dual
    norm of a lifted gradient is its largest value on the body.
    """
    return Potential(name="entropy", body=body, maximum=math.log(count), start=np.zeros(count), data=data)


class SimplexWeights(NamedTuple):
    """Weights that are the point."""

    total: float


@point_of.add
def _point_of_simplex_weights(potential: SimplexWeights, state, x, scratch):
    _weigh(state, x, scratch)
    for r in range(x.shape[1]):
        scratch[8, r] = potential.total / scratch[8, r]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] *= scratch[8, r]


@mirror_step.add
def _mirror_step_simplex_weights(potential: SimplexWeights, state, gradient, scratch):
    """Weights in proportion to w_i exp(-g_i)."""
    for k in range(state.shape[0]):
        for r in range(state.shape[1]):
            state[k, r] -= gradient[k, r]


def simplex_entropy(simplex: Simplex) -> Potential:
    """Entropy on the simplex, whose points are their own weights; modulus 1 in l1, maximum ln d."""
    return entropy(L1Ball(simplex.dimension), simplex.dimension, SimplexWeights(1.0))


class SignedWeights(NamedTuple):
    """Weights of R e_j, and then of -R e_j."""

    radius: float


@point_of.add
def _point_of_signed_weights(potential: SignedWeights, state, x, scratch):
    """R (w_plus - w_minus)."""
    d, weights = x.shape[0], np.empty(state.shape)
    _weigh(state, weights, scratch)
    for r in range(x.shape[1]):
        scratch[8, r] = potential.radius / scratch[8, r]
    for k in range(d):
        for r in range(x.shape[1]):
            x[k, r] = scratch[8, r] * (weights[k, r] - weights[d + k, r])


@mirror_step.add
def _mirror_step_signed_weights(potential: SignedWeights, state, gradient, scratch):
    """Weights in proportion to w_plus exp(-R g), w_minus exp(R g)."""
    d = gradient.shape[0]
    for k in range(d):
        for r in range(state.shape[1]):
            score = potential.radius * gradient[k, r]
            state[k, r] -= score
            state[d + k, r] += score


def signed_entropy(ball: L1Ball) -> Potential:
    """Entropy of 2 d weights on the vertices +R e_j, -R e_j of the l1 ball: EG+-; maximum ln(2 d)."""
    return entropy(ball, 2 * ball.dimension, SignedWeights(ball.radius))


class VertexWeights(NamedTuple):
    """Weights of vertices (k, d); these, and transposed."""

    vertices: Array
    coordinates: Array


@point_of.add
def _point_of_vertex_weights(potential: VertexWeights, state, x, scratch):
    """Sum of w_i v_i."""
    weights = np.empty(state.shape)
    _weigh(state, weights, scratch)
    for k in range(state.shape[0]):
        for r in range(x.shape[1]):
            weights[k, r] /= scratch[8, r]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = 0.0
    add_product(potential.coordinates, weights, x)


@mirror_step.add
def _mirror_step_vertex_weights(potential: VertexWeights, state, gradient, scratch):
    """Weights in proportion to w_i exp(-<g, v_i>)."""
    scores = np.zeros(state.shape)
    add_product(potential.vertices, gradient, scores)
    for k in range(state.shape[0]):
        for r in range(state.shape[1]):
            state[k, r] -= scores[k, r]


def vertex_entropy(polytope: VertexPolytope) -> Potential:
    """Entropy of weights on the k vertices of a polytope; maximum ln k."""
    vertices = polytope.vertices
    both = np.unique(np.vstack([vertices, -vertices]), axis=0)
    data = VertexWeights(np.ascontiguousarray(vertices), np.ascontiguousarray(vertices.T))
    return entropy(VertexPolytope(polytope.dimension, vertices=both), len(vertices), data)


class QNorm(NamedTuple):
    """States are the gradient of Psi in x / R, and then the point. dual: s."""

    radius: float
    dual: float
    modulus: float


point_of.kinds[QNorm] = point_of.kinds[Euclidean]


@mirror_step.add
def _mirror_step_qnorm(potential: QNorm, state, gradient, scratch):
    """The inverse gradient map of the soft-thresholded dual vector; the threshold is a root, sought from the last on.

    The l1 norm of the result lies between m / (s - 1) and d^(2/s) m / (s - 1), m the height.
    """
    (d, runs), radius, rise = gradient.shape, potential.radius, potential.dual - 1.0
    slopes, sizes, shrunk, powers, work = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty((2, d))
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
        height, norm, total = dual_height(sizes, top[r], (first, low, high), potential.dual, shrunk, powers, work)
        scale = radius * min(norm, 1.0) / total
        for k in range(d):
            state[k, r] = np.copysign(height * shrunk[k], slopes[k])
            state[d + k, r] = np.copysign(powers[k] * scale, slopes[k])


def q_norm(ball: L1Ball) -> Potential:
    """|x / R|_q^2 / (2 (q - 1)) on the l1 ball, q = s / (s - 1) with s = max(2, ln d): l_q mirror descent.

    Modulus 1 in |.|_q, which makes it d^(-2/s) >= e^-2 in l1, since |x|_1 <= d^(1/s) |x|_q. Maximum, at the
    vertices, (s - 1) / 2 (Talwar, Thakurta & Zhang 2015, Fact 3.4 and Claim 3.5 for the d vertices e_j; the
    factor 1 / (4 (q - 1)) printed there has modulus 1/2). The printed q is for d >= 8; below that q = 2 does.

    The state is the gradient of Psi in x / R, and then the point, which then need not be computed again.
    """
    dual = max(2.0, math.log(ball.dimension))
    modulus = float(ball.dimension ** (-2.0 / dual))
    return Potential(
        name="q-norm",
        body=ball,
        modulus=modulus,
        maximum=0.5 * (dual - 1.0),
        start=np.tile(ball.center(), 2),
        data=QNorm(ball.radius, dual, modulus),
        over_printed=2.0,
    )


class Grouped(NamedTuple):
    """Blocks of a size, slope = 1 / xi, exponent M; states are points."""

    radius: float
    block: int
    slope: float
    exponent: float


point_of.kinds[Grouped] = point_of.kinds[Euclidean]


@mirror_step.add
def _mirror_step_grouped(potential: Grouped, state, gradient, scratch):
    """Dual block norms soft-thresholded, then raised to 1 / (M - 1); the threshold is a root."""
    block, radius, exponent = int(potential.block), potential.radius, potential.exponent
    count, inverse, rate = state.shape[0] // block, 1.0 / (exponent - 1.0), radius / potential.slope
    duals, sizes, scales, work = np.empty(state.shape[0]), np.empty(count), np.empty(count), np.empty((2, count))
    for r in range(state.shape[1]):
        for i in range(count):
            square = 0.0
            for k in range(i * block, (i + 1) * block):
                duals[k] = state[k, r] / radius
                square += duals[k] * duals[k]
            sizes[i] = np.sqrt(square)
        for i in range(count):
            scales[i] = finite_power(sizes[i], exponent - 2.0)
        for i in range(count):
            square = 0.0
            for k in range(i * block, (i + 1) * block):
                duals[k] = duals[k] * scales[i] - gradient[k, r] * rate
                square += duals[k] * duals[k]
            sizes[i] = np.sqrt(square)
        shrink_to_powers(sizes, inverse, scales, work)
        for i in range(count):
            scales[i] = finite_power(scales[i], inverse) * radius / (sizes[i] if sizes[i] > 0.0 else 1.0)
        for i in range(count):
            for k in range(i * block, (i + 1) * block):
                state[k, r] = duals[k] * scales[i]


def grouped(ball: GroupedL1Ball) -> Potential:
    """sum_j |x^(j) / R|_2^M / (M xi) over N blocks; modulus 1 in the grouped l1 norm.

    M = 1 + 1 / ln N and xi = 1 / (e ln N) for N > 2, M = 2 and xi = 1 / N for N <= 2 (Talwar, Thakurta & Zhang
    2015, sec. 3.2, where M also names the number of blocks). Maximum 1 / (M xi), at a single block: of order ln N.
    """
    count = ball.block_count
    log = math.log(count)
    exponent, slope = (2.0, float(count)) if count <= 2 else (1.0 + 1.0 / log, float(np.e) * log)
    return Potential(
        name="grouped",
        body=ball,
        maximum=slope / exponent,
        start=ball.center(),
        data=Grouped(ball.radius, ball.block_size, slope, exponent),
    )


class Spectral(NamedTuple):
    """States are U diag(sigma^q) V^T, and then the point. inverse: 1 / q; slope: c (1 + q)."""

    side: int
    radius: float
    inverse: float
    slope: float


point_of.kinds[Spectral] = point_of.kinds[Euclidean]


@mirror_step.add
def _mirror_step_spectral(potential: Spectral, state, gradient, scratch):
    """Singular values of state - R g / (c (1+q)), soft-thresholded so that R U diag(s^(1/q)) V^T is inside."""
    (size, runs), side, rate = gradient.shape, potential.side, potential.radius / potential.slope
    matrices, moved = np.empty((runs, side, side)), np.empty((2, side, side))
    lengths, values, weights, work = np.empty(side), np.empty(side), np.empty((2, side)), np.empty((2, side))
    for k in range(size):
        for r in range(runs):
            matrices[r, k // side, k % side] = state[k, r] - gradient[k, r] * rate
    rows = matrices.copy()
    scales = orthogonal_rows(rows)
    for r in range(runs):
        measure(rows[r], scales[r], lengths, values)
        shrink_to_powers(values, potential.inverse, weights[0], work)
        for i in range(side):
            weights[1, i] = potential.radius * power_of(weights[0, i], potential.inverse)
        recompose(matrices[r], rows[r], lengths, scales[r], weights, moved)
        for k in range(size):
            state[k, r], state[size + k, r] = moved[0, k // side, k % side], moved[1, k // side, k % side]


def spectral(ball: NuclearBall) -> Potential:
    """c sum_i sigma_i(X / R)^(1+q), q = 1 / (2 ln 2m), c = 4 sqrt(e) ln(2m) / (2^q (1+q)), on the nuclear ball.

    Maximum c, at rank one. Modulus 2 in the nuclear norm, attained at X with equal singular values (Talwar,
    Thakurta & Zhang 2015, sec. 3.2, print 4 sqrt(e ln 2m), whose modulus 2 / sqrt(ln 2m) is below 1 from m = 28).

    The state is U diag(sigma^q) V^T, a multiple of the gradient of Psi, and then the point: singular values that matter
    there are lost to rounding in X itself (0.02^(1/q) is 3e-17 at m = 64), and X follows without decomposing it again.
    """
    log = math.log(2.0 * ball.side)
    exponent = 0.5 / log
    slope = 4.0 * float(np.sqrt(np.e)) * log / 2.0**exponent
    return Potential(
        name="spectral",
        body=ball,
        modulus=2.0,
        maximum=slope / (1.0 + exponent),
        start=np.tile(ball.center(), 2),
        data=Spectral(ball.side, ball.radius, 1.0 / exponent, slope),
        over_printed=math.sqrt(log),
    )


@compiled
def shrink_to_powers(sizes: Array, exponent: float, shrunk: Array, work: Array) -> None:
    """Write (v_i - l)_+ with the smallest l >= 0 for which the sum of their powers is at most 1; sizes v (k,) >= 0.

    exponent r >= 1. With l = max v - m, m lies between k^(-1/r) and 1 (where the largest alone makes the sum 1), a
    convex increasing equation. work (2, k) is scratch.
    """
    slopes, ones, largest = work[0], work[1], sizes.max()
    low, high = power_of(float(len(sizes)), -1.0 / exponent), 1.0
    height, length = max(min(largest, high), low), high - low
    ones[:] = 1.0
    for attempt in range(100):
        _differences(sizes, largest, height, shrunk)
        for i in range(len(sizes)):
            slopes[i] = finite_power(shrunk[i], exponent - 1.0)
        value = dot(shrunk, slopes) - 1.0
        if attempt == 0 and value <= 0.0 and height <= largest:
            break
        low, high = (low, height) if value > 0.0 else (height, high)
        root, settled = _newton(value, exponent * dot(slopes, ones), height, low, high, length)
        height, length = root, abs(root - height)
        if settled:
            break
    _differences(sizes, largest, min(height, largest), shrunk)


@compiled
def _differences(sizes: Array, largest: float, height: float, shrunk: Array) -> None:
    """(height - (largest - size))_+"""
    for i in range(len(sizes)):
        difference = height - (largest - sizes[i])
        shrunk[i] = difference if difference > 0.0 else 0.0


@compiled
def _newton(value: float, slope: float, root: float, low: float, high: float, length: float) -> tuple[float, bool]:
    """Newton's next point where it stays between low and high and halves the step, else the midpoint; is it there?"""
    if value == 0.0:
        return root, True
    moved = root - value / slope if slope > 0.0 else np.inf
    if low <= moved <= high and 2.0 * abs(moved - root) <= length:
        return moved, abs(moved - root) <= CLOSE * abs(moved)
    middle = low + 0.5 * (high - low)
    return middle, middle in (low, high)


@compiled
def dual_height(
    sizes: Array, top: float, bracket: tuple[float, float, float], dual: float, t: Array, powers: Array, work: Array
) -> tuple[float, float, float]:
    """Height m in [low, high] of dual sizes z = (m - (top - size))_+ whose point has l1 norm 1, or least m below 1.

    The point is |z|_s^(2-s) z^(s-1) / (s - 1), s the dual exponent. Returns m, the norm and the sum of t^(s-1), where
    t = z / m; writes t (d,) and powers, t^(s-1). From `first` on, by cubic interpolation of m
    against ln(norm), two heights at a time. work (2, d) is scratch.
    """
    lows, ones, rise = work[0], work[1], dual - 1.0
    first, low, high = bracket
    height, norm, total, old_height, old_excess, old_pace = first, 0.0, 0.0, 0.0, 0.0, 0.0
    ones[:] = 1.0
    for attempt in range(100):
        shrunk_powers(sizes, top, height, rise - 1.0, t, lows, powers)
        zeroth, total, lengths = dot(lows, ones), dot(powers, ones), dot(powers, t)
        norm = height / rise * power_of(lengths, (1.0 - rise) / dual) * total
        excess = log_of(norm)
        if abs(excess) <= SETTLED or (norm < 1.0 and height >= high) or not high > low:
            break
        low, high = (low, height) if excess > 0.0 else (height, high)
        pace = height / ((1.0 - rise) * total / lengths + rise * zeroth / total)
        bend, apart = 0.0, excess - old_excess
        if attempt > 0 and apart != 0.0:
            mean = (height - old_height) / apart
            bend = (pace - mean - (pace - mean - (mean - old_pace)) * old_excess / apart) / apart
        old_height, old_excess, old_pace = height, excess, pace
        height = min(height + excess * (excess * bend - pace), high)
        if not low <= height <= high:
            height = low + 0.5 * (high - low)
            if height in (low, high):
                break
    return height, norm, total


@compiled
def shrunk_powers(
    sizes: Array, highest: float, height: float, exponent: float, t: Array, lows: Array, powers: Array
) -> None:
    """Write t = (1 - (highest - size) / height)_+, t^exponent (0 where t is) and t^(exponent + 1)."""
    inverse = 1.0 / height if height > 0.0 else 1.0
    for j in range(len(sizes)):
        share = 1.0 - (highest - sizes[j]) * inverse
        t[j] = share if share > 0.0 else 0.0
        lows[j] = finite_power(t[j], exponent)
        powers[j] = lows[j] * t[j]


POTENTIALS: dict[str, dict[type[object], Callable[[Any], Potential]]] = {
    "entropy": {Simplex: simplex_entropy, L1Ball: signed_entropy, VertexPolytope: vertex_entropy},
    "grouped": {GroupedL1Ball: grouped},
    "spectral": {NuclearBall: spectral},
    "q-norm": {L1Ball: q_norm},
    "euclidean": {ConstraintSet: euclidean},
}
"""Potentials by name and kind of set; the first that fits a set is that of its geometry."""


def make_potential(constraint_set: ConstraintSet, name: str | None = None) -> Potential:
    """Build a potential on the set; without a name that of its geometry, Euclidean where there is none.

    A Euclidean step on a CountedSet counts as a projection; other steps are not calls of the set. Raises
    ValueError for an unknown name and UnsupportedSet where the set has no such potential.
    """
    inner = constraint_set.inner if isinstance(constraint_set, CountedSet) else constraint_set
    fitting = {
        potential: build
        for potential, builds in POTENTIALS.items()
        for kind, build in builds.items()
        if isinstance(inner, kind)
    }
    if name is None:
        name = next(iter(fitting))
    if name not in POTENTIALS:
        raise ValueError(not_allowed("potential", name, POTENTIALS))
    if name not in fitting:
        raise UnsupportedSet(f"the set {inner.name!r} has no potential {name!r}; allowed: {', '.join(fitting)}")
    return fitting[name](constraint_set if name == "euclidean" else inner)

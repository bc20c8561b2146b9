"""Losses of one round: the data of each and its text, plain loops over (d, runs)."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from dpregret.core.losses import PerRun, PerRunNumber, loss
from dpregret.core.oracles import arm_at, inner, prox_at, slope_at, value_at
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined
from dpregret.numerics.sums import add_product

FLOOR = 1e-150  # distances below are the kink itself: their squares underflow, and weight / FLOOR must stay finite
NEWTON_STEPS = 200  # enough for a width of e^200
ROUNDING = 2.0 * float(np.finfo(np.float64).eps)


@loss
class Linear(NamedTuple):
    """f(x) = <slope, x>."""

    slope: PerRun


@slope_at.add
def _(loss: Linear, x, gradient, value, s):
    """f and the slope."""
    inner(loss.slope, x, value, s)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = loss.slope[k, r]


@loss
class Affine(NamedTuple):
    """f(x) = <cost, x> + offset, the `entry` of costs (pool, d) and of offsets (pool,)."""

    entry: PerRunNumber
    costs: Array
    offsets: Array


@value_at.add
def _(loss: Affine, x, value, s):
    """One coordinate after the other, then the offset."""
    entry = np.empty(x.shape[1], np.int64)
    for r in range(x.shape[1]):
        entry[r] = int(loss.entry[0, r])
        value[r] = 0.0
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            value[r] += loss.costs[entry[r], k] * x[k, r]
    for r in range(x.shape[1]):
        value[r] += loss.offsets[entry[r]]


@arm_at.add
def _(loss: Affine, arm, r):
    """A cost and the offset."""
    entry = int(loss.entry[0, r])
    return loss.costs[entry, arm] + loss.offsets[entry]


@loss
class Entry(NamedTuple):
    """f(x) = |x_i - truth_i| for the coordinate i that is observed; truth (d,)."""

    observed: PerRunNumber
    truth: Array


@value_at.add
def _(loss: Entry, x, value, s):
    """f alone."""
    for r in range(x.shape[1]):
        i = int(loss.observed[0, r])
        value[r] = abs(x[i, r] - loss.truth[i])


@loss
class Quadratic(NamedTuple):
    """f(x) = (mu/2) |x - center|^2."""

    center: PerRun
    strong_convexity: float


@slope_at.add
def _(loss: Quadratic, x, gradient, value, s):
    """f and mu (x - center)."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.center[k, r]
    inner(gradient, gradient, value, s)
    for r in range(x.shape[1]):
        value[r] *= 0.5 * loss.strong_convexity
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] *= loss.strong_convexity


@prox_at.add
def _(loss: Quadratic, x, step, s):
    """(x + step mu center) / (1 + step mu)."""
    weight = step * loss.strong_convexity
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = (x[k, r] + weight * loss.center[k, r]) / (1.0 + weight)


@loss
class Form(NamedTuple):
    """f(x) = <x, G x>/2 - <c, x> + m/2 with the moments G (d, d), symmetric, c (d,) and m, a run's own."""

    square: PerRunNumber
    gram: Array
    moment: Array


@slope_at.add
def _(loss: Form, x, gradient, value, s):
    """f and G x - c, f = <x, G x - c>/2 + (m - <c, x>)/2."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = 0.0
    add_product(loss.gram, x, gradient)
    for r in range(x.shape[1]):
        s[8, r] = loss.square[0, r]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] -= loss.moment[k]
            s[8, r] -= loss.moment[k] * x[k, r]
    inner(x, gradient, value, s)
    for r in range(x.shape[1]):
        value[r] = 0.5 * value[r] + 0.5 * s[8, r]


@loss
class NormKink(NamedTuple):
    """f(x) = weight h(|x - anchor|_2) + (mu/2) |x - anchor|^2 with h(s) = s.

    With a ``radius`` r > 0 the kink is Huber's: h(s) = s - r/2 from r on and s^2 / (2 r) below, which has the slope
    1 of the kink outside the radius and is smooth with constant weight / r.
    """

    anchor: PerRun
    weight: float
    strong_convexity: float
    radius: float = 0.0


@inlined
def bent(distance, weight, bend, radius):
    """Weight h(distance) + bend distance^2; s - h(s) = r/2 - (r - s)^2 / (2 r) below r."""
    found = distance * (weight + bend * distance)
    if radius > 0.0:
        inside = max(radius - distance, 0.0)
        found -= 0.5 * weight / radius * (radius * radius - inside * inside)
    return found


@value_at.add
def _(loss: NormKink, x, value, s):
    """f alone."""
    offset = np.empty(x.shape)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            offset[k, r] = x[k, r] - loss.anchor[k, r]
    inner(offset, offset, value, s)
    for r in range(x.shape[1]):
        value[r] = bent(np.sqrt(value[r]), loss.weight, 0.5 * loss.strong_convexity, loss.radius)


@slope_at.add
def _(loss: NormKink, x, gradient, value, s):
    """f and (weight / max(|x - anchor|, radius) + mu) (x - anchor), 0 at the anchor."""
    weight, radius, bend = loss.weight, loss.radius, 0.5 * loss.strong_convexity
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.anchor[k, r]
    inner(gradient, gradient, value, s)
    for r in range(x.shape[1]):
        distance = np.sqrt(value[r])
        value[r] = bent(distance, weight, bend, radius)
        s[8, r] = weight / max(distance, max(radius, FLOOR)) + loss.strong_convexity
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] *= s[8, r]


@prox_at.add
def _(loss: NormKink, x, step, s):
    """Shrink the distance from the anchor by step weight, then divide it by 1 + step mu.

    Where that would end within the radius: divide it by 1 + step (mu + weight / radius).
    """
    weight, radius, mu = loss.weight, loss.radius, loss.strong_convexity
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] -= loss.anchor[k, r]
    inner(x, x, s[8], s)
    for r in range(x.shape[1]):
        distance = np.sqrt(s[8, r])
        s[8, r] = max(1.0 - step * weight / max(distance, FLOOR), 0.0) / (1.0 + step * mu)
        if radius > 0.0 and s[8, r] * distance < radius:
            s[8, r] = 1.0 / (1.0 + step * (mu + weight / radius))
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = s[8, r] * x[k, r] + loss.anchor[k, r]


@loss
class DirectionKink(NamedTuple):
    """f(x) = |<direction, x - anchor>| + (mu/2) |x - anchor|^2."""

    direction: PerRun
    anchor: Array
    strong_convexity: float


@slope_at.add
def _(loss: DirectionKink, x, gradient, value, s):
    """f and sign(<direction, x - anchor>) direction + mu (x - anchor), with sign(0) = 0."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.anchor[k]
    inner(gradient, gradient, value, s)
    inner(gradient, loss.direction, s[8], s)
    for r in range(x.shape[1]):
        value[r] = abs(s[8, r]) + 0.5 * loss.strong_convexity * value[r]
        s[8, r] = np.sign(s[8, r])
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = s[8, r] * loss.direction[k, r] + loss.strong_convexity * gradient[k, r]


@prox_at.add
def _(loss: DirectionKink, x, step, s):
    """Return anchor + (w - step g direction) / (1 + step mu).

    Here w = x - anchor and g = clip(<direction, w> / (step |direction|^2), -1, 1) is the subgradient of the absolute
    value at the solution.
    """
    square = np.empty(x.shape[1])
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] -= loss.anchor[k]
    inner(loss.direction, loss.direction, square, s)
    inner(x, loss.direction, s[8], s)
    for r in range(x.shape[1]):
        sign = min(max(s[8, r], -step * square[r]), step * square[r])
        s[8, r] = sign / (square[r] if square[r] > 0.0 else 1.0)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            moved = x[k, r] - s[8, r] * loss.direction[k, r]
            x[k, r] = moved / (1.0 + step * loss.strong_convexity) + loss.anchor[k]


@loss
class DirectionSquare(NamedTuple):
    """f(x) = (smoothness/2) <direction, x - anchor>^2."""

    direction: PerRun
    anchor: Array
    smoothness: float

    def quadratic_form(self) -> tuple[Array, Array, Array]:
        """(A, b, c) with f(x) = <x, A x>/2 - <b, x> + c; shapes (runs, d, d), (runs, d), (runs,)."""
        matrix = self.smoothness * self.direction[..., :, None] * self.direction[..., None, :]
        linear = matrix @ self.anchor
        return matrix, linear, 0.5 * linear @ self.anchor


@slope_at.add
def _(loss: DirectionSquare, x, gradient, value, s):
    """f and smoothness <direction, x - anchor> direction."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.anchor[k]
    inner(gradient, loss.direction, s[8], s)
    for r in range(x.shape[1]):
        value[r] = 0.5 * loss.smoothness * (s[8, r] * s[8, r])
        s[8, r] *= loss.smoothness
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = s[8, r] * loss.direction[k, r]


@prox_at.add
def _(loss: DirectionSquare, x, step, s):
    """Return x - weight <direction, x - anchor> direction / (1 + weight |direction|^2), weight = step smoothness."""
    weight, offset, square = step * loss.smoothness, x.copy(), x[0].copy()
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            offset[k, r] -= loss.anchor[k]
    inner(loss.direction, loss.direction, square, s)
    inner(offset, loss.direction, s[8], s)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] -= weight * (s[8, r] / (1.0 + weight * square[r])) * loss.direction[k, r]


@loss
class HalfSpace(NamedTuple):
    """f(x) = max(0, <direction, x - anchor>) / 2."""

    direction: PerRun
    anchor: Array


@slope_at.add
def _(loss: HalfSpace, x, gradient, value, s):
    """f and a subgradient: half the direction beyond the border, 0 on it and before it."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.anchor[k]
    inner(gradient, loss.direction, value, s)
    for r in range(x.shape[1]):
        s[8, r] = 0.5 if value[r] > 0.0 else 0.0
        value[r] = 0.5 * max(value[r], 0.0)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = s[8, r] * loss.direction[k, r]


@prox_at.add
def _(loss: HalfSpace, x, step, s):
    """Move x against the direction by step / 2, but not beyond the border."""
    offset, square = x.copy(), x[0].copy()
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            offset[k, r] -= loss.anchor[k]
    inner(loss.direction, loss.direction, square, s)
    inner(offset, loss.direction, s[8], s)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] -= min(max(s[8, r], 0.0) / square[r], 0.5 * step) * loss.direction[k, r]


@loss
class RidgeSquared(NamedTuple):
    """f(x) = (1/2) (y - <v, x>)^2 + (mu/2) |x|^2 with labels y in [-1, 1]; see `PoolStream`."""

    features: PerRun
    labels: PerRunNumber
    strong_convexity: float

    @staticmethod
    def bend() -> float:
        """Upper bound on the second derivative of the scalar loss."""
        return 1.0

    @staticmethod
    def loss(scores: Array, labels: Array) -> Array:
        """(1/2) (score - label)^2."""
        residual = scores - labels
        return 0.5 * (residual * residual)

    @staticmethod
    def slope(scores: Array, labels: Array) -> Array:
        """Return score - label."""
        return scores - labels

    @staticmethod
    def steepest(reach: float) -> float:
        """Return reach + 1."""
        return reach + 1.0


@slope_at.add
def _(loss: RidgeSquared, x, gradient, value, s):
    """f and (<v, x> - y) v + mu x."""
    inner(x, x, value, s)
    inner(x, loss.features, s[8], s)
    for r in range(x.shape[1]):
        s[8, r] -= loss.labels[0, r]
        value[r] = 0.5 * (s[8, r] * s[8, r]) + 0.5 * loss.strong_convexity * value[r]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = s[8, r] * loss.features[k, r] + loss.strong_convexity * x[k, r]


@prox_at.add
def _(loss: RidgeSquared, x, step, s):
    """(x - step (a - y) v) / k with k = 1 + step mu; the score at the solution is a = (<v, x> + b y) / (k + b).

    b = step |v|^2.
    """
    shrink, square = 1.0 + step * loss.strong_convexity, x[0].copy()
    inner(loss.features, loss.features, square, s)
    inner(x, loss.features, s[8], s)
    for r in range(x.shape[1]):
        width, label = step * square[r], loss.labels[0, r]
        s[8, r] = step * (label - (s[8, r] + width * label) / (shrink + width))
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = (s[8, r] * loss.features[k, r] + x[k, r]) / shrink


@loss
class RidgeLogistic(NamedTuple):
    """f(x) = ln(1 + exp(-y <v, x>)) + (mu/2) |x|^2 with labels y in {-1, +1}; see `PoolStream`."""

    features: PerRun
    labels: PerRunNumber
    strong_convexity: float

    @staticmethod
    def bend() -> float:
        """Upper bound on the second derivative of the scalar loss."""
        return 0.25

    @staticmethod
    def loss(scores: Array, labels: Array) -> Array:
        """ln(1 + exp(-label * score)), without overflow."""
        return -log_expit(labels * scores)

    @staticmethod
    def slope(scores: Array, labels: Array) -> Array:
        """-label / (1 + exp(label * score))."""
        return -labels * expit(-labels * scores)

    @staticmethod
    def steepest(reach: float) -> float:
        """1 / (1 + exp(-reach))."""
        return float(expit(reach))


@inlined
def upper(margin: float) -> float:
    """1 / (1 + exp(margin)), without overflow."""
    small = math.exp(-abs(margin))
    return 1.0 / (1.0 + small) if margin < 0.0 else small / (1.0 + small)


@slope_at.add
def _(loss: RidgeLogistic, x, gradient, value, s):
    """f and -y v / (1 + exp(y <v, x>)) + mu x."""
    inner(x, x, value, s)
    inner(x, loss.features, s[8], s)
    for r in range(x.shape[1]):
        label = loss.labels[0, r]
        margin = label * s[8, r]
        ridge = 0.5 * loss.strong_convexity * value[r]
        value[r] = math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0) + ridge
        s[8, r] = -label * upper(margin)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = s[8, r] * loss.features[k, r] + loss.strong_convexity * x[k, r]


@prox_at.add
def _(loss: RidgeLogistic, x, step, s):
    """Solve a scalar equation for the margin y <v, x> to machine precision, then step along the features.

    With k = 1 + step mu the optimality condition is k z = x + step y sigma(-margin) v, so the margin is the root of
    margin = a + b sigma(-margin), a = y <v, x> / k, b = step |v|^2 / k.
    """
    shrink, square = 1.0 + step * loss.strong_convexity, x[0].copy()
    inner(loss.features, loss.features, square, s)
    inner(x, loss.features, s[8], s)
    for r in range(x.shape[1]):
        label = loss.labels[0, r]
        margin = logistic_root(label * s[8, r] / shrink, step * square[r] / shrink)
        s[8, r] = step * label * upper(margin)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = (s[8, r] * loss.features[k, r] + x[k, r]) / shrink


@inlined
def logistic_root(least: float, width: float) -> float:
    """Root of the increasing g(m) = m - least - width / (1 + e^m), by Newton's method.

    g is convex below 0 and concave above, so from the point of [least, least + width] nearest to 0 the iterates move
    monotonically to the root, which lies in that interval; far steps gain at least about 1, near ones are quadratic.
    Stops when g is at rounding level.
    """
    root = min(max(0.0, least), least + width)
    for _ in range(NEWTON_STEPS):
        above = upper(root)
        drop = width * above
        excess = root - least - drop
        settled = abs(excess) <= ROUNDING * (abs(root) + abs(least) + drop)
        root -= excess / (1.0 + drop * (1.0 - above))
        if settled:
            break
    return root


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
        found = [term.value_and_gradient(points) for term in self.terms]
        return sum(value for value, _ in found), sum(slope for _, slope in found)


@slope_at.add
def _(loss: Sum, x, gradient, value, s):
    """Term by term."""
    part, slope = np.empty(x.shape[1]), np.empty(x.shape)
    slope_at(loss.terms[0], x, gradient, value, s)
    for i in range(1, len(loss.terms)):
        slope_at(loss.terms[i], x, slope, part, s)
        for r in range(x.shape[1]):
            value[r] += part[r]
        for k in range(x.shape[0]):
            for r in range(x.shape[1]):
                gradient[k, r] += slope[k, r]

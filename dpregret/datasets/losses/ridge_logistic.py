"""Logistic losses of a linear prediction, with ridge."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from dpregret.core.losses import PerRun, PerRunNumber, loss
from dpregret.core.oracles import inner, prox_at, slope_at
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined

NEWTON_STEPS = 200  # enough for a width of e^200
ROUNDING = 2.0 * float(np.finfo(np.float64).eps)


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
    def steepest(largest_score: float) -> float:
        """1 / (1 + exp(-largest_score))."""
        return float(expit(largest_score))


@inlined
def upper(margin: float) -> float:
    """1 / (1 + exp(margin)), without overflow."""
    small = math.exp(-abs(margin))
    return 1.0 / (1.0 + small) if margin < 0.0 else small / (1.0 + small)


@slope_at.add
def _slope_at_ridge_logistic(loss: RidgeLogistic, x, gradient, value, scratch):
    """f and -y v / (1 + exp(y <v, x>)) + mu x."""
    inner(x, x, value, scratch)
    inner(x, loss.features, scratch[8], scratch)
    for r in range(x.shape[1]):
        label = loss.labels[0, r]
        margin = label * scratch[8, r]
        ridge = 0.5 * loss.strong_convexity * value[r]
        value[r] = math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0) + ridge
        scratch[8, r] = -label * upper(margin)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = scratch[8, r] * loss.features[k, r] + loss.strong_convexity * x[k, r]


@prox_at.add
def _prox_at_ridge_logistic(loss: RidgeLogistic, x, step, scratch):
    """Solve a scalar equation for the margin y <v, x> to machine precision, then step along the features.

    With k = 1 + step mu the optimality condition is k z = x + step y sigma(-margin) v, so the margin is the root of
    margin = a + b sigma(-margin), a = y <v, x> / k, b = step |v|^2 / k.
    """
    shrink, square = 1.0 + step * loss.strong_convexity, x[0].copy()
    inner(loss.features, loss.features, square, scratch)
    inner(x, loss.features, scratch[8], scratch)
    for r in range(x.shape[1]):
        label = loss.labels[0, r]
        margin = logistic_root(label * scratch[8, r] / shrink, step * square[r] / shrink)
        scratch[8, r] = step * label * upper(margin)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = (scratch[8, r] * loss.features[k, r] + x[k, r]) / shrink


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

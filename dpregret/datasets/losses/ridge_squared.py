"""Squared losses of a linear prediction, with ridge."""

from typing import NamedTuple

from dpregret.core.losses import PerRun, PerRunNumber, loss
from dpregret.core.oracles import inner, prox_at, slope_at
from dpregret.numerics.arrays import Array


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
    def steepest(largest_score: float) -> float:
        """Return largest_score + 1."""
        return largest_score + 1.0


@slope_at.add
def _slope_at_ridge_squared(loss: RidgeSquared, x, gradient, value, scratch):
    """f and (<v, x> - y) v + mu x."""
    inner(x, x, value, scratch)
    inner(x, loss.features, scratch[8], scratch)
    for r in range(x.shape[1]):
        scratch[8, r] -= loss.labels[0, r]
        value[r] = 0.5 * (scratch[8, r] * scratch[8, r]) + 0.5 * loss.strong_convexity * value[r]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = scratch[8, r] * loss.features[k, r] + loss.strong_convexity * x[k, r]


@prox_at.add
def _prox_at_ridge_squared(loss: RidgeSquared, x, step, scratch):
    """(x - step (a - y) v) / k with k = 1 + step mu; the score at the solution is a = (<v, x> + b y) / (k + b).

    b = step |v|^2.
    """
    shrink, square = 1.0 + step * loss.strong_convexity, x[0].copy()
    inner(loss.features, loss.features, square, scratch)
    inner(x, loss.features, scratch[8], scratch)
    for r in range(x.shape[1]):
        width, label = step * square[r], loss.labels[0, r]
        scratch[8, r] = step * (label - (scratch[8, r] + width * label) / (shrink + width))
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = (scratch[8, r] * loss.features[k, r] + x[k, r]) / shrink

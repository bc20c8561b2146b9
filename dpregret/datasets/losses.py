"""Losses of one round, batched over settings and runs.

Every loss is strongly convex with constant mu = ``strong_convexity``. Its parameters have shape (runs, d) or (d,) and
broadcast against points of shape (..., d), normally (settings, runs, d). These methods are the hot loop of every
sweep: they make as few NumPy calls and passes over the points as they can, and never write into their arguments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit

from dpregret.core.arrays import Array
from dpregret.core.kernels import DIRECTION_KINK, LOGISTIC, NORM_KINK, QUADRATIC, SQUARED, LossKernel
from dpregret.core.sums import vecdot

# Distances below this are the kink itself: their squares underflow, and lam / floor must stay finite.
_DISTANCE_FLOOR = 1e-150
# Enough for a width of e^200.
_NEWTON_STEPS = 200
_ROUNDING = 2.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Quadratic:
    """f(x) = (mu/2) |x - center|^2."""

    kernel: ClassVar[LossKernel] = LossKernel(QUADRATIC, vector="center", constants=("strong_convexity",))
    center: Array
    strong_convexity: float

    def value(self, points: Array) -> Array:
        """f at the points."""
        offset = points - self.center
        value: Array = (0.5 * self.strong_convexity) * vecdot(offset, offset)
        return value

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """f and mu (x - center)."""
        offset = points - self.center
        value = (0.5 * self.strong_convexity) * vecdot(offset, offset)
        offset *= self.strong_convexity
        return value, offset

    def gradient(self, points: Array) -> Array:
        """Return mu (x - center)."""
        offset: Array = points - self.center
        offset *= self.strong_convexity
        return offset

    def prox(self, points: Array, step: float) -> Array:
        """(point + step mu center) / (1 + step mu)."""
        weight = step * self.strong_convexity
        result: Array = (points + weight * self.center) / (1.0 + weight)
        return result


@dataclass(frozen=True, slots=True)
class DirectionKink:
    """f(x) = |<direction, x - anchor>| + (mu/2) |x - anchor|^2."""

    kernel: ClassVar[LossKernel] = LossKernel(DIRECTION_KINK, "direction", "anchor", constants=("strong_convexity",))
    direction: Array
    anchor: Array
    strong_convexity: float

    def value(self, points: Array) -> Array:
        """f at the points."""
        offset = points - self.anchor
        value: Array = np.abs(vecdot(offset, self.direction))
        value = value + (0.5 * self.strong_convexity) * vecdot(offset, offset)
        return value

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """f and sign(<direction, x - anchor>) direction + mu (x - anchor), with sign(0) = 0."""
        offset = points - self.anchor
        slope = vecdot(offset, self.direction)
        value = np.abs(slope) + (0.5 * self.strong_convexity) * vecdot(offset, offset)
        gradient = np.sign(slope)[..., None] * self.direction
        offset *= self.strong_convexity
        gradient += offset
        return value, gradient

    def gradient(self, points: Array) -> Array:
        """Return sign(<direction, x - anchor>) direction + mu (x - anchor), with sign(0) = 0."""
        offset = points - self.anchor
        gradient: Array = np.sign(vecdot(offset, self.direction))[..., None] * self.direction
        offset *= self.strong_convexity
        gradient += offset
        return gradient

    def prox(self, points: Array, step: float) -> Array:
        """Return anchor + (w - step s direction) / (1 + step mu).

        Here w = point - anchor and s = clip(<direction, w> / (step |direction|^2), -1, 1) is the subgradient of the
        absolute value at the solution.
        """
        offset = points - self.anchor
        squared = vecdot(self.direction, self.direction)
        sign = np.clip(vecdot(offset, self.direction), -step * squared, step * squared)
        sign = sign / np.where(squared > 0.0, squared, 1.0)
        offset = offset - sign[..., None] * self.direction
        offset /= 1.0 + step * self.strong_convexity
        result: Array = offset + self.anchor
        return result


@dataclass(frozen=True, slots=True)
class NormKink:
    """f(x) = weight h(|x - anchor|_2) + (mu/2) |x - anchor|^2 with h(s) = s.

    With a ``radius`` r > 0 the kink is Huber's: h(s) = s - r/2 from r on and s^2 / (2 r) below, which has the slope
    1 of the kink outside the radius and is smooth with constant weight / r.
    """

    kernel: ClassVar[LossKernel] = LossKernel(
        NORM_KINK, anchor="anchor", constants=("strong_convexity", "weight", "radius")
    )
    weight: float
    anchor: Array
    strong_convexity: float
    radius: float = 0.0

    def value(self, points: Array) -> Array:
        """f at the points."""
        offset = points - self.anchor
        return self._value(np.sqrt(vecdot(offset, offset)))

    def _value(self, distance: Array) -> Array:
        value: Array = distance * (self.weight + (0.5 * self.strong_convexity) * distance)
        if self.radius:  # s - h(s) = r/2 - (r - s)^2 / (2 r) below r
            value -= (0.5 * self.weight / self.radius) * (
                self.radius**2 - np.square(np.maximum(self.radius - distance, 0.0))
            )
        return value

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """f and (weight / max(|x - anchor|, radius) + mu) (x - anchor), 0 at the anchor."""
        offset = points - self.anchor
        distance = np.sqrt(vecdot(offset, offset))
        value = self._value(distance)
        offset *= self._slope(distance)
        return value, offset

    def gradient(self, points: Array) -> Array:
        """(weight / max(|x - anchor|, radius) + mu) (x - anchor), 0 at the anchor."""
        offset: Array = points - self.anchor
        offset *= self._slope(np.sqrt(vecdot(offset, offset)))
        return offset

    def _slope(self, distance: Array) -> Array:
        floor = max(self.radius, _DISTANCE_FLOOR)
        return (self.weight / np.maximum(distance, floor) + self.strong_convexity)[..., None]

    def prox(self, points: Array, step: float) -> Array:
        """Shrink the distance s from the anchor by step * weight, then divide it by 1 + step mu.

        Where that would end within the radius: divide s by 1 + step (mu + weight / radius).
        """
        offset = points - self.anchor
        distance = np.sqrt(vecdot(offset, offset))
        outside = 1.0 - step * self.weight / np.maximum(distance, _DISTANCE_FLOOR)
        shrink = np.maximum(outside, 0.0) / (1.0 + step * self.strong_convexity)
        if self.radius:
            within = 1.0 / (1.0 + step * (self.strong_convexity + self.weight / self.radius))
            shrink = np.where(shrink * distance >= self.radius, shrink, within)
        offset *= shrink[..., None]
        result: Array = offset + self.anchor
        return result


@dataclass(frozen=True, slots=True)
class RidgeLinear(ABC):
    """f(x) = phi(<features, x>; labels) + (mu/2) |x|^2; a subclass gives the scalar loss phi.

    ``features`` has shape (runs, d) or (d,), ``labels`` shape (runs,) or ().
    """

    features: Array
    labels: Array
    strong_convexity: float

    bend: ClassVar[float]
    """Upper bound on the second derivative of phi."""

    @staticmethod
    @abstractmethod
    def loss(scores: Array, labels: Array) -> Array:
        """Return phi(scores; labels), elementwise."""

    @staticmethod
    @abstractmethod
    def slope(scores: Array, labels: Array) -> Array:
        """Return the derivative of phi in the score, elementwise."""

    @staticmethod
    @abstractmethod
    def steepest(reach: float) -> float:
        """Largest |derivative| of phi over scores in [-reach, reach] and admissible labels."""

    @abstractmethod
    def prox(self, points: Array, step: float) -> Array:
        """argmin over R^d of step * f(x) + |x - point|^2 / 2, shape (..., d)."""

    def value(self, points: Array) -> Array:
        """f at the points."""
        value: Array = self.loss(vecdot(points, self.features), self.labels)
        value = value + (0.5 * self.strong_convexity) * vecdot(points, points)
        return value

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """f and phi'(<features, x>) features + mu x."""
        scores = vecdot(points, self.features)
        value = self.loss(scores, self.labels) + (0.5 * self.strong_convexity) * vecdot(points, points)
        gradient = self.slope(scores, self.labels)[..., None] * self.features
        gradient += self.strong_convexity * points
        return value, gradient

    def gradient(self, points: Array) -> Array:
        """phi'(<features, x>) features + mu x."""
        scores = vecdot(points, self.features)
        gradient: Array = self.slope(scores, self.labels)[..., None] * self.features
        gradient += self.strong_convexity * points
        return gradient


@dataclass(frozen=True, slots=True)
class RidgeLogistic(RidgeLinear):
    """f(x) = ln(1 + exp(-y <v, x>)) + (mu/2) |x|^2 with labels y in {-1, +1}."""

    kernel: ClassVar[LossKernel] = LossKernel(LOGISTIC, "features", label="labels", constants=("strong_convexity",))
    bend: ClassVar[float] = 0.25

    @staticmethod
    def loss(scores: Array, labels: Array) -> Array:
        """ln(1 + exp(-label * score)), without overflow."""
        value: Array = -log_expit(labels * scores)
        return value

    @staticmethod
    def slope(scores: Array, labels: Array) -> Array:
        """-label / (1 + exp(label * score))."""
        slope: Array = -labels * expit(-labels * scores)
        return slope

    @staticmethod
    def steepest(reach: float) -> float:
        """1 / (1 + exp(-reach))."""
        return float(expit(reach))

    def prox(self, points: Array, step: float) -> Array:
        """Solve a scalar equation for the margin y <v, x> to machine precision, then step along the features.

        With k = 1 + step mu the optimality condition is k x = point + step y sigma(-margin) v, so the margin is the
        root of margin = a + b sigma(-margin), a = y <v, point> / k, b = step |v|^2 / k.
        """
        shrink = 1.0 + step * self.strong_convexity
        least = self.labels * vecdot(points, self.features) / shrink
        margin = _logistic_root(least, step * vecdot(self.features, self.features) / shrink)
        pull = (step * self.labels) * expit(-margin)
        result: Array = pull[..., None] * self.features
        result += points
        result /= shrink
        return result


@dataclass(frozen=True, slots=True)
class RidgeSquared(RidgeLinear):
    """f(x) = (1/2) (y - <v, x>)^2 + (mu/2) |x|^2 with labels y in [-1, 1]."""

    kernel: ClassVar[LossKernel] = LossKernel(SQUARED, "features", label="labels", constants=("strong_convexity",))
    bend: ClassVar[float] = 1.0

    @staticmethod
    def loss(scores: Array, labels: Array) -> Array:
        """(1/2) (score - label)^2."""
        residual = scores - labels
        value: Array = 0.5 * (residual * residual)
        return value

    @staticmethod
    def slope(scores: Array, labels: Array) -> Array:
        """Return score - label."""
        slope: Array = scores - labels
        return slope

    @staticmethod
    def steepest(reach: float) -> float:
        """Return reach + 1."""
        return reach + 1.0

    def prox(self, points: Array, step: float) -> Array:
        """(point - step (s - y) v) / k with k = 1 + step mu.

        The score at the solution is s = (<v, point> + b y) / (k + b), b = step |v|^2.
        """
        shrink = 1.0 + step * self.strong_convexity
        width = step * vecdot(self.features, self.features)
        score = (vecdot(points, self.features) + width * self.labels) / (shrink + width)
        result: Array = (step * (self.labels - score))[..., None] * self.features
        result += points
        result /= shrink
        return result


def _logistic_root(least: Array, width: Array) -> Array:
    """Root of the increasing g(m) = m - least - width / (1 + e^m), by Newton's method.

    g is convex below 0 and concave above, so from the point of [least, least + width] nearest to 0 the iterates move
    monotonically to the root, which lies in that interval; far steps gain at least about 1, near ones are quadratic.
    Stops when g is at rounding level.
    """
    root: Array = np.clip(0.0, least, least + width)
    for _ in range(_NEWTON_STEPS):
        upper = expit(-root)
        drop = width * upper
        excess = root - least - drop
        settled = np.abs(excess) <= _ROUNDING * (np.abs(root) + np.abs(least) + drop)
        root = root - excess / (1.0 + drop * (1.0 - upper))
        if settled.all():
            break
    return root

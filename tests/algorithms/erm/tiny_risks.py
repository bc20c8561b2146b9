"""Small risks with known constants: points (..., runs, p), one data set a run."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from dpregret.algorithms.erm.erm_learner import ErmLearner, ErmProblem, Risk
from dpregret.algorithms.geometry import ConstraintSet
from dpregret.algorithms.privacy import Budget
from dpregret.datasets import losses
from dpregret.numerics.arrays import Array

AnyLearner = TypeVar("AnyLearner", bound=ErmLearner)


class TinyRisk:
    """What the risks below share; all are 1-Lipschitz in l2 unless they say otherwise."""

    lipschitz = lipschitz_l1 = 1.0
    smoothness = curvature = np.inf
    strong_convexity, hessian_rank = 0.0, None
    value: Any
    gradient: Any

    def __init__(self, dimension: int, samples: int):
        self.dimension, self.samples = dimension, samples

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        return self.gradient(points)


class NormKink(TinyRisk):
    """|theta - target|_2 for every record; minimum 0 at the target."""

    def __init__(self, target: Array, samples: int):
        super().__init__(len(target), samples)
        loss: Any = losses.NormKink(target, 1.0, 0.0)
        self.value, self.gradient = loss.value, loss.gradient


class Linear(TinyRisk):
    """<slope, theta>."""

    smoothness = curvature = 0.0
    hessian_rank = 0

    def __init__(self, slope: Array, samples: int):
        super().__init__(len(slope), samples)
        loss: Any = losses.Linear(slope)
        self.value, self.gradient, self.lipschitz = loss.value, loss.gradient, float(np.linalg.norm(slope))


class Quadratic(TinyRisk):
    """|theta - a_i|^2 / 2, records a_i (runs, n, p) with |theta - a_i|_2 <= lipschitz on the set."""

    smoothness = strong_convexity = 1.0

    def __init__(self, records: Array, lipschitz: float):
        super().__init__(records.shape[-1], records.shape[-2])
        self.records, self.lipschitz = records, lipschitz
        self.mean = records.mean(axis=-2)
        self.spread = 0.5 * ((records - self.mean[:, None]) ** 2).sum(axis=-1).mean(axis=-1)

    def value(self, points: Array) -> Array:
        return 0.5 * ((points - self.mean) ** 2).sum(axis=-1) + self.spread

    def gradient(self, points: Array) -> Array:
        return points - self.mean

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        return points - self.records[np.arange(len(records)), records]


class Logistic(TinyRisk):
    """ln(1 + exp(-<x_i, theta>)), x_i (runs, n, p) of norm at most one, labels absorbed."""

    smoothness = 0.25
    hessian_rank = 1

    def __init__(self, features: Array):
        super().__init__(features.shape[-1], features.shape[-2])
        self.features = features

    def value(self, points: Array) -> Array:
        return np.logaddexp(0.0, -np.einsum("...rp,rnp->...rn", points, self.features)).mean(axis=-1)

    def gradient(self, points: Array) -> Array:
        margins = np.einsum("...rp,rnp->...rn", points, self.features)
        return -np.einsum("...rn,rnp->...rp", 1 / (1 + np.exp(margins)), self.features) / self.samples

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        features = self.features[np.arange(len(records)), records]
        return -features / (1 + np.exp((points * features).sum(axis=-1, keepdims=True)))


class Huber(TinyRisk):
    """Huber loss of theta - c_i in one dimension, slope clip(theta - c_i, -1, 1); centers (runs, n)."""

    smoothness = 1.0
    hessian_rank = 1

    def __init__(self, centers: Array):
        super().__init__(1, centers.shape[-1])
        self.centers = centers

    def value(self, points: Array) -> Array:
        size = np.abs(points - self.centers)
        return np.where(size <= 1, 0.5 * size**2, size - 0.5).mean(axis=-1)

    def gradient(self, points: Array) -> Array:
        return np.clip(points - self.centers, -1.0, 1.0).mean(axis=-1, keepdims=True)


SLOPE, BEND = 1.0, 0.5
"""Largest |a| and h."""


class Pass:
    """Records in their order, and the number of those that remain."""

    def __init__(self, records: Array):
        self.records, self.remaining = records, records.shape[2]

    def take(self, count: int) -> Array:
        assert 0 <= count <= self.remaining
        begun = self.records.shape[2] - self.remaining
        self.remaining -= count
        return self.records[:, :, begun : begun + count]


class Bowls:
    """Loss <a, x> + (h/2) |x|^2 on the unit ball, |a| <= 1, 0 <= h <= 1/2; records (a, h), of shape (1, runs, n, d+1).

    Records differ in curvature, so gradients of different records move differently.
    """

    lipschitz, lipschitz_l1, smoothness, smoothness_l1 = SLOPE + BEND, SLOPE + BEND, BEND, BEND
    curvature, strong_convexity, hessian_rank = 4 * BEND, 0.0, None

    def __init__(self, samples: int, dimension: int, runs: int, seed: int = 1):
        generator = np.random.default_rng([seed, samples])
        slopes = generator.normal(size=(1, runs, samples, dimension))
        slopes /= np.linalg.norm(slopes, axis=-1, keepdims=True)
        bends = BEND * generator.random((1, runs, samples, 1))
        self.records = np.concatenate([0.5 * SLOPE * slopes, bends], axis=-1)
        self.samples, self.dimension, self.passes = samples, dimension, list[Pass]()

    def stream(self) -> Pass:
        self.passes.append(Pass(self.records))
        return self.passes[-1]

    def gradients(self, points: Array, records: Array) -> Array:
        return np.asarray(records[..., :-1] + records[..., -1:] * points)

    def mean_gradient(self, points: Array, first: int, last: int) -> Array:
        """Of records first..last-1, at points (runs, d): the definition."""
        total = np.zeros_like(points)
        for place in range(first, last):
            total += self.gradients(points, self.records[0, :, place])
        return total / (last - first)


def logistic_data(runs: int, samples: int, dimension: int, seed: int = 0) -> Logistic:
    """Feature vectors of norm one around a plane, a fifth of the labels flipped."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(runs, samples, dimension))
    features /= np.linalg.norm(features, axis=-1, keepdims=True)
    signs = np.where(features[..., 0] > 0, 1.0, -1.0) * np.where(rng.random((runs, samples)) < 0.2, -1.0, 1.0)
    return Logistic(features * signs[..., None])


def generators(runs: int, first: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng(np.random.SeedSequence([7, run])) for run in range(first, first + runs)]


def make(
    learner: type[AnyLearner],
    domain: ConstraintSet,
    risk: Risk,
    budgets: Sequence[Budget],
    variant: str = "corrected",
    runs: int = 1,
    cap: int | None = None,
) -> AnyLearner:
    """A learner, its MAX_ITERATIONS replaced by `cap` where one is given."""
    kind = learner if cap is None else type(learner.__name__, (learner,), {"MAX_ITERATIONS": cap})
    return kind(ErmProblem(domain, risk), budgets, runs, variant)

"""Risks with known optimum (norm kink, quadratic, linear), and logistic regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from dpregret.core.losses import Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.examples import unit_rows
from dpregret.datasets.losses import Linear, NormKink, Quadratic, RidgeLogistic, Sum
from dpregret.datasets.risk_squared import hadamard_signs
from dpregret.datasets.risks import EmpiricalRisk, Optimum
from dpregret.datasets.source import Generators, positive
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import largest_eigenvalue, product, vecdot


class NormKinkRisk(EmpiricalRisk):
    """Geometric median, loss |theta - a_i|_2, with a majority of the records at theta0 = `domain.target()`.

    Of the n records round(majority n) lie at theta0; the others, in turn, at theta0 +- radius u with u uniform on the
    sphere, drawn by the run's generator (an odd one out joins the majority). A point that holds at least half of the
    records is the geometric median, so the optimum is theta0 exactly, and the risk grows from it at least like (2
    majority - 1) |theta - theta0|: tight, noise enters to first order. Lipschitz constant 1 for records anywhere.
    """

    name = "norm-kink-risk"
    title = "geometric median"
    tight = True

    def __init__(
        self, domain: ConstraintSet, samples: int, generators: Generators, majority: float = 0.75, radius: float = 1.0
    ) -> None:
        if not 0.5 < majority <= 1.0:
            raise ValueError(f"majority must lie in (0.5, 1], got {majority}")
        positive(radius=radius)
        super().__init__(domain, samples, len(generators), lipschitz=1.0, smoothness=np.inf, curvature=np.inf)
        self.anchor = domain.target()
        self.pairs = int((1.0 - majority) * samples / 2.0 + 1e-9)
        normals = np.stack([generator.standard_normal(self.dimension) for generator in generators])
        self.offset = normals * (radius / np.sqrt(vecdot(normals, normals)))[:, None]
        side = self.pairs / samples
        shares = [(1.0 - 2.0 * side, 0.0), (side, 1.0), (side, -1.0)]
        self.loss = Sum(
            tuple(NormKink(self.anchor + sign * self.offset, share, 0.0) for share, sign in shares if share > 0.0)
        )

    def record_losses(self, records: NDArray[np.int64]) -> Losses:
        """Distances to the records; records 0..pairs-1 are at +, pairs..2 pairs-1 at -, then the majority."""
        sign = np.where(records < self.pairs, 1.0, np.where(records < 2 * self.pairs, -1.0, 0.0))
        return Losses(NormKink, [self.anchor + sign[..., None] * self.offset], [1.0, 0.0, 0.0])

    def optimum(self) -> Optimum:
        """theta0."""
        return self._same_for_all(self.anchor)


class QuadraticRisk(EmpiricalRisk):
    """Strongly convex and smooth: loss (mu/2) |theta - a_i|^2, |a_i - theta0| <= spread, theta0 = `domain.target()`.

    Records come in pairs theta0 +- spread h / sqrt(p) with sign vectors h of a Sylvester-Hadamard matrix, the same in
    every run, so their mean is theta0 (up to the odd one out); the optimum is its projection. Noise enters to second
    order, which is what the theorems on strongly convex risks count: tight for them.
    """

    name = "quadratic-risk"
    tight = True

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        generators: Generators,
        strong_convexity: float = 1.0,
        spread: float = 0.5,
    ) -> None:
        positive(strong_convexity=strong_convexity, spread=spread)
        self.anchor = domain.target()
        self.spread = spread
        steepest = strong_convexity * (domain.max_distance_from(self.anchor) + spread)
        bent = strong_convexity * domain.diameter**2
        super().__init__(
            domain, samples, len(generators), lipschitz=steepest, smoothness=strong_convexity, curvature=bent
        )
        self.strong_convexity, self.hessian_rank = strong_convexity, domain.dimension
        self.mean = self.anchor.copy()
        if samples % 2:
            self.mean += self._offsets(np.array([samples - 1]))[0] / samples
        self.loss = Quadratic(self.mean, strong_convexity)

    def _offsets(self, records: np.ndarray) -> Array:
        signs = hadamard_signs((records >> 1)[..., None], np.arange(self.dimension))
        signs *= (1.0 - 2.0 * (records & 1))[..., None] * (self.spread / np.sqrt(self.dimension))
        return signs

    def value(self, points: Array) -> Array:
        """(mu/2) (|theta - mean|^2 + spread^2 - |mean - theta0|^2)."""
        shift = self.mean - self.anchor
        return super().value(points) + 0.5 * self.strong_convexity * (self.spread**2 - float(vecdot(shift, shift)))

    def record_losses(self, records: NDArray[np.int64]) -> Losses:
        """(mu/2) |theta - a_i|^2."""
        return Losses(Quadratic, [self.anchor + self._offsets(records)], [self.strong_convexity])

    def optimum(self) -> Optimum:
        """The projection of the mean."""
        return self._same_for_all(self.domain.project(self.mean))


class Collapse(EmpiricalRisk):
    """Linear risk: `active` records have loss -<theta, v>, the others 0; any |v|_2 <= 1 is admissible.

    v points from the set's center to its target. On the l2 ball the excess risk of a private learner, in units of
    active / n, depends on active mu / (2 sqrt p) only: the instance behind sqrt(p) / (eps n). `active` is at least 1.
    `smoothness`: of admissible records, such as Huber losses, of which these data show the straight part only; learners
    receive it. `strength`, instead of `active`: active = strength (sqrt p + smoothness), where the bounds
    (sqrt p + smoothness) / (eps n) are of the size of the trivial excess.
    """

    name = "collapse"
    title = "linear risk"
    tight = True

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        generators: Generators,
        active: int = 1,
        smoothness: float = 0.0,
        strength: float = 0.0,
    ) -> None:
        if not (np.isfinite(smoothness) and smoothness >= 0.0 and np.isfinite(strength) and strength >= 0.0):
            raise ValueError(f"smoothness and strength must not be negative, got {smoothness} and {strength}")
        if strength:
            active = round(strength * (float(np.sqrt(domain.dimension)) + smoothness))
        if not 1 <= active <= samples:
            raise ValueError(f"active must lie in 1..{samples}, got {active}")
        curvature = smoothness * domain.diameter**2
        super().__init__(domain, samples, len(generators), lipschitz=1.0, smoothness=smoothness, curvature=curvature)
        self.active, self.hessian_rank = active, 1 if smoothness else 0
        direction = domain.target() - domain.center()
        self.direction = direction / np.sqrt(vecdot(direction, direction))
        self.slope = self.direction * (-active / samples)
        self.loss = Linear(self.slope)

    def record_losses(self, records: NDArray[np.int64]) -> Losses:
        """-<theta, v> for records 0..active-1, else 0."""
        return Losses(Linear, [np.where((records < self.active)[..., None], -self.direction, 0.0)], [])

    def optimum(self) -> Optimum:
        """The linear oracle."""
        return self._same_for_all(self.domain.linear_oracle(self.slope))


class PooledLogistic(EmpiricalRisk):
    """ln(1 + exp(-y <x, theta>)), |x|_2 <= 1, on rows that many records share: a loss with Hessians of rank one.

    A risk gives the rows, `features` (pool, p), the share of records that have each of them, `shares`, and the share
    of those with label +1, `positive`: (pool,), or one row a data set. Any n costs as much as the pool.
    """

    features: Array
    shares: Array
    positive: Array
    hessian_rank = 1

    def __init__(self, domain: ConstraintSet, samples: int, runs: int) -> None:
        steepest, curvature = (
            float(expit(domain.max_distance_from(np.zeros(domain.dimension)))),
            0.25 * domain.diameter**2,
        )
        super().__init__(domain, samples, runs, lipschitz=steepest, smoothness=0.25, curvature=curvature)

    def value(self, points: Array) -> Array:
        """Mean of softplus(score) - [y = 1] score."""
        scores = product(points, self.features.T)
        return -vecdot(log_expit(-scores), self.shares) - vecdot(self.positive, scores)

    def gradient(self, points: Array) -> Array:
        """Mean of (sigma(score) - [y = 1]) x."""
        slopes = expit(product(points, self.features.T))
        slopes *= self.shares
        slopes -= self.positive
        return product(slopes, self.features)

    def optimum(self) -> Optimum:
        """By accelerated projected gradient, once where all runs share the data; see ``minimise``."""
        moments = [product(self.features.T * shares, self.features) for shares in np.atleast_2d(self.shares)]
        smoothness = 0.25 * largest_eigenvalue(np.array(moments))
        return self._certified(np.broadcast_to(smoothness, len(self.positive)), self.domain.center())


class LogisticRisk(PooledLogistic):
    """Logistic regression with a model behind the labels.

    Features: `pool_size` unit vectors, one pool for all runs (from pool_seed), record i has vector i mod pool_size. A
    vector that occurs c times is labelled +1 in floor(c P + u) of its records, P = sigma(signal <direction, x>), u
    uniform by the run's generator; the direction points from the set's center to its target.
    """

    name = "logistic-risk"
    title = "logistic regression"

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        generators: Generators,
        pool_size: int = 512,
        pool_seed: int = 0,
        signal: float = 8.0,
    ) -> None:
        if pool_size < 1:
            raise ValueError(f"pool_size must be at least 1, got {pool_size}")
        super().__init__(domain, samples, len(generators))
        drawn = np.random.default_rng(np.random.SeedSequence([pool_seed, pool_size]))
        self.features = unit_rows(drawn.standard_normal((pool_size, self.dimension)), "pool")[:samples]
        size = len(self.features)
        counts = samples // size + (np.arange(size) < samples % size)
        direction = domain.target() - domain.center()
        chance = expit(signal * vecdot(self.features, direction) / np.sqrt(vecdot(direction, direction)))
        rounding = np.stack([generator.random(size) for generator in generators])
        self.positives = np.minimum(np.floor(counts * chance + rounding), counts)  # (runs, pool)
        self.positive, self.shares = self.positives / samples, counts / samples

    def record_losses(self, records: NDArray[np.int64]) -> Losses:
        """Of one record a run: the first occurrences of a vector are the positive ones."""
        which, occurrence = records % len(self.features), records // len(self.features)
        labels = np.where(occurrence < self.positives[np.arange(self.runs), which], 1.0, -1.0)
        return Losses(RidgeLogistic, [self.features[which], labels], [0.0])

"""Population risks: F(theta) = E loss(theta; z) of a known distribution, of which a learner meets n fresh records."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Self, cast

import numpy as np

from dpregret.core.losses import Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.losses import Linear, Quadratic, RidgeSquared
from dpregret.datasets.risk_squared import DenseGram, add_moments, gram_of, squared_constants
from dpregret.datasets.risks import FRESH, STORED, Optimum, RiskSource
from dpregret.datasets.source import Generators, positive
from dpregret.numerics.arrays import Array
from dpregret.numerics.random import Coins
from dpregret.numerics.sums import vecdot

FAIR = np.array([0.5])
"""The chance of a fair coin."""
_SUMMED, _CHUNK = 1 << 12, 1 << 7  # records of a run in a partial sum, and drawn at a time


class Pass:
    """The n records of every run in their order, each handed out once."""

    def __init__(self, draw: Callable[[int], Array], samples: int) -> None:
        self._draw, self.remaining = draw, samples

    def take(self, count: int) -> Array:
        """The next records, (settings or 1, runs, count, p). Raises ValueError where fewer remain."""
        if not 0 <= count <= self.remaining:
            raise ValueError(f"asked for {count} records, {self.remaining} are left")
        self.remaining -= count
        return self._draw(count)


class PopulationRisk(RiskSource):
    """E loss(theta; z), z independent from record to record; points (..., settings, runs, p).

    Records are not stored: each pass draws them again from the seeds of the runs, so memory does not grow with n, and
    the same ones whatever the counts in which they are requested. Setting: a privacy budget. Where the distribution
    depends on it (`facing`), settings share the random numbers behind their records.

    Raises ValueError for a class that gives neither `losses` nor `gradients`.
    """

    traits = frozenset({FRESH})
    either = (("losses", "gradients"),)

    def __init__(self, domain: ConstraintSet, samples: int, generators: Generators, **constants: float) -> None:
        self.check_complete()
        super().__init__(domain, samples, len(generators), **constants)
        self._seeds = [cast(np.random.SeedSequence, generator.bit_generator.seed_seq) for generator in generators]

    def facing(self, mus: Sequence[float]) -> Self:
        """The risk for budgets of mu-GDP, one a setting: itself, unless the distribution depends on the budget."""
        return self

    def stream(self) -> Pass:
        """A pass over the records, from the first one."""
        coins = Coins([np.random.default_rng(seed) for seed in self._seeds])
        return Pass(lambda count: self._drawn(coins, count), self.samples)

    @abstractmethod
    def _drawn(self, coins: Coins, count: int) -> Array:
        """The next records of each run, (settings or 1, runs, count, p)."""

    def losses(self, records: Array) -> Losses | None:
        """Losses of records (rounds, ..., p), for compiled loops; None where these ask `gradients`."""
        return None

    def gradients(self, points: Array, records: Array) -> Array:
        """(Sub)gradients of one record's loss a row: points (settings, runs, p), records (settings or 1, runs, p)."""
        losses = self.losses(records[None])
        if losses is None:
            raise NotImplementedError(f"{type(self).__name__} has neither losses nor gradients")
        return losses[0].gradient(points)


class LinearPopulation(PopulationRisk):
    """Loss <theta, z>, z in {-1, 1}^p / sqrt(p) with independent coordinates of mean length q: L = 1, smooth.

    E z = q (1, .., 1) / sqrt(p), so F(theta) = <theta, E z> and its minimum is that of the linear oracle; on the unit
    ball it is -q, and q is the excess of the fixed point 0. Which q is hard depends on n and on the budget:

        q = min(1, strength max(1 / sqrt(n), (sqrt(p) / (mu n))^power)),

    with strength 1 and power 1 the length at which n records, or their mean released with mu-GDP, tell a direction from
    no direction, so that whoever releases a point has excess of the order of q. power 1/2: the length at which
    learners fail that pay p^(1/4) / sqrt(mu n) for their privacy. Each setting has its own distribution. Tight.
    """

    name = "linear-population"
    title = "linear loss, fresh records"
    tight = True
    hessian_rank = 0

    def __init__(
        self, domain: ConstraintSet, samples: int, generators: Generators, strength: float = 1.0, power: float = 1.0
    ) -> None:
        positive(strength=strength)
        if not 0.0 < power <= 1.0:
            raise ValueError(f"option power must lie in (0, 1], got {power}")
        unit = 1.0 / float(np.sqrt(domain.dimension))
        super().__init__(domain, samples, generators, lipschitz=1.0, lipschitz_l1=unit, smoothness=0.0, curvature=0.0)
        self.strength, self.power = strength, power
        self.direction = np.full(self.dimension, unit)
        self.lengths = self._hard_lengths((np.inf,))

    def _hard_lengths(self, mus: Sequence[float]) -> Array:
        private = (np.sqrt(self.dimension) / (np.array(mus) * self.samples)) ** self.power
        return np.minimum(1.0, self.strength * np.maximum(1.0 / np.sqrt(self.samples), private))

    def facing(self, mus: Sequence[float]) -> Self:
        """One distribution for each budget, of the length that is hard for it."""
        copied = copy.copy(self)
        copied.lengths = self._hard_lengths(mus)
        return copied

    def _drawn(self, coins: Coins, count: int) -> Array:
        unit = float(self.direction[0])
        chances = 0.5 * (1.0 + self.lengths)  # a coordinate's mean is q / sqrt(p)
        return coins.draw(chances, unit, -unit, (count, self.dimension))

    def value(self, points: Array) -> Array:
        """q <theta, (1, .., 1)> / sqrt(p), (..., settings, runs)."""
        return self.lengths[:, None] * vecdot(points, self.direction)

    def losses(self, records: Array) -> Losses:
        """<theta, z>."""
        return Losses(Linear, [records], [])

    def gradients(self, points: Array, records: Array) -> Array:
        """The records."""
        return np.broadcast_arrays(records, points)[0]

    def optimum(self) -> Optimum:
        """The linear oracle; values (settings, runs)."""
        return self._same_for_all(self.domain.linear_oracle(self.direction))


class QuadraticPopulation(PopulationRisk):
    """Loss (beta/2) |theta - z|^2, z = theta0 + spread s / sqrt(p) with uniform signs s, theta0 = `domain.target()`.

    F(theta) = (beta/2) (|theta - theta0|^2 + spread^2): beta-smooth and beta-strongly convex, minimal at theta0.
    Admissible are all records within `spread` of theta0, hence L = beta (max |theta - theta0| + spread). One
    distribution for all settings.
    """

    name = "quadratic-population"
    title = "quadratic loss, fresh records"

    def __init__(
        self, domain: ConstraintSet, samples: int, generators: Generators, beta: float = 1.0, spread: float = 0.5
    ) -> None:
        positive(beta=beta, spread=spread)
        anchor = domain.target()
        steepest, curvature = beta * (domain.max_distance_from(anchor) + spread), beta * domain.diameter**2
        super().__init__(domain, samples, generators, lipschitz=steepest, smoothness=beta, curvature=curvature)
        self.anchor, self.beta, self.spread = anchor, beta, spread
        self.strong_convexity, self.hessian_rank = beta, domain.dimension

    def _drawn(self, coins: Coins, count: int) -> Array:
        side = self.spread / float(np.sqrt(self.dimension))
        records = coins.draw(FAIR, side, -side, (count, self.dimension))
        records += self.anchor
        return records

    def value(self, points: Array) -> Array:
        """(beta/2) (|theta - theta0|^2 + spread^2), (..., runs)."""
        apart = points - self.anchor
        return 0.5 * self.beta * (vecdot(apart, apart) + self.spread**2)

    def losses(self, records: Array) -> Losses:
        """(beta/2) |theta - z|^2."""
        return Losses(Quadratic, [records], [self.beta])

    def gradients(self, points: Array, records: Array) -> Array:
        """beta (theta - z), faster than one round of `losses`."""
        return self.beta * (points - records)

    def optimum(self) -> Optimum:
        """theta0."""
        return self._same_for_all(self.anchor)


class LassoPopulation(PopulationRisk):
    """Loss (<x, theta> - y)^2 / 2, x uniform in {-1, 1}^p, y = <x, truth> +- noise with a fair coin; records (x, y).

    The truth has `sparsity` equal first entries and l1 norm 1 - noise, so that |y| <= 1, as for every
    admissible record; it has to lie in the set. F(theta) = (|theta - truth|_2^2 + noise^2) / 2, minimal at the truth.
    A gradient moves by at most |theta - theta'|_1 in one of its coordinates (`smoothness_l1` = 1), by p times the
    distance in l2. The l1 ball pays ln p for its privacy where others pay sqrt(p).

    `gradient` and `gram_columns` are those of the average loss of the n records, for learners that meet them more than
    once.
    """

    name = "lasso-population"
    title = "sparse regression, fresh records"
    traits = frozenset({FRESH, STORED})
    smoothness_l1 = 1.0
    hessian_rank = 1

    def __init__(
        self, domain: ConstraintSet, samples: int, generators: Generators, sparsity: int = 2, noise: float = 0.1
    ) -> None:
        if not 1 <= sparsity <= domain.dimension:
            raise ValueError(f"option sparsity must lie in 1..{domain.dimension}, got {sparsity}")
        if not 0.0 <= noise < 1.0:
            raise ValueError(f"option noise must lie in [0, 1), got {noise}")
        super().__init__(domain, samples, generators, **squared_constants(domain))
        self.noise = noise
        self._known: tuple[DenseGram, Array] | None = None
        self.truth = np.where(np.arange(self.dimension) < sparsity, (1.0 - noise) / sparsity, 0.0)
        if np.abs(domain.project(self.truth[None]) - self.truth).max() > 1e-9:
            raise ValueError(f"the set {domain.name!r} does not hold the truth of {self.name!r}")

    def _drawn(self, coins: Coins, count: int) -> Array:
        records = coins.draw(FAIR, 1.0, -1.0, (count, self.dimension + 1))
        records[..., -1] = vecdot(records[..., :-1], self.truth) + self.noise * records[..., -1]
        return records

    def value(self, points: Array) -> Array:
        """(|theta - truth|^2 + noise^2) / 2, (..., runs)."""
        apart = points - self.truth
        return 0.5 * (vecdot(apart, apart) + self.noise**2)

    def losses(self, records: Array) -> Losses:
        """(1/2) (<x, theta> - y)^2."""
        return Losses(RidgeSquared, [records[..., :-1], records[..., -1]], [0.0])

    def gradients(self, points: Array, records: Array) -> Array:
        """(<x, theta> - y) x, faster than one round of `losses`."""
        features, labels = records[..., :-1], records[..., -1]
        return (vecdot(features, points) - labels)[..., None] * features

    def gradient(self, points: Array) -> Array:
        """Of the average loss of the n records, (..., runs, p)."""
        gram, moment = self._moments()
        return gram.product(points) - moment

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        """Raises ValueError: single records are not stored."""
        raise ValueError(f"{self.name} keeps no single records")

    def gram_columns(self, coordinates: np.ndarray) -> Array:
        """Of the mean of x x', the run's coordinate each: (runs,) -> (runs, p)."""
        return self._moments()[0].columns(coordinates)

    def _moments(self) -> tuple[DenseGram, Array]:
        """Means of x x', one matrix a run, and of y x, (runs, p), computed at the first request."""
        if self._known is None:
            apart = np.zeros((self.runs, self.dimension, self.dimension), dtype=np.uint64)
            moment, stream = np.zeros((self.runs, self.dimension)), self.stream()
            while stream.remaining:
                remaining, part = min(stream.remaining, _SUMMED), np.zeros_like(moment)
                while remaining:
                    block = stream.take(min(remaining, _CHUNK))[0]
                    remaining -= block.shape[1]
                    for run, records in enumerate(block):
                        add_moments(records[:, :-1], records[:, -1], apart[run], part[run])
                moment += part
            self._known = DenseGram(gram_of(apart, self.samples) / self.samples), moment / self.samples
        return self._known

    def optimum(self) -> Optimum:
        """The truth."""
        return self._same_for_all(self.truth)

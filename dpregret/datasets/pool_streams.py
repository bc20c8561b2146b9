"""Streams that present a finite pool of examples again and again, in a fresh random order per pass and run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from dpregret.core.losses import Loss, Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.base import BLOCK, Comparator, Stream
from dpregret.datasets.bundled import load
from dpregret.datasets.examples import Examples
from dpregret.datasets.losses import RidgeLogistic, RidgeSquared
from dpregret.datasets.optimum import minimise_pool
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

# Words of the seed of a synthetic pool, so that two families with one pool_seed share no draws.
_LOGISTIC, _LASSO = 1, 2


class PoolStream(Stream):
    """f_t(x) = phi(<v_i, x>; y_i) + (mu/2) |x|^2 for the i-th example of the pool, i in random order.

    Every run sees the whole pool once per pass, in an order of its own. Features have norm at most 1, labels lie in
    {-1, +1} or [-1, 1]; over all such examples the exact Lipschitz constant on a centered ball of radius
    R = reach(0) is max |phi'| over scores in [-R, R], plus mu R. Smoothness mu + bend.

    The comparator is computed by a batched first-order method to a certified relative gap of 1e-8. It is what regret is
    measured against and no learner sees it; what learners receive (constants, no L*) holds for all such examples.
    """

    apart = False
    stochastic = True

    def __init__(
        self,
        domain: ConstraintSet,
        strong_convexity: float,
        examples: Examples,
        family: Any,
    ) -> None:
        if examples.features.shape[1] != domain.dimension:
            columns = examples.features.shape[1]
            raise ValueError(f"stream {self.name!r} has {columns} features, the set has dimension {domain.dimension}")
        reach = domain.reach(np.zeros(domain.dimension))
        super().__init__(
            domain,
            strong_convexity=strong_convexity,
            lipschitz=family.steepest(reach) + strong_convexity * reach,
            smoothness=family.bend() + strong_convexity,
        )
        self.features = examples.features
        self.labels = examples.labels
        self.family = family

    def _losses(self, generators: Sequence[np.random.Generator]) -> Iterator[Sequence[Loss]]:
        for order in self._orders(generators):
            for first in range(0, len(order), BLOCK):
                chosen = order[first : first + BLOCK]
                yield Losses(self.family, [self.features[chosen], self.labels[chosen]], [self.strong_convexity])

    def _orders(self, generators: Sequence[np.random.Generator]) -> Iterator[np.ndarray]:
        """Endless passes: example numbers (pool, runs)."""
        size = len(self.labels)
        while True:
            yield np.stack([generator.permutation(size) for generator in generators], axis=1)

    def _counts(self, generators: Sequence[np.random.Generator], checkpoints: Sequence[int]) -> Iterator[Array]:
        """How often each example was seen up to each checkpoint, (runs, pool)."""
        size = len(self.labels)
        orders = self._orders(generators)
        order, drawn = next(orders), 1
        for checkpoint in checkpoints:
            passes, rest = divmod(checkpoint, size)
            while drawn <= passes:
                order, drawn = next(orders), drawn + 1
            counts = np.full((len(generators), size), float(passes))
            np.put_along_axis(counts, order[:rest].T, passes + 1.0, axis=1)
            yield counts

    def _comparator(self, generators: Sequence[np.random.Generator], checkpoints: Sequence[int]) -> Comparator:
        center = self.domain.center()
        at_center = self.family.loss(vecdot(self.features, center), self.labels)
        at_center = at_center + 0.5 * self.strong_convexity * vecdot(center, center)
        points = np.tile(center, (len(generators), 1))
        rows: list[tuple[Array, Array, Array]] = []
        for checkpoint, counts in zip(checkpoints, self._counts(generators, checkpoints), strict=True):
            stay = vecdot(counts, at_center)
            points, values, gaps = minimise_pool(
                self.family,
                self.features,
                self.labels,
                counts / checkpoint,
                strong_convexity=self.strong_convexity,
                domain=self.domain,
                start=points,
            )
            rows.append((values * checkpoint, gaps, stay))
        losses, relative, stays = (np.stack(column) for column in zip(*rows, strict=True))
        return Comparator(losses, relative, stays)


class RidgeLogisticPool(PoolStream):
    """Features uniform on the unit sphere, P(y = 1 | v) = sigma(signal <direction, v>).

    The direction points from the set's center to its target. The pool depends on ``pool_seed`` and the set only:
    all runs share it.
    """

    name = "ridge-logistic"
    title = "ridge logistic regression"

    def __init__(
        self,
        domain: ConstraintSet,
        strong_convexity: float,
        pool_size: int = 4096,
        pool_seed: int = 0,
        signal: float = 8.0,
    ) -> None:
        generator = np.random.default_rng(np.random.SeedSequence([_LOGISTIC, pool_seed]))
        features = _unit_features(generator, pool_size, domain.dimension)
        direction = domain.target() - domain.center()
        direction = direction / np.sqrt(vecdot(direction, direction))
        positive = generator.random(pool_size) < expit(signal * vecdot(features, direction))
        examples = Examples(features, np.where(positive, 1.0, -1.0))
        super().__init__(domain, strong_convexity, examples, RidgeLogistic)


class Lasso(PoolStream):
    """Sparse regression, y = <v, truth> + noise N(0, 1) clipped to [-1, 1], v uniform on the unit sphere.

    The truth has ``sparsity`` entries of equal size and random sign at random places, and l1 norm ``truth_norm``:
    outside the unit l1 ball, so that the constraint matters where mu is small. The default max(2, d // 8) keeps the
    optimum off the vertices, where noise would not show.
    """

    name = "lasso"
    traits = PoolStream.traits | {"quadratic"}

    def __init__(
        self,
        domain: ConstraintSet,
        strong_convexity: float,
        pool_size: int = 4096,
        pool_seed: int = 0,
        sparsity: int | None = None,
        truth_norm: float = 2.0,
        noise: float = 0.1,
    ) -> None:
        dimension = domain.dimension
        nonzero = min(dimension, max(2, dimension // 8)) if sparsity is None else sparsity
        if not 1 <= nonzero <= dimension:
            raise ValueError(f"sparsity must lie in 1..{dimension}, got {nonzero}")
        generator = np.random.default_rng(np.random.SeedSequence([_LASSO, pool_seed]))
        features = _unit_features(generator, pool_size, dimension)
        truth = np.zeros(dimension)
        places = generator.choice(dimension, size=nonzero, replace=False)
        truth[places] = generator.choice([-1.0, 1.0], size=nonzero) * (truth_norm / nonzero)
        labels = np.clip(vecdot(features, truth) + noise * generator.standard_normal(pool_size), -1.0, 1.0)
        super().__init__(domain, strong_convexity, Examples(features, labels), RidgeSquared)


def _unit_features(generator: np.random.Generator, size: int, dimension: int) -> Array:
    if size < 1:
        raise ValueError(f"pool_size must be at least 1, got {size}")
    normals = generator.standard_normal((size, dimension))
    features: Array = normals / np.sqrt(vecdot(normals, normals))[:, None]
    return features


class BreastCancer(PoolStream):
    """Wisconsin diagnostic breast cancer (569 x 30) through ridge-logistic loss; +1 = malignant."""

    name = data = "breast-cancer"
    columns, real = 30, True

    def __init__(self, domain: ConstraintSet, strong_convexity: float, data_dir: str | Path) -> None:
        super().__init__(domain, strong_convexity, load(self.name, Path(data_dir)), RidgeLogistic)


class Digits(PoolStream):
    """Handwritten digits (1797 x 64) through ridge-logistic loss; +1 = odd digit (parity)."""

    name = data = "digits"
    columns, real = 64, True

    def __init__(self, domain: ConstraintSet, strong_convexity: float, data_dir: str | Path) -> None:
        super().__init__(domain, strong_convexity, load(self.name, Path(data_dir)), RidgeLogistic)


class Diabetes(PoolStream):
    """Diabetes progression (442 x 10) through ridge-squared loss."""

    name = data = "diabetes"
    traits = PoolStream.traits | {"quadratic"}
    columns, real = 10, True

    def __init__(self, domain: ConstraintSet, strong_convexity: float, data_dir: str | Path) -> None:
        super().__init__(domain, strong_convexity, load(self.name, Path(data_dir)), RidgeSquared)


class Fetched(PoolStream):
    """A fetched set of two classes of ``sources.yaml``, the option ``source``, through ridge-logistic loss."""

    name = "fetched"
    real = True

    def __init__(self, domain: ConstraintSet, strong_convexity: float, source: str, data_dir: str | Path) -> None:
        self.name = source  # what messages call it
        examples = load(source, Path(data_dir))
        if not np.isin(examples.labels, (-1.0, 1.0)).all():
            raise ValueError(f"{source!r} has other labels than -1 and +1: it is for the stream 'fetched-regression'")
        super().__init__(domain, strong_convexity, examples, RidgeLogistic)


class FetchedRegression(PoolStream):
    """A fetched set of ``sources.yaml``, the option ``source``, through ridge-squared loss; labels in [-1, 1]."""

    name = "fetched-regression"
    traits = PoolStream.traits | {"quadratic"}
    real = True

    def __init__(self, domain: ConstraintSet, strong_convexity: float, source: str, data_dir: str | Path) -> None:
        self.name = source  # what messages call it
        super().__init__(domain, strong_convexity, load(source, Path(data_dir)), RidgeSquared)

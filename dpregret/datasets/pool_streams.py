"""Streams that present a finite pool of examples again and again, in a fresh random order per pass and run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from scipy.special import expit

from dpregret.core.losses import Loss, Losses
from dpregret.core.newton import newton
from dpregret.core.progress import Progress
from dpregret.core.sets import ConstraintSet, minimise
from dpregret.datasets.bundled import load
from dpregret.datasets.examples import Examples, norm_of, unit_rows
from dpregret.datasets.losses import RidgeLogistic, RidgeSquared
from dpregret.datasets.source import Generators, sparse_truth
from dpregret.datasets.streams import BLOCK, Comparator, Stream
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import largest_eigenvalue, product, vecdot

GAP: Final = 1e-8
"""Largest relative gap of a comparator."""
LEAST: Final = 1e-4
"""Share of the loss of the center below which a gap is not measured in units of the smaller loss of the best point."""
FIRST_ORDER_STEPS: Final = 4_000
SECONDS: Final = 600.0
"""CPU seconds that the search for the comparators of all checkpoints may take."""
SIMILAR: Final = 10.0
"""Ratio of the sizes of columns up to which it is no reason for a slow search."""
# Words of the seed of a synthetic pool, so that two families with one pool_seed share no draws.
_LOGISTIC, _LASSO = 1, 2


class PoolStream(Stream):
    """f_t(x) = phi(<v_i, x>; y_i) + (mu/2) |x|^2 for the i-th example of the pool, i in random order.

    family: `RidgeLogistic`, `RidgeSquared`, or another loss made of (features, labels, mu), with the scalar loss phi:
    elementwise `loss` and `slope` (scores, labels), `bend`, the largest phi'', and `steepest` (largest_score),
    the largest |phi'| over scores in [-largest_score, largest_score].

    Every run sees the whole pool once per pass, in its own order. Features have norm at most 1, labels lie in
    {-1, +1} or [-1, 1]; over all such examples the exact Lipschitz constant on a centered ball of radius
    R = max_distance_from(0) is max |phi'| over scores in [-R, R], plus mu R. Smoothness mu + bend.

    The comparator is computed by a batched first-order method, and by Newton's where that is slow, to a certified
    relative gap of `GAP`. It is what regret is measured against and no learner sees it; what learners receive
    (constants, no L*) holds for all such examples.
    """

    apart = False
    stochastic = True
    progress: Progress | None = None

    def __init__(self, domain: ConstraintSet, strong_convexity: float, examples: Examples, family: Any) -> None:
        if examples.features.shape[1] != domain.dimension:
            columns = examples.features.shape[1]
            raise ValueError(f"stream {self.name!r} has {columns} features, the set has dimension {domain.dimension}")
        radius = domain.max_distance_from(np.zeros(domain.dimension))
        super().__init__(
            domain,
            strong_convexity=strong_convexity,
            lipschitz=family.steepest(radius) + strong_convexity * radius,
            smoothness=family.bend() + strong_convexity,
        )
        self.features = examples.features
        self.labels = examples.labels
        self.family = family

    @property
    def pool_size(self) -> int:
        """The examples of the pool."""
        return len(self.labels)

    def _losses(self, generators: Generators) -> Iterator[Sequence[Loss]]:
        for order in self._orders(generators):
            for first in range(0, len(order), BLOCK):
                chosen = order[first : first + BLOCK]
                yield Losses(self.family, [self.features[chosen], self.labels[chosen]], [self.strong_convexity])

    def _orders(self, generators: Generators) -> Iterator[np.ndarray]:
        """Endless passes: example numbers (pool, runs)."""
        size = len(self.labels)
        while True:
            yield np.stack([generator.permutation(size) for generator in generators], axis=1)

    def _counts(self, generators: Generators, checkpoints: Sequence[int]) -> Iterator[Array]:
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

    def _comparator(self, generators: Generators, checkpoints: Sequence[int]) -> Comparator:
        at_center = self._of_each(self.domain.center())
        points = np.tile(self.domain.center(), (len(generators), 1))
        rows: list[tuple[Array, Array, Array]] = []
        progress = self.progress = Progress("")
        for checkpoint, counts in zip(checkpoints, self._counts(generators, checkpoints), strict=True):
            point = f"the best fixed point of {self.name!r} after {checkpoint} rounds"
            progress.what = f"searches {point}, for at most {SECONDS:.0f} s of CPU time"
            points, values, gaps = self.minimum(counts / checkpoint, points)
            rows.append((values * checkpoint, gaps, vecdot(counts, at_center)))
        return Comparator(*(np.stack(column) for column in zip(*rows, strict=True)))

    def _of_each(self, point: Array) -> Array:
        """The loss of every example at a point, (pool,)."""
        losses = self.family.loss(vecdot(self.features, point), self.labels)
        return losses + 0.5 * self.strong_convexity * vecdot(point, point)

    def minimum(
        self, weights: Array, start: Array, *, goal: float = 1e-11, **options: Any
    ) -> tuple[Array, Array, Array]:
        """Minimise sum_i w_i phi(<v_i, x>; y_i) + (mu/2) |x|^2 over the set, for every run at once.

        ``weights`` (runs, pool) with row sums 1, ``start`` (runs, d); each run has its own smoothness
        mu + bend * lambda_max(sum_i w_i v_i v_i^T). ``goal`` and ``options``: of `minimise`.

        Returns (points (runs, d), values (runs,), relative gaps (runs,)): the duality gap divided by the value, or by
        `LEAST` times the loss of the center where that is more. Raises FloatingPointError, with what in the data makes
        the search slow, where a gap stays above `GAP`, or the search takes more than `SECONDS`.
        """

        def gradient(points: Array) -> Array:
            self._tick()
            slopes = self.family.slope(product(points, self.features.T), self.labels)
            slopes *= weights
            result = product(slopes, self.features)
            result += self.strong_convexity * points
            return result

        moments = np.stack([product(self.features.T * row, self.features) for row in weights])
        smoothness = self.strong_convexity + self.family.bend() * largest_eigenvalue(moments)[:, None]
        newtons = "max_steps" not in options  # a caller who bounds the steps gets these alone
        options = {"max_steps": FIRST_ORDER_STEPS, "allowed": GAP, "certify": False, "stop": self._late, **options}
        points, gaps, _ = minimise(self.domain, gradient, start, smoothness, goal=goal, **options)
        least = LEAST * vecdot(weights, self._of_each(self.domain.center()))
        unit = np.maximum(self._values(weights, points), least)
        for run in np.flatnonzero(gaps > GAP * unit) if newtons else ():
            least_gap = min(goal, 0.1 * GAP * float(unit[run]))
            points[run], gaps[run] = self._by_newton(weights[run], points[run], least_gap)
        values = self._values(weights, points)
        unit = np.maximum(values, least)
        relative = np.divide(gaps, unit, out=np.zeros_like(gaps), where=unit > 0.0)
        late = self._late()  # an answer that was cut short is none: no number depends on the speed of a machine
        if late or (relative > options["allowed"]).any():
            worst, taken = int(relative.argmax()), f"{options['max_steps']} steps" + " and those of Newton" * newtons
            reasons = self._slow(points[worst])
            if late:
                taken = f"{SECONDS:.0f} s of CPU time"
                reasons = f"{len(self.labels)} records in {len(weights)} runs: play fewer runs; {reasons}"
            gap = f"gap {gaps[worst]:.1e}, in units of the loss {relative[worst]:.1e}, after {taken}"
            raise FloatingPointError(
                f"no certified minimum: {gap}; at most {options['allowed']:.0e} is wanted: {reasons}"
            )
        return points, values, relative

    def _tick(self) -> None:
        if self.progress is not None:
            self.progress.tick()

    def _late(self) -> bool:
        return self.progress is not None and self.progress.seconds() > SECONDS

    def _values(self, weights: Array, points: Array) -> Array:
        losses = vecdot(weights, self.family.loss(product(points, self.features.T), self.labels))
        values: Array = losses + 0.5 * self.strong_convexity * vecdot(points, points)
        return values

    def _by_newton(self, weights: Array, start: Array, goal: float) -> tuple[Array, float]:
        """One run's point and gap; phi'' is the difference quotient of phi'."""

        def scores(point: Array) -> Array:
            self._tick()
            return product(point[None], self.features.T)[0]

        def value(point: Array) -> float:
            return float(self._values(weights[None], point[None])[0])

        def gradient(point: Array) -> Array:
            slopes = weights * self.family.slope(scores(point), self.labels)
            answer: Array = product(slopes[None], self.features)[0] + self.strong_convexity * point
            return answer

        def hessian(point: Array) -> Array:
            at = scores(point)
            step = 1e-6 * (1.0 + np.abs(at))
            rise = self.family.slope(at + step, self.labels) - self.family.slope(at - step, self.labels)
            bends = weights * np.maximum(rise / (2.0 * step), 0.0)
            moments: Array = product(self.features.T * bends, self.features)
            return moments + self.strong_convexity * np.eye(len(point))

        return newton(self.domain, value, gradient, hessian, start, goal, self._late)

    def _slow(self, point: Array) -> str:
        """What in the data makes the search slow, with the remedy. point: the best that was found."""
        sizes = np.abs(self.features).max(axis=0)
        sizes = sizes[sizes > 0.0]
        ratio = float(sizes.max() / sizes.min()) if sizes.size else 1.0
        reasons = ["its columns are of similar sizes"]
        if ratio > SIMILAR:
            scale = f"its largest column is {ratio:.0f} times as large as its smallest"
            reasons = [f"{scale}; bring columns to similar sizes by public ranges"]
        if set(np.unique(self.labels)) == {-1.0, 1.0} and (self.labels * vecdot(self.features, point) > 0.0).all():
            reasons.append("a point of the set separates its classes, so that losses are nearly flat")
        return f"{'; '.join(reasons)}; a ridge (strong_convexity) helps where the stream has one"


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

    The truth has ``sparsity`` entries of equal size and random sign at random positions, and l1 norm ``truth_norm``:
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
        generator = np.random.default_rng(np.random.SeedSequence([_LASSO, pool_seed]))
        features = _unit_features(generator, pool_size, dimension)
        truth = sparse_truth(generator, dimension, nonzero, truth_norm)
        labels = np.clip(vecdot(features, truth) + noise * generator.standard_normal(pool_size), -1.0, 1.0)
        super().__init__(domain, strong_convexity, Examples(features, labels), RidgeSquared)


def _unit_features(generator: np.random.Generator, size: int, dimension: int) -> Array:
    if size < 1:
        raise ValueError(f"pool_size must be at least 1, got {size}")
    return unit_rows(generator.standard_normal((size, dimension)), "pool")


class DataPool(PoolStream):
    """Examples of the prepared data that have the stream's name, `through` a loss."""

    real = True
    through: ClassVar[Any] = RidgeLogistic

    def __init__(self, domain: ConstraintSet, strong_convexity: float, data_dir: str | Path) -> None:
        super().__init__(domain, strong_convexity, load(self.name, Path(data_dir)), self.through)


class BreastCancer(DataPool):
    """Wisconsin diagnostic breast cancer (569 x 30) through ridge-logistic loss; +1 = malignant."""

    name = data = "breast-cancer"
    columns = 30


class Digits(DataPool):
    """Handwritten digits (1797 x 64) through ridge-logistic loss; +1 = odd digit (parity)."""

    name = data = "digits"
    columns = 64


class Diabetes(DataPool):
    """Diabetes progression (442 x 10) through ridge-squared loss."""

    name = data = "diabetes"
    traits = PoolStream.traits | {"quadratic"}
    through = RidgeSquared
    columns = 10


class Fetched(DataPool):
    """A fetched set of two classes of ``sources.yaml``, the option ``source``, through ridge-logistic loss."""

    name = "fetched"

    def __init__(self, domain: ConstraintSet, strong_convexity: float, source: str, data_dir: str | Path) -> None:
        self.name = source  # what messages call it
        super().__init__(domain, strong_convexity, data_dir)
        if self.through is RidgeLogistic and not np.isin(self.labels, (-1.0, 1.0)).all():
            raise ValueError(f"{source!r} has other labels than -1 and +1: it is for the stream 'fetched-regression'")


class FetchedRegression(Fetched):
    """A fetched set of ``sources.yaml``, the option ``source``, through ridge-squared loss; labels in [-1, 1]."""

    name = "fetched-regression"
    traits = PoolStream.traits | {"quadratic"}
    through = RidgeSquared


class RecordsLogistic(PoolStream):
    """f_t(x) = ln(1 + exp(-y <a, x>)) for the records of a study, the option ``source``; |a| is at most their `norm`.

    Lipschitz constant: the norm, a public constant that the user states, whatever the set. Smoothness: norm^2 / 4. The
    losses have no strong convexity: learners need a card that says ``convex``.
    """

    name = "records-logistic"
    title = "logistic regression of records"
    traits = frozenset({"smooth"})
    real = True

    def __init__(self, domain: ConstraintSet, strong_convexity: float, source: str, data_dir: str | Path) -> None:
        self.name = source  # what messages call it
        examples, norm = load(source, Path(data_dir)), norm_of(Path(data_dir) / f"{source}.npz")
        if not np.isin(examples.labels, (-1.0, 1.0)).all():
            raise ValueError(f"{source!r} has other labels than -1 and +1: give `positive` in its data.yaml")
        scaled = Examples(norm * examples.features, examples.labels)
        super().__init__(domain, 0.0, scaled, RidgeLogistic)  # a ridge of weight 0
        self.lipschitz, self.smoothness = norm, 0.25 * norm**2

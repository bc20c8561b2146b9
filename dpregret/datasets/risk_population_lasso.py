"""Squared loss of random features: a population on which the l1 ball pays ln p where others pay sqrt(p)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpregret.core.sets import ConstraintSet
from dpregret.datasets.risk_base import FRESH, STORED, Optimum, largest_l1_norm
from dpregret.datasets.risk_population import FAIR, PopulationRisk
from dpregret.datasets.risk_squared import DenseGram
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot
from dpregret.numerics.uniforms import Coins

Generators = Sequence[np.random.Generator]
_SUMMED, _CHUNK = 1 << 12, 1 << 7  # records of a run that are added up on their own, and that are drawn at a time


class LassoPopulation(PopulationRisk):
    """Loss (<x, theta> - y)^2 / 2, x uniform in {-1, 1}^p, y = <x, truth> +- noise with a fair coin; records (x, y).

    The truth has `sparsity` equal entries at the first places and l1 norm 1 - noise, so that |y| <= 1, as for every
    admissible record; it has to lie in the set. F(theta) = (|theta - truth|_2^2 + noise^2) / 2, minimal at the truth.
    With B = max |theta|_1 on the set a gradient has coordinates up to B + 1 and moves by at most |theta - theta'|_1 in
    one of them (`smoothness_l1` = 1), by p times the distance in l2.

    `gradient` and `gram_columns` are those of the average loss of the n records, for learners that meet them more than
    once.
    """

    name = "lasso-population"
    title = "sparse regression, fresh records"
    traits = frozenset({FRESH, STORED})
    smoothness_l1 = 1.0

    def __init__(
        self, domain: ConstraintSet, samples: int, generators: Generators, sparsity: int = 2, noise: float = 0.1
    ) -> None:
        if not 1 <= sparsity <= domain.dimension:
            raise ValueError(f"option sparsity must lie in 1..{domain.dimension}, got {sparsity}")
        if not 0.0 <= noise < 1.0:
            raise ValueError(f"option noise must lie in [0, 1), got {noise}")
        size = largest_l1_norm(domain)
        super().__init__(
            domain,
            samples,
            generators,
            lipschitz=float(np.sqrt(domain.dimension)) * (size + 1.0),
            lipschitz_l1=size + 1.0,
            smoothness=float(domain.dimension),
            curvature=4.0 * size**2,
            hessian_rank=1,
        )
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
        value: Array = 0.5 * (vecdot(apart, apart) + self.noise**2)
        return value

    def gradients(self, points: Array, records: Array) -> Array:
        """(<x, theta> - y) x."""
        features, labels = records[..., :-1], records[..., -1]
        slope: Array = (vecdot(features, points) - labels)[..., None] * features
        return slope

    def gradient(self, points: Array) -> Array:
        """Of the average loss of the n records, (..., runs, p)."""
        gram, moment = self._moments()
        slope: Array = gram.product(points) - moment
        return slope

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        """Raises ValueError: single records are not kept."""
        raise ValueError(f"{self.name} keeps no single records")

    def gram_columns(self, coordinates: np.ndarray) -> Array:
        """Of the mean of x x', the run's coordinate each: (runs,) -> (runs, p)."""
        return self._moments()[0].columns(coordinates)

    def _moments(self) -> tuple[DenseGram, Array]:
        """Means of x x', one matrix a run, and of y x, (runs, p), made when they are first requested."""
        if self._known is None:
            from dpregret.datasets.sign_kernels import add_moments, gram_of

            apart = np.zeros((self.runs, self.dimension, self.dimension), dtype=np.uint64)
            moment, stream = np.zeros((self.runs, self.dimension)), self.stream()
            while stream.left:
                left, part = min(stream.left, _SUMMED), np.zeros_like(moment)
                while left:
                    block = stream.take(min(left, _CHUNK))[0]
                    left -= block.shape[1]
                    for run, own in enumerate(block):
                        add_moments(own[:, :-1], own[:, -1], apart[run], part[run])
                moment += part
            self._known = DenseGram(gram_of(apart, self.samples) / self.samples), moment / self.samples
        return self._known

    def optimum(self) -> Optimum:
        """The truth."""
        return self._same_for_all(self.truth)

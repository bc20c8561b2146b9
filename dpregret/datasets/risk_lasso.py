"""LASSO instances with the squared loss: an easy one, three structured ones whose records are exact, real data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from dpregret.core.sets import ConstraintSet
from dpregret.datasets.bundled import load
from dpregret.datasets.examples import check_finite
from dpregret.datasets.risk_squared import DenseGram, FactoredGram, SquaredRisk
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import product, vecdot

KEPT_RECORDS = 1 << 16
"""Single records of drawn data are kept up to this many."""
_CHUNK = 1 << 14

Generators = Sequence[np.random.Generator]


def hadamard_signs(rows: np.ndarray, columns: np.ndarray) -> Array:
    """Entries (-1)^popcount(row & column) of a Sylvester-Hadamard matrix, broadcasting rows against columns."""
    odd = (np.bitwise_count(rows & columns) & 1).astype(np.float64)
    signs: Array = 1.0 - 2.0 * odd
    return signs


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


class LassoEasy(SquaredRisk):
    """Sparse regression, y = <x, truth> + noise N(0, 1) clipped to [-1, 1], x of independent signs; one data set a run.

    The truth has `sparsity` equal entries of random sign at random places and l1 norm `truth_norm`; 2 puts it outside
    the unit l1 ball, so that the constraint binds. Needs one (p, p) matrix a run. Well-conditioned: excess risk falls
    faster than worst-case rates. Single records are kept up to 2^16 of them.
    """

    name = "lasso-easy"
    title = "sparse regression"
    costly = True

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        generators: Generators,
        sparsity: int = 8,
        truth_norm: float = 2.0,
        noise: float = 0.1,
    ) -> None:
        dimension = domain.dimension
        if not 1 <= sparsity <= dimension:
            raise ValueError(f"sparsity must lie in 1..{dimension}, got {sparsity}")
        from dpregret.datasets.sign_kernels import gram_of, meet

        apart = np.zeros((len(generators), dimension, dimension), dtype=np.uint64)
        moments = np.zeros((len(generators), dimension))
        squares = np.zeros(len(generators))
        kept: list[tuple[np.ndarray, Array]] = []
        for run, generator in enumerate(generators):
            truth = np.zeros(dimension)
            places = generator.choice(dimension, size=sparsity, replace=False)
            truth[places] = generator.choice([-1.0, 1.0], size=sparsity) * (truth_norm / sparsity)
            all_bits, all_labels = [], []
            for first in range(0, samples, _CHUNK):
                count = min(_CHUNK, samples - first)
                bits = np.frombuffer(generator.bytes(count * -(-dimension // 8)), dtype=np.uint8).reshape(count, -1)
                labels, moment = np.empty(count), np.zeros(dimension)
                meet(bits, truth, noise * generator.standard_normal(count), labels, apart[run], moment)
                moments[run] += moment
                squares[run] += vecdot(labels, labels)
                if samples <= KEPT_RECORDS:
                    all_bits.append(bits)
                    all_labels.append(labels)
            if samples <= KEPT_RECORDS:
                kept.append((np.concatenate(all_bits), np.concatenate(all_labels)))

        def records(numbers: np.ndarray) -> tuple[Array, Array]:
            features = np.stack([_unpack(kept[run][0][number], dimension) for run, number in enumerate(numbers)])
            return features, np.array([kept[run][1][number] for run, number in enumerate(numbers)])

        super().__init__(
            domain,
            samples,
            len(generators),
            gram=DenseGram(gram_of(apart, samples) / samples),
            moment=moments / samples,
            label_square=squares / samples,
            records=records if kept else None,
        )


def _unpack(bits: np.ndarray, dimension: int) -> Array:
    return 1.0 - 2.0 * np.unpackbits(bits, axis=-1, count=dimension).astype(np.float64)


class HeteroConsensus(SquaredRisk):
    """Every coordinate agrees with the label, some more than others; the same records in every run.

    Record i has y = (-1)^i and x_j = y (b_j + (1 - b_j) H_ij) for j = 1..p, b_j = strength (1 - spread (j - 1)
    / p), H a Sylvester-Hadamard matrix whose columns count from 0. So exactly G = b b' + diag((1 - b)^2), c = b, m = 1:
    spread-out, badly conditioned, and O(p) to work with. samples must be a multiple of the smallest power of two above
    p.
    """

    name = "hetero-consensus"
    title = "heterogeneous consensus"

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        generators: Generators,
        strength: float = 0.5,
        spread: float = 0.5,
    ) -> None:
        dimension = domain.dimension
        if not (0.0 < strength <= 1.0 and 0.0 <= spread <= 1.0):
            raise ValueError(f"strength must lie in (0, 1] and spread in [0, 1], got {strength} and {spread}")
        _whole_blocks("hetero-consensus", samples, _power_of_two(dimension + 1))
        bias = strength * (1.0 - spread * np.arange(dimension) / dimension)
        columns = np.arange(1, dimension + 1)

        def records(numbers: np.ndarray) -> tuple[Array, Array]:
            labels = 1.0 - 2.0 * (numbers & 1).astype(np.float64)
            features = bias + (1.0 - bias) * hadamard_signs(numbers[:, None], columns)
            return labels[:, None] * features, labels

        super().__init__(
            domain,
            samples,
            len(generators),
            gram=FactoredGram(np.ones(1), bias[None], (1.0 - bias) ** 2),
            moment=bias,
            label_square=1.0,
            records=records,
        )


class _Consensus(SquaredRisk):
    """`words` records of ones (column j < flips has its sign flipped in word j), the others orthogonal with label 0.

    With m the indicator of the flipped columns and k = samples - words:
    n G = w 1 1' - 2 (1 m' + m 1') + 4 diag(m) + k I, n c = w 1 - 2 m, mean y^2 = w / n; all times `weight`.
    """

    tight = True

    def __init__(
        self, domain: ConstraintSet, samples: int, words: int, flips: int, runs: int, weight: float = 1.0
    ) -> None:
        dimension = domain.dimension
        marked = (np.arange(dimension) < flips).astype(float)
        agreed = 1.0 - (2.0 / words) * marked
        columns = np.arange(dimension)

        def records(numbers: np.ndarray) -> tuple[Array, Array]:
            is_word = numbers < words
            features = np.where(is_word[:, None], 1.0, hadamard_signs(numbers[:, None] - words, columns))
            flipped = np.flatnonzero(numbers < flips)
            features[flipped, numbers[flipped]] = -1.0
            return features * weight**0.5, is_word * weight**0.5

        super().__init__(
            domain,
            samples,
            runs,
            gram=FactoredGram(
                weight * np.array([words / samples, -4.0 / (words * samples)]),
                np.stack([agreed, marked]),
                weight * (samples - words + 4.0 * marked) / samples,
            ),
            moment=weight * (words - 2.0 * marked) / samples,
            label_square=weight * words / samples,
            records=records,
            start=np.full(dimension, 1.0 / (dimension + (samples - words) / words)),
        )


class DenseGrowing(_Consensus):
    """A dense optimum, to be used with p growing like n^(2/3) (`growing_dimension`); the same records in every run.

    One half of the records are x = (1, .., 1), y = 1; in the other half y = 0 and the columns are orthogonal signs. So
    exactly G = (1 1' + I) / 2, c = 1/2, m = 1/2; the optimum on the l1 ball is (1, .., 1) / (p + 1), and s corners
    reach excess risk of order 1/s - 1/p only. samples / 2 must be a multiple of the smallest power of two >= p.
    `curvature`, at most 4: the loss is g/2 (<x, theta> - y)^2 with g = curvature / 4, and admissible are labels up to
    2 / g - 1, so that the l1 Lipschitz constant is 2 whatever the curvature. For the unit l1 ball.
    """

    name = "dense-growing"
    title = "dense optimum"

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        generators: Generators,
        curvature: float = 4.0,
    ) -> None:
        dimension = domain.dimension
        if not 0.0 < curvature <= 4.0:
            raise ValueError(f"curvature must lie in (0, 4], got {curvature}")
        _whole_blocks("dense-growing", samples, 2 * _power_of_two(dimension))
        weight = curvature / 4.0
        super().__init__(domain, samples, samples // 2, 0, len(generators), weight)
        self.curvature *= weight
        self.smoothness *= weight


class Fingerprint(_Consensus):
    """Surrogate of the fingerprinting instance of Talwar, Thakurta & Zhang 2015, proof of Theorem 5.8.

    k = tau w p records have orthogonal sign columns and y = 0; the other w = samples - k are code words with y = 1:
    all ones but that a share `flipped` of the columns (at most w) is not a consensus, each by a flip in one word of
    its own. In the theorem the code is a padded Tardos code, tau = 0.001 and p = 1000 m^2 with n ~ m^3 / ln m; here
    tau is a parameter (0.02 shows the trade-off at small p), k is rounded to whole blocks of orthogonal columns, and
    p ~ n^(2/3) is the caller's (`growing_dimension`). The same records in every run.
    """

    name = "fingerprint"
    title = "fingerprinting instance"

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        generators: Generators,
        tau: float = 0.02,
        flipped: float = 0.001,
    ) -> None:
        dimension = domain.dimension
        if not (tau > 0.0 and 0.0 <= flipped <= 1.0):
            raise ValueError(f"tau must be positive and flipped lie in [0, 1], got {tau} and {flipped}")
        block = _power_of_two(dimension)
        weight = tau * dimension
        orthogonal = block * max(1, round(samples * weight / (1.0 + weight) / block))
        words = samples - orthogonal
        if words < 1:
            raise ValueError(
                f"fingerprint has no room for code words: samples = {samples}, of which {orthogonal} are orthogonal "
                f"for p = {dimension}; more samples or a smaller tau or p are needed"
            )
        super().__init__(domain, samples, words, min(words, round(flipped * dimension)), len(generators))


def _whole_blocks(name: str, samples: int, block: int) -> None:
    if samples < 1 or samples % block:
        raise ValueError(f"{name} needs samples to be a multiple of {block} in this dimension, got {samples}")


def growing_dimension(samples: int, scale: float = 4.0, power: float = 2.0 / 3.0) -> int:
    """scale * samples^power, rounded, at least 2: p of `dense-growing` (scale 4) and `fingerprint` (0.5)."""
    dimension: int = round(scale * float(samples) ** power)
    return max(2, dimension)


class _RealRisk(SquaredRisk):
    """Squared loss on real data, columns in [-1, 1] by public ranges (`bundled`); |y| <= 1.

    samples: the size of the set for all of it (shared by all runs), less for a subsample a run without replacement,
    drawn by the run's generator. Raises ValueError naming file, row and column for a value outside the domain, and for
    more samples than there are.
    """

    real = True
    data: ClassVar[str]
    size: ClassVar[int]
    """Number of records that there are."""

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        generators: Generators,
        data_dir: str | Path,
    ) -> None:
        examples = load(self.data, Path(data_dir))
        where = str(Path(data_dir) / f"{self.data}.npz")
        if examples.features.shape[1] != domain.dimension:
            columns = examples.features.shape[1]
            raise ValueError(f"{where} has {columns} features, the set has dimension {domain.dimension}")
        size = len(examples.labels)
        if not 1 <= samples <= size:
            raise ValueError(f"{where} has {size} records; samples must lie in 1..{size}, got {samples}")
        features, labels = examples.features * self._unit(domain.dimension), examples.labels
        check_domain(features, labels, where)
        runs = len(generators)
        if samples == size:
            order = np.tile(np.arange(size), (runs, 1))
            gram, moment = product(features.T, features) / size, product(labels, features) / size
            square: float | Array = float(vecdot(labels, labels)) / size
        else:
            order = np.stack([generator.permutation(size)[:samples] for generator in generators])
            gram = np.stack([product(features[rows].T, features[rows]) for rows in order]) / samples
            moment = np.stack([product(labels[rows], features[rows]) for rows in order]) / samples
            square = np.square(labels[order]).mean(axis=1)

        def records(numbers: np.ndarray) -> tuple[Array, Array]:
            rows = order[np.arange(runs), numbers]
            return features[rows], labels[rows]

        super().__init__(
            domain,
            samples,
            runs,
            gram=DenseGram(gram),
            moment=moment,
            label_square=square,
            records=records,
        )

    def _unit(self, columns: int) -> float:
        """The factors of the rows: `bundled.prepare` has divided them by it."""
        return math.sqrt(columns)


class FetchedRisk(_RealRisk):
    """A fetched set of `sources.yaml`, the option ``source``: rows of norm 1 by public constants, taken as they are."""

    name = "fetched-risk"

    def __init__(
        self, domain: ConstraintSet, samples: int, generators: Generators, source: str, data_dir: str | Path
    ) -> None:
        self.data = source  # type: ignore[misc]  # of this risk, not of the class
        super().__init__(domain, samples, generators, data_dir)

    def _unit(self, columns: int) -> float:
        return 1.0


class DiabetesRisk(_RealRisk):
    """Diabetes progression."""

    name, data = "diabetes-risk", "diabetes"
    title = "diabetes"
    size, columns = 442, 10


class BreastCancerRisk(_RealRisk):
    """Wisconsin diagnostic breast cancer; +1 = malignant."""

    name, data = "breast-cancer-risk", "breast-cancer"
    title = "breast cancer"
    size, columns = 569, 30


class DigitsRisk(_RealRisk):
    """Handwritten digits; +1 = odd digit."""

    name, data = "digits-risk", "digits"
    title = "digits"
    size, columns = 1797, 64


def check_domain(features: Array, labels: Array, where: str) -> None:
    """Raise ValueError naming the first row and column, from 0, outside |x|_inf <= 1, |y| <= 1, or not finite."""
    check_finite(features, labels, where)
    outside = np.argwhere(np.abs(features) > 1.0 + 1e-12)
    if outside.size:
        row, column = outside[0]
        raise ValueError(
            f"{where}: feature in row {row}, column {column} is {features[row, column]:.6g}, outside [-1, 1]"
        )
    outside = np.argwhere(np.abs(labels) > 1.0)
    if outside.size:
        raise ValueError(f"{where}: label in row {outside[0, 0]} is {labels[outside[0, 0]]:.6g}, outside [-1, 1]")

"""Squared losses (1/2)(<x, theta> - y)^2 with |x|_inf <= 1, |y| <= 1: the LASSO of Talwar, Thakurta & Zhang 2015, 5.3.

The risk is a quadratic: theta' G theta / 2 - <c, theta> + m / 2 with the moments G = mean x x', c = mean y x, m =
mean y^2 of the records. Moments replace the records, so a gradient costs the same for every n; single records can
still be had. Of the instances one is easy, three are structured, with records that are exact, and others are real data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numba import types
from numpy.typing import NDArray

from dpregret.core.losses import Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.bundled import load
from dpregret.datasets.losses import Form, RidgeSquared
from dpregret.datasets.risks import EmpiricalRisk, Optimum, largest_l1_norm
from dpregret.datasets.source import Generators, sparse_truth
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.intrinsics import fused, intrinsic
from dpregret.numerics.sums import dot, largest_eigenvalue, product, products, vecdot


@dataclass(frozen=True, slots=True)
class DenseGram:
    """Matrices (p, p), or (runs, p, p)."""

    matrices: Array

    @property
    def shared(self) -> bool:
        """One matrix for all runs."""
        return self.matrices.ndim == 2

    def product(self, points: Array) -> Array:
        """One matrix product a run."""
        if self.shared:
            return product(points, self.matrices)
        by_run = np.moveaxis(points, -2, 0)
        images = products(by_run.reshape(len(by_run), -1, points.shape[-1]), self.matrices)
        return np.moveaxis(images.reshape(by_run.shape), 0, -2)

    def columns(self, coordinates: np.ndarray) -> Array:
        """Rows of the symmetric matrices."""
        where = coordinates if self.shared else (np.arange(len(coordinates)), coordinates)
        return self.matrices[where]

    def largest_eigenvalues(self) -> Array:
        """Exact, rounded up."""
        return np.atleast_1d(np.maximum(largest_eigenvalue(self.matrices), np.finfo(float).tiny))


@compiled
def _add_factored(weights: Array, vectors: Array, diagonal: Array, coordinates: NDArray[np.int64], into: Array) -> None:
    """into (n, p) += the columns of a `FactoredGram`, term after term as `numerics.sums.add_product` adds."""
    for n in range(len(into)):
        row, coordinate = into[n], coordinates[n]
        for i in range(len(weights)):
            vector, share = vectors[i], vectors[i, coordinate] * weights[i]
            for k in range(len(row)):
                row[k] = fused(share, vector[k], row[k])
        row[coordinate] += diagonal[coordinate]


@dataclass(frozen=True, slots=True)
class FactoredGram:
    """sum_k weights_k v_k v_k' + diag(diagonal), shared by all runs: O(p) memory and O(p) a product or column."""

    weights: Array
    """(r,), of any sign."""
    vectors: Array
    """(r, p)."""
    diagonal: Array
    """(p,)."""
    shared: ClassVar[bool] = True

    def product(self, points: Array) -> Array:
        """Rank r plus diagonal."""
        images = product(product(points, self.vectors.T) * self.weights, self.vectors)
        images += points * self.diagonal
        return images

    def columns(self, coordinates: np.ndarray) -> Array:
        """Rank r plus one entry."""
        columns = np.zeros((len(coordinates), len(self.diagonal)))
        _add_factored(self.weights, self.vectors, self.diagonal, coordinates, columns)
        return columns

    def largest_eigenvalues(self) -> Array:
        """sum of weight |v|^2 over positive weights, plus the largest diagonal entry."""
        squares = vecdot(self.vectors, self.vectors)
        return np.atleast_1d(vecdot(np.maximum(self.weights, 0.0), squares) + self.diagonal.max())


Gram = DenseGram | FactoredGram
"""A positive semidefinite matrix (p, p), or one a run."""


def squared_constants(domain: ConstraintSet) -> dict[str, Any]:
    """Constants of the squared loss on a set.

    With B = max |theta|_1 on the set: |<x, theta> - y| <= B + 1, so ``lipschitz_l1`` = B + 1 and ``lipschitz`` =
    sqrt(p) (B + 1); ``smoothness`` |x|^2 <= p; ``curvature`` max mean <x, a - b>^2 <= 4 B^2 (2 is the largest l1
    distance of two corners of the simplex, too).
    """
    bound = largest_l1_norm(domain)
    return {
        "lipschitz": float(np.sqrt(domain.dimension)) * (bound + 1.0),
        "lipschitz_l1": bound + 1.0,
        "smoothness": float(domain.dimension),
        "curvature": 4.0 * bound**2,
    }


class SquaredRisk(EmpiricalRisk):
    """Risk of a squared loss from its moments.

    gram: G; moment: c, (p,) or (runs, p); label_square: m, a number or (runs,). start: of the search for the optimum,
    the set's center if it is left out. A risk that stores its records overrides `records`.

    Constants: see `squared_constants`.
    """

    hessian_rank = 1

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        runs: int,
        *,
        gram: Gram,
        moment: Array,
        label_square: float | Array,
        start: Array | None = None,
    ) -> None:
        super().__init__(domain, samples, runs, **squared_constants(domain))
        self.gram, self.moment, self.label_square = gram, moment, label_square
        self._start = start
        if isinstance(gram, DenseGram) and gram.shared and moment.ndim == 1:
            self.loss = Form(np.asarray(label_square), gram.matrices, moment)

    def value(self, points: Array) -> Array:
        half: Array = 0.5 * vecdot(points, self.gram.product(points))
        half += 0.5 * self.label_square - vecdot(points, self.moment)
        return half

    def gradient(self, points: Array) -> Array:
        """G points - c."""
        slope = self.gram.product(points)
        slope -= self.moment
        return slope

    def gram_columns(self, coordinates: np.ndarray) -> Array:
        """G[:, j] of every run's coordinate j, (runs,) -> (runs, p)."""
        return self.gram.columns(coordinates)

    def records(self, numbers: np.ndarray) -> tuple[Array, Array]:
        """Features (..., runs, p) and labels (..., runs) of record numbers (..., runs), each of its own run's data.

        Raises ValueError where they are not stored.
        """
        raise ValueError(f"risk {self.name!r} keeps no single records for {self.samples} samples")

    def record_losses(self, records: NDArray[np.int64]) -> Losses:
        """(1/2) (<x, theta> - y)^2 of one record a run."""
        return Losses(RidgeSquared, self.records(records), [0.0])

    def optimum(self) -> Optimum:
        """By accelerated projected gradient, once where all runs share the data; see ``minimise``."""
        shared = self.gram.shared and self.moment.ndim == 1
        rows = 1 if shared else self.runs
        start = self.domain.center() if self._start is None else self._start
        return self._certified(np.broadcast_to(self.gram.largest_eigenvalues(), (rows,)), start)


WORD = 64  # records whose signs of one column make a word


@intrinsic
def _ones(typing: Any, word: Any) -> Any:
    """How many bits of a word are set."""
    return types.uint64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(*arguments)


@compiled
def add_moments(features: Array, labels: Array, apart: NDArray[np.uint64], moment: Array) -> None:
    """Add up records, features (count, p) of signs, labels (count,).

    apart (p, p): in how many records two columns differ in sign, above the diagonal. moment (p,): sum of label times
    features, record after record as `numerics.sums.add_product` adds.
    """
    count, dimension = features.shape
    words = np.empty(dimension, np.uint64)
    for first in range(0, count, WORD):
        words[:] = 0
        for n in range(first, min(first + WORD, count)):
            row, label, bit = features[n], labels[n], np.uint64(n - first)
            for j in range(dimension):
                moment[j] = fused(label, row[j], moment[j])
                words[j] |= np.uint64(row[j] < 0.0) << bit
        for j in range(dimension):
            word, counts = words[j], apart[j]
            for k in range(j + 1, dimension):
                counts[k] += _ones(word ^ words[k])


def gram_of(apart: NDArray[np.uint64], count: int) -> Array:
    """Sum of x x' over `count` records, (..., p, p), from what `add_moments` counted: whole numbers, exact."""
    return count - 2.0 * (apart + np.swapaxes(apart, -1, -2)).astype(np.float64)


@compiled
def add_drawn(
    bits: NDArray[np.uint8], truth: Array, noise: Array, labels: Array, apart: NDArray[np.uint64], moment: Array
) -> None:
    """Unpack records, a feature -1 where its bit is set, label them <x, truth> + noise clipped to [-1, 1], add them up.

    bits (count, bytes of p features, the highest first), noise (count,), labels (count,), written.
    """
    dimension = len(truth)
    block = np.empty((WORD, dimension))  # no wider: rows of a part of the columns are not for vector units
    for first in range(0, len(labels), WORD):
        last = min(first + WORD, len(labels))
        for n in range(first, last):
            row = block[n - first]
            for index in range(bits.shape[1]):
                eight = bits[n, index]
                for j in range(min(8, dimension - 8 * index)):
                    row[8 * index + j] = 1.0 - 2.0 * ((eight >> (7 - j)) & 1)
            labels[n] = min(max(dot(row, truth) + noise[n], -1.0), 1.0)
        add_moments(block[: last - first], labels[first:last], apart, moment)


STORED_RECORDS = 1 << 16
"""Single records of drawn data are stored up to this many."""
_CHUNK = 1 << 14


def hadamard_signs(rows: np.ndarray, columns: np.ndarray) -> Array:
    """Entries (-1)^popcount(row & column) of a Sylvester-Hadamard matrix, broadcasting rows against columns."""
    odd = (np.bitwise_count(rows & columns) & 1).astype(np.float64)
    return 1.0 - 2.0 * odd


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


class LassoEasy(SquaredRisk):
    """Sparse regression, y = <x, truth> + noise N(0, 1) clipped to [-1, 1], x of independent signs; one data set a run.

    The truth has `sparsity` equal entries of random sign at random places and l1 norm `truth_norm`; 2 puts it outside
    the unit l1 ball, so that the constraint binds. Needs one (p, p) matrix a run. Well-conditioned: excess risk falls
    faster than worst-case rates. Single records are stored up to 2^16 of them.
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
        apart = np.zeros((len(generators), dimension, dimension), dtype=np.uint64)
        moments = np.zeros((len(generators), dimension))
        squares = np.zeros(len(generators))
        self._kept: list[tuple[np.ndarray, Array]] = []
        for run, generator in enumerate(generators):
            truth = sparse_truth(generator, dimension, sparsity, truth_norm)
            chunks = []
            for first in range(0, samples, _CHUNK):
                count = min(_CHUNK, samples - first)
                bits = np.frombuffer(generator.bytes(count * -(-dimension // 8)), dtype=np.uint8).reshape(count, -1)
                labels, moment = np.empty(count), np.zeros(dimension)
                add_drawn(bits, truth, noise * generator.standard_normal(count), labels, apart[run], moment)
                moments[run] += moment
                squares[run] += vecdot(labels, labels)
                if samples <= STORED_RECORDS:
                    chunks.append((bits, labels))
            if chunks:
                bits, labels = map(np.concatenate, zip(*chunks, strict=True))
                self._kept.append((bits, labels))
        gram = DenseGram(gram_of(apart, samples) / samples)
        super().__init__(
            domain, samples, len(generators), gram=gram, moment=moments / samples, label_square=squares / samples
        )

    def records(self, numbers: np.ndarray) -> tuple[Array, Array]:
        if not self._kept:
            return super().records(numbers)
        chosen = [(bits[numbers[..., run]], labels[numbers[..., run]]) for run, (bits, labels) in enumerate(self._kept)]
        packed, labels = zip(*chosen, strict=True)
        signs = np.unpackbits(np.stack(packed, axis=-2), axis=-1, count=self.dimension)
        return 1.0 - 2.0 * signs.astype(np.float64), np.stack(labels, axis=-1)


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
        self, domain: ConstraintSet, samples: int, generators: Generators, strength: float = 0.5, spread: float = 0.5
    ) -> None:
        dimension = domain.dimension
        if not (0.0 < strength <= 1.0 and 0.0 <= spread <= 1.0):
            raise ValueError(f"strength must lie in (0, 1] and spread in [0, 1], got {strength} and {spread}")
        _whole_blocks(self.name, samples, _power_of_two(dimension + 1))
        bias = strength * (1.0 - spread * np.arange(dimension) / dimension)
        gram = FactoredGram(np.ones(1), bias[None], (1.0 - bias) ** 2)
        super().__init__(domain, samples, len(generators), gram=gram, moment=bias, label_square=1.0)

    def records(self, numbers: np.ndarray) -> tuple[Array, Array]:
        labels, bias = 1.0 - 2.0 * (numbers & 1).astype(np.float64), self.moment
        features = bias + (1.0 - bias) * hadamard_signs(numbers[..., None], np.arange(1, self.dimension + 1))
        return labels[..., None] * features, labels


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
        self.words, self.flips, self.weight = words, flips, weight
        marked = (np.arange(dimension) < flips).astype(float)
        gram = FactoredGram(
            weight * np.array([words / samples, -4.0 / (words * samples)]),
            np.stack([1.0 - (2.0 / words) * marked, marked]),
            weight * (samples - words + 4.0 * marked) / samples,
        )
        super().__init__(
            domain,
            samples,
            runs,
            gram=gram,
            moment=weight * (words - 2.0 * marked) / samples,
            label_square=weight * words / samples,
            start=np.full(dimension, 1.0 / (dimension + (samples - words) / words)),
        )

    def records(self, numbers: np.ndarray) -> tuple[Array, Array]:
        is_word, columns = numbers < self.words, np.arange(self.dimension)
        signs = hadamard_signs(numbers[..., None] - self.words, columns)
        features = np.where(is_word[..., None], 1.0, signs)
        features[(numbers[..., None] == columns) & (columns < self.flips)] = -1.0
        return features * self.weight**0.5, is_word * self.weight**0.5


class DenseGrowing(_Consensus):
    """A dense optimum, to be used with p growing like n^(2/3), as 4 n^(2/3); the same records in every run.

    One half of the records are x = (1, .., 1), y = 1; in the other half y = 0 and the columns are orthogonal signs. So
    exactly G = (1 1' + I) / 2, c = 1/2, m = 1/2; the optimum on the l1 ball is (1, .., 1) / (p + 1), and s corners
    reach excess risk of order 1/s - 1/p only. samples / 2 must be a multiple of the smallest power of two >= p.
    `curvature`, at most 4: the loss is g/2 (<x, theta> - y)^2 with g = curvature / 4, and admissible are labels up to
    2 / g - 1, so that the l1 Lipschitz constant is 2 whatever the curvature. For the unit l1 ball.
    """

    name = "dense-growing"
    title = "dense optimum"

    def __init__(self, domain: ConstraintSet, samples: int, generators: Generators, curvature: float = 4.0) -> None:
        if not 0.0 < curvature <= 4.0:
            raise ValueError(f"curvature must lie in (0, 4], got {curvature}")
        _whole_blocks(self.name, samples, 2 * _power_of_two(domain.dimension))
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
    p ~ n^(2/3), half of it, is the caller's. The same records in every run.
    """

    name = "fingerprint"
    title = "fingerprinting instance"

    def __init__(
        self, domain: ConstraintSet, samples: int, generators: Generators, tau: float = 0.02, flipped: float = 0.001
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


def chosen_records(
    where: str, domain: ConstraintSet, shape: tuple[int, int], samples: int, generators: Generators
) -> list[np.ndarray]:
    """Record numbers of each data set out of records of a shape (n, p): one for all runs if it is all of them.

    Raises ValueError for a set of another dimension and for too many samples.
    """
    size, columns = shape
    if domain.dimension != columns:
        raise ValueError(f"{where} has {columns} features, the set has dimension {domain.dimension}")
    if not 1 <= samples <= size:
        raise ValueError(f"{where} has {size} records; samples must lie in 1..{size}, got {samples}")
    if samples == size:
        return [np.arange(size)]
    return [generator.permutation(size)[:samples] for generator in generators]


def rows_of(sets: list[np.ndarray], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of record numbers (..., runs), each counted in its run's own data set."""
    return np.stack([sets[run % len(sets)][numbers[..., run]] for run in range(numbers.shape[-1])], axis=-1)


class RecordsRisk(SquaredRisk):
    """Squared loss on measured records, |x|_inf <= 1 and |y| <= 1, of what messages call `where`.

    samples: the size of the set for all of it (shared by all runs), less for a subsample a run without replacement,
    drawn by the run's generator.
    """

    real = True

    def __init__(
        self, domain: ConstraintSet, samples: int, generators: Generators, features: Array, labels: Array, where: str
    ) -> None:
        self.features, self.labels = features, labels
        self.sets = chosen_records(where, domain, features.shape, samples, generators)
        grams = np.array([product(features[rows].T, features[rows]) for rows in self.sets]) / samples
        moments = np.array([product(labels[rows], features[rows]) for rows in self.sets]) / samples
        squares = np.array([np.square(labels[rows]).mean() for rows in self.sets])
        if samples == len(labels):
            grams, moments, squares = grams[0], moments[0], vecdot(labels, labels) / samples
        super().__init__(domain, samples, len(generators), gram=DenseGram(grams), moment=moments, label_square=squares)

    def records(self, numbers: np.ndarray) -> tuple[Array, Array]:
        rows = rows_of(self.sets, numbers)
        return self.features[rows], self.labels[rows]


class FetchedRisk(RecordsRisk):
    """A fetched set of `sources.yaml`, the option ``source``: rows of norm 1 by public constants, taken as they are."""

    name = "fetched-risk"

    def __init__(
        self, domain: ConstraintSet, samples: int, generators: Generators, source: str, data_dir: str | Path
    ) -> None:
        examples = load(source, Path(data_dir))
        where = str(Path(data_dir) / f"{source}.npz")
        super().__init__(domain, samples, generators, examples.features, examples.labels, where)


class _BundledRisk(RecordsRisk):
    """Columns in [-1, 1] by public ranges (`bundled`), whose rows `bundled.prepare` has divided by sqrt(p).

    Raises ValueError naming file, row and column (counted from 0) of a feature outside [-1, 1].
    """

    data: ClassVar[str]

    def __init__(self, domain: ConstraintSet, samples: int, generators: Generators, data_dir: str | Path) -> None:
        examples = load(self.data, Path(data_dir))
        where = str(Path(data_dir) / f"{self.data}.npz")
        features = examples.features * math.sqrt(examples.features.shape[1])
        outside = np.argwhere(np.abs(features) > 1.0 + 1e-12)
        if outside.size:
            row, column = outside[0]
            raise ValueError(
                f"{where}: feature in row {row}, column {column} is {features[row, column]:.6g}, outside [-1, 1]"
            )
        super().__init__(domain, samples, generators, features, examples.labels, where)


class DiabetesRisk(_BundledRisk):
    """Diabetes progression."""

    name, data = "diabetes-risk", "diabetes"
    title = "diabetes"
    columns = 10


class BreastCancerRisk(_BundledRisk):
    """Wisconsin diagnostic breast cancer; +1 = malignant."""

    name, data = "breast-cancer-risk", "breast-cancer"
    title = "breast cancer"
    columns = 30


class DigitsRisk(_BundledRisk):
    """Handwritten digits; +1 = odd digit."""

    name, data = "digits-risk", "digits"
    title = "digits"
    columns = 64

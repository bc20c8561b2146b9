"""Squared losses (1/2)(<x, theta> - y)^2 with |x|_inf <= 1, |y| <= 1: the LASSO of Talwar, Thakurta & Zhang 2015, 5.3.

The risk is a quadratic: theta' G theta / 2 - <c, theta> + m / 2 with the moments G = mean x x', c = mean y x, m =
mean y^2 of the records. Moments replace the records, so a gradient costs the same for every n; single records can
still be had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpregret.core.losses import Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.losses import Form, RidgeSquared
from dpregret.datasets.risk_base import EmpiricalRisk, Optimum, largest_l1_norm
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import largest_eigenvalue, product, products, vecdot

Records = Callable[[np.ndarray], tuple[Array, Array]]
"""Record numbers (runs,) -> features (runs, p) and labels (runs,) of those records, each from its own run's data."""


class Gram(Protocol):
    """A positive semidefinite matrix (p, p), or one a run."""

    @property
    def shared(self) -> bool:
        """Whether one matrix serves all runs."""

    def product(self, points: Array) -> Array:
        """G points, (..., runs, p) -> (..., runs, p)."""

    def columns(self, coordinates: np.ndarray) -> Array:
        """G[:, j] of every run's coordinate j, (runs,) -> (runs, p), a new array."""

    def largest_eigenvalues(self) -> Array:
        """Upper bounds on the largest eigenvalue: (1,) if shared, else (runs,)."""


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
        found = products(by_run.reshape(len(by_run), -1, points.shape[-1]), self.matrices)
        return np.moveaxis(found.reshape(by_run.shape), 0, -2)

    def columns(self, coordinates: np.ndarray) -> Array:
        """Rows of the symmetric matrices."""
        where = coordinates if self.shared else (np.arange(len(coordinates)), coordinates)
        rows: Array = self.matrices[where]
        return rows

    def largest_eigenvalues(self) -> Array:
        """Exact, rounded up."""
        return np.atleast_1d(np.maximum(largest_eigenvalue(self.matrices), np.finfo(float).tiny))


@dataclass(frozen=True, slots=True)
class FactoredGram:
    """sum_k weights_k v_k v_k' + diag(diagonal), shared by all runs: O(p) memory and O(p) a product or column."""

    weights: Array
    """(r,), of any sign."""
    vectors: Array
    """(r, p)."""
    diagonal: Array
    """(p,)."""

    @property
    def shared(self) -> bool:
        """True: one matrix for all runs."""
        return True

    def product(self, points: Array) -> Array:
        """Rank r plus diagonal."""
        found = product(product(points, self.vectors.T) * self.weights, self.vectors)
        found += points * self.diagonal
        return found

    def columns(self, coordinates: np.ndarray) -> Array:
        """Rank r plus one entry."""
        columns = product(self.vectors[:, coordinates].T * self.weights, self.vectors)
        columns[np.arange(len(coordinates)), coordinates] += self.diagonal[coordinates]
        return columns

    def largest_eigenvalues(self) -> Array:
        """sum of weight |v|^2 over positive weights, plus the largest diagonal entry."""
        squares = vecdot(self.vectors, self.vectors)
        return np.atleast_1d(vecdot(np.maximum(self.weights, 0.0), squares) + self.diagonal.max())


class SquaredRisk(EmpiricalRisk):
    """Risk of a squared loss from its moments.

    gram: G; moment: c, (p,) or (runs, p); label_square: m, a number or (runs,). records: gives single records;
    without it ``record_gradient`` raises ValueError.

    With B = max |theta|_1 on the set: |<x, theta> - y| <= B + 1, so ``lipschitz_l1`` = B + 1 and ``lipschitz`` =
    sqrt(p) (B + 1); ``smoothness`` |x|^2 <= p; ``curvature`` max mean <x, a - b>^2 <= 4 B^2 (2 is the largest l1
    distance of two corners of the simplex, too). ``strong_convexity`` is 0: some admissible data have none.
    """

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        runs: int,
        *,
        gram: Gram,
        moment: Array,
        label_square: float | Array,
        records: Records | None = None,
        start: Array | None = None,
    ) -> None:
        bound = largest_l1_norm(domain)
        steepest = bound + 1.0
        super().__init__(
            domain,
            samples,
            runs,
            lipschitz=float(np.sqrt(domain.dimension)) * steepest,
            lipschitz_l1=steepest,
            smoothness=float(domain.dimension),
            curvature=4.0 * bound**2,
            hessian_rank=1,
        )
        self.gram, self.moment, self.label_square = gram, moment, label_square
        self._records, self._start = records, start
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
        """Features (runs, p) and labels (runs,) of one record a run. Raises ValueError where they are not kept."""
        if self._records is None:
            raise ValueError(f"risk {self.name!r} keeps no single records for {self.samples} samples")
        return self._records(numbers)

    def record_losses(self, records: NDArray[np.int64]) -> Losses:
        """(1/2) (<x, theta> - y)^2 of one record a run."""
        features, labels = zip(*map(self.records, records), strict=True)
        return Losses(RidgeSquared, [np.stack(features), np.stack(labels)], [0.0])

    def optimum(self) -> Optimum:
        """By accelerated projected gradient, once where all runs share the data; see ``minimise``."""
        shared = self.gram.shared and self.moment.ndim == 1
        rows = 1 if shared else self.runs
        start = self.domain.center() if self._start is None else self._start
        return self._certified(np.broadcast_to(self.gram.largest_eigenvalues(), (rows,)), start)

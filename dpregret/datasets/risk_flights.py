"""Risks on the flights of 2013 and the hours of weather (`flights.py`): one sparse, one dense, one logistic.

All use features on public scales, so nothing is read off the data but moments of the risk itself. `samples`: all
records of a set, the same for every run (runs then differ in noise alone), or fewer, drawn by each run's generator
without replacement. Order plays no part here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpregret.core.losses import Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.flights import (
    ARRIVED,
    DENSE,
    SPARSE,
    WEATHER,
    WEATHER_ROWS,
    dense_features,
    load_flights,
    load_weather,
    sparse_columns,
)
from dpregret.datasets.losses import RidgeLogistic
from dpregret.datasets.risk_base import EmpiricalRisk, Optimum
from dpregret.datasets.risk_simple import LogisticRisk
from dpregret.datasets.risk_squared import DenseGram, SquaredRisk
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import largest_eigenvalue, product

Generators = Sequence[np.random.Generator]


def chosen_records(name: str, size: int, samples: int, generators: Generators) -> list[np.ndarray]:
    """Record numbers of each data set: one for all runs if it is the whole. Raises ValueError for too many samples."""
    if not 1 <= samples <= size:
        raise ValueError(f"{name} has {size} records; samples must lie in 1..{size}, got {samples}")
    if samples == size:
        return [np.arange(size)]
    return [generator.permutation(size)[:samples] for generator in generators]


def _fits(name: str, domain: ConstraintSet, columns: int) -> None:
    if domain.dimension != columns:
        raise ValueError(f"{name} has {columns} features, the set has dimension {domain.dimension}")


class FlightsRisk(SquaredRisk):
    """Late or not (+-1) by squared loss on five ones among 150 columns: origin, destination, carrier, hour, weekday.

    Moments are counts of pairs of columns, so they are exact; no dense copy of the features is made.
    """

    name, data = "flights-risk", "flights"
    title = "flights"
    columns, real = SPARSE, True

    def __init__(self, domain: ConstraintSet, samples: int, generators: Generators, data_dir: str | Path) -> None:
        _fits(self.name, domain, SPARSE)
        flights = load_flights(Path(data_dir))
        ones, labels = sparse_columns(flights), flights.labels
        sets = chosen_records(self.name, ARRIVED, samples, generators)
        grams = np.array([pair_counts(ones[rows]) for rows in sets]) / samples
        moments = np.array([_label_sums(ones[rows], labels[rows]) for rows in sets]) / samples

        def records(numbers: np.ndarray) -> tuple[Array, Array]:
            rows = np.array([sets[run % len(sets)][number] for run, number in enumerate(numbers)])
            features = np.zeros((len(rows), SPARSE))
            np.put_along_axis(features, ones[rows], 1.0, axis=1)
            return features, labels[rows]

        shared = len(sets) == 1
        super().__init__(
            domain, samples, len(generators), gram=DenseGram(grams[0] if shared else grams),
            moment=moments[0] if shared else moments, label_square=1.0, records=records,
        )  # fmt: skip


def pair_counts(ones: np.ndarray) -> Array:
    """How often two columns are one together: (n, k) places -> (`SPARSE`, `SPARSE`)."""
    counts = np.zeros(SPARSE * SPARSE)
    for first in ones.T:
        for second in ones.T:
            counts += np.bincount(first * SPARSE + second, minlength=len(counts))
    return counts.reshape(SPARSE, SPARSE)


def _label_sums(ones: np.ndarray, labels: Array) -> Array:
    sums: Array = np.sum([np.bincount(each, weights=labels, minlength=SPARSE) for each in ones.T], axis=0)
    return sums


class WeatherRisk(SquaredRisk):
    """Visibility below 10 miles or not (+-1) by squared loss; 1 and 13 dense features in [-1, 1]."""

    name, data = "weather-risk", "weather"
    title = "weather"
    columns, real = WEATHER + 1, True

    def __init__(self, domain: ConstraintSet, samples: int, generators: Generators, data_dir: str | Path) -> None:
        _fits(self.name, domain, WEATHER + 1)
        features, labels = load_weather(Path(data_dir))
        features = np.concatenate([np.ones((len(labels), 1)), features], axis=1)
        sets = chosen_records(self.name, WEATHER_ROWS, samples, generators)
        grams = np.array([product(features[rows].T, features[rows]) for rows in sets]) / samples
        moments = np.array([product(labels[rows], features[rows]) for rows in sets]) / samples

        def records(numbers: np.ndarray) -> tuple[Array, Array]:
            rows = np.array([sets[run % len(sets)][number] for run, number in enumerate(numbers)])
            return features[rows], labels[rows]

        shared = len(sets) == 1
        super().__init__(
            domain, samples, len(generators), gram=DenseGram(grams[0] if shared else grams),
            moment=moments[0] if shared else moments, label_square=1.0, records=records,
        )  # fmt: skip


class LateRisk(LogisticRisk):
    """Late or not by logistic loss on the stream's unit rows; each of the 2,863 rows is kept once, with its counts."""

    name, data = "flights-logistic-risk", "flights"
    title = "flights, logistic loss"
    columns, real = DENSE, True

    def __init__(self, domain: ConstraintSet, samples: int, generators: Generators, data_dir: str | Path) -> None:
        _fits(self.name, domain, DENSE)
        EmpiricalRisk.__init__(
            self, domain, samples, len(generators), lipschitz=float(expit(domain.reach(np.zeros(DENSE)))),
            smoothness=0.25, curvature=0.25 * domain.diameter**2, hessian_rank=1,
        )  # fmt: skip
        flights = load_flights(Path(data_dir))
        rows, self.row = flights.distinct(labelled=False)
        self.features, self.late = dense_features(rows), flights.late
        self.sets = chosen_records(self.name, ARRIVED, samples, generators)
        size = len(self.features)
        counts = np.array([np.bincount(self.row[rows], minlength=size) for rows in self.sets])
        late = np.array([np.bincount(self.row[rows], self.late[rows], minlength=size) for rows in self.sets])
        self.positives = np.broadcast_to(late, (self.runs, size))
        self._positive, self._all = late / samples, counts / samples

    def record_losses(self, records: NDArray[np.int64]) -> Losses:
        """Of one record a run, +1 = late."""
        rows = np.stack([self.sets[run % len(self.sets)][numbers] for run, numbers in enumerate(records.T)], axis=1)
        return Losses(RidgeLogistic, [self.features[self.row[rows]], 2.0 * self.late[rows] - 1.0], [0.0])

    def optimum(self) -> Optimum:
        """By accelerated projected gradient, once where all runs share the data; see ``minimise``."""
        moments = np.array([product(self.features.T * weights, self.features) for weights in self._all])
        return self._certified(0.25 * largest_eigenvalue(moments), self.domain.center())

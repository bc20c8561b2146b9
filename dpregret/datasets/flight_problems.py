"""Flights of 2013, late or not, and the hours' visibility (`flights.py`), as streams and as risks.

Streams are in the order of time, so they drift, and there is one sequence of each. From `january` on all runs meet
the same rounds, so runs differ in the learner's noise alone, and so do intervals: they say nothing of another year.
From `anywhere` each run starts at its own round, uniform over the year, which is a circle (December is followed by
January): intervals are then over starting times too; pieces of different runs overlap the more the longer they are.

Of the risks one is sparse, one dense, one logistic. `samples`: all records of a set, the same for every run (runs then
differ in noise alone), or fewer, drawn by each run's generator without replacement. Order plays no part there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpregret.core.losses import Loss, Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.examples import Examples, unit_rows
from dpregret.datasets.flights import (
    ARRIVED,
    DENSE,
    SPARSE,
    WEATHER,
    dense_features,
    load_flights,
    load_weather,
    sparse_columns,
)
from dpregret.datasets.losses import RidgeLogistic
from dpregret.datasets.pool_streams import PoolStream
from dpregret.datasets.risk_simple import PooledLogistic
from dpregret.datasets.risk_squared import DenseGram, RecordsRisk, SquaredRisk, chosen_records, rows_of
from dpregret.datasets.source import Generators
from dpregret.datasets.streams import BLOCK, Comparator
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

STARTS = ("january", "anywhere")


class TimeOrdered(PoolStream):
    """Round t is example `order[(start + t - 1) mod n]`: f_t(x) = ln(1 + exp(-y <v, x>)) + (mu/2) |x|^2, |v|_2 = 1.

    The pool holds every distinct example once, `order` (n,) says which of them each round is. `piece`: rounds of the
    seasons that comparators may follow, `Comparator.pieces`.
    """

    stochastic = False

    def __init__(
        self,
        domain: ConstraintSet,
        strong_convexity: float,
        examples: Examples,
        order: np.ndarray,
        start: str,
        piece: int,
    ) -> None:
        if start not in STARTS:
            raise ValueError(f"option start must be one of {', '.join(STARTS)}, got {start!r}")
        if piece < 1:
            raise ValueError(f"option piece must be at least 1, got {piece}")
        super().__init__(domain, strong_convexity, examples, RidgeLogistic)
        self.order, self.start, self.piece = order, start, piece

    @property
    def pool_size(self) -> int:
        """The rounds of one pass: each is a record of its own, equal or not."""
        return len(self.order)

    def participations(self, rounds: int, window: int | None = None) -> int:
        """Every pass has the same order."""
        return -(-min(rounds, window or rounds) // self.pool_size)

    def _starts(self, generators: Generators) -> np.ndarray:
        """The first round of each sequence: of all runs together, or one a run."""
        if self.start == "january":
            return np.zeros(1, dtype=np.int64)
        return np.array([generator.integers(len(self.order)) for generator in generators])

    def _rounds(self, starts: np.ndarray, first: int, last: int) -> np.ndarray:
        """Examples of rounds first..last - 1, counted from 0: (rounds, sequences)."""
        return self.order[(np.arange(first, last)[:, None] + starts) % len(self.order)]

    def _losses(self, generators: Generators) -> Iterator[Sequence[Loss]]:
        starts = self._starts(generators)
        for first in itertools.count(0, BLOCK):
            chosen = self._rounds(starts, first, first + BLOCK)
            if self.start == "january":
                chosen = chosen[:, 0]
            yield Losses(self.family, [self.features[chosen], self.labels[chosen]], [self.strong_convexity])

    def _count(self, starts: np.ndarray, first: int, last: int) -> Array:
        """How often each example is seen in rounds first..last - 1, (sequences, pool)."""
        seen = self._rounds(starts, first, last)
        return np.array([np.bincount(sequence, minlength=len(self.labels)) for sequence in seen.T], dtype=np.float64)

    def _counts(self, generators: Generators, checkpoints: Sequence[int]) -> Iterator[Array]:
        starts = self._starts(generators)
        total, done = np.zeros((len(starts), len(self.labels))), 0
        for checkpoint in checkpoints:
            total = total + self._count(starts, done, checkpoint)
            done = checkpoint
            yield total

    def _comparator(self, generators: Generators, checkpoints: Sequence[int]) -> Comparator:
        if self.start == "anywhere":
            return super()._comparator(generators, checkpoints)
        single = super()._comparator(generators[:1], checkpoints)
        columns = (single.losses, single.gaps, single.stay, self._pieces(checkpoints), self._last(checkpoints))
        return Comparator(*(np.repeat(column, len(generators), axis=1) for column in columns))

    def _pieces(self, checkpoints: Sequence[int]) -> Array:
        """`Comparator.pieces`: whole pieces, and of the last one what lies before the checkpoint."""
        start, point = np.zeros(1, dtype=np.int64), self.domain.center()[None]
        whole, done, sums = np.zeros(1), 0, []
        for checkpoint in checkpoints:
            while done + self.piece <= checkpoint:
                point, losses = self._best(self._count(start, done, done + self.piece), point)
                whole, done = whole + losses, done + self.piece
            rest = self._best(self._count(start, done, checkpoint), point)[1] if done < checkpoint else 0.0
            sums.append(whole + rest)
        return np.stack(sums)

    def _last(self, checkpoints: Sequence[int]) -> Array:
        """`Comparator.last`."""
        counts = np.concatenate(list(self._counts([], checkpoints)))
        point, _ = self._best(counts[-1:], self.domain.center()[None])
        return vecdot(counts, self._of_each(point))[:, None]

    def _best(self, counts: Array, start: Array) -> tuple[Array, Array]:
        """The best point of a weighted pool, (1, d), and its loss, (1,)."""
        point, value, _ = self.minimum(counts / counts.sum(), start)
        return point, value * counts.sum()


class FlightsStream(TimeOrdered):
    """327,346 flights in the order of their scheduled departure, +1 = arrives late; features of `dense_features`.

    The learner sees a label in the round after it plays, hours before the flight lands. Flights of one airline and
    airport at one hour and distance have the same features: 2,863 rows, most with both labels.
    """

    name = data = "flights"
    columns, real = DENSE, True

    def __init__(
        self,
        domain: ConstraintSet,
        strong_convexity: float,
        data_dir: str | Path,
        start: str = "january",
        piece: int = 8192,
    ) -> None:
        flights, order = load_flights(Path(data_dir)).distinct(labelled=True)
        examples = Examples(dense_features(flights), flights.labels)
        super().__init__(domain, strong_convexity, examples, order, start, piece)


class WeatherStream(TimeOrdered):
    """26,115 hours of weather at three airports, +1 = visibility below 10 miles; see `flights.read_weather`.

    Rows are those features with a 1 put before them, each divided by its own norm.
    """

    name = data = "weather"
    columns, real = WEATHER + 1, True

    def __init__(
        self,
        domain: ConstraintSet,
        strong_convexity: float,
        data_dir: str | Path,
        start: str = "january",
        piece: int = 2048,
    ) -> None:
        features, labels = load_weather(Path(data_dir))
        rows = unit_rows(_with_ones(features), "weather")
        super().__init__(domain, strong_convexity, Examples(rows, labels), np.arange(len(labels)), start, piece)


class FlightsRisk(SquaredRisk):
    """Late or not (+-1) by squared loss on five ones among 150 columns: origin, destination, carrier, hour, weekday.

    Moments are counts of pairs of columns, so they are exact; the features are never copied to a dense array.
    """

    name, data = "flights-risk", "flights"
    title = "flights"
    columns, real = SPARSE, True

    def __init__(self, domain: ConstraintSet, samples: int, generators: Generators, data_dir: str | Path) -> None:
        flights = load_flights(Path(data_dir))
        self.ones, self.labels = sparse_columns(flights), flights.labels
        self.sets = chosen_records(self.name, domain, (ARRIVED, SPARSE), samples, generators)
        grams = np.array([pair_counts(self.ones[rows]) for rows in self.sets]) / samples
        moments = np.array([_label_sums(self.ones[rows], self.labels[rows]) for rows in self.sets]) / samples
        if samples == ARRIVED:
            grams, moments = grams[0], moments[0]
        super().__init__(domain, samples, len(generators), gram=DenseGram(grams), moment=moments, label_square=1.0)

    def records(self, numbers: np.ndarray) -> tuple[Array, Array]:
        rows = rows_of(self.sets, numbers)
        features = np.zeros((*rows.shape, SPARSE))
        np.put_along_axis(features, self.ones[rows], 1.0, axis=-1)
        return features, self.labels[rows]


def pair_counts(ones: np.ndarray) -> Array:
    """In how many rows two columns are both one: (n, k) column numbers -> (`SPARSE`, `SPARSE`)."""
    counts = np.zeros(SPARSE * SPARSE)
    for first in ones.T:
        for second in ones.T:
            counts += np.bincount(first * SPARSE + second, minlength=len(counts))
    return counts.reshape(SPARSE, SPARSE)


def _label_sums(ones: np.ndarray, labels: Array) -> Array:
    return np.sum([np.bincount(columns, weights=labels, minlength=SPARSE) for columns in ones.T], axis=0)


class WeatherRisk(RecordsRisk):
    """Visibility below 10 miles or not (+-1) by squared loss; 1 and 13 dense features in [-1, 1]."""

    name, data = "weather-risk", "weather"
    title = "weather"
    columns = WEATHER + 1

    def __init__(self, domain: ConstraintSet, samples: int, generators: Generators, data_dir: str | Path) -> None:
        features, labels = load_weather(Path(data_dir))
        super().__init__(domain, samples, generators, _with_ones(features), labels, self.name)


class LateRisk(PooledLogistic):
    """Late or not by logistic loss on the stream's unit rows; each of the 2,863 rows is there once, with its counts."""

    name, data = "flights-logistic-risk", "flights"
    title = "flights, logistic loss"
    columns, real = DENSE, True

    def __init__(self, domain: ConstraintSet, samples: int, generators: Generators, data_dir: str | Path) -> None:
        self.sets = chosen_records(self.name, domain, (ARRIVED, DENSE), samples, generators)
        super().__init__(domain, samples, len(generators))
        flights = load_flights(Path(data_dir))
        kinds, self.row = flights.distinct(labelled=False)
        self.features, self.labels = dense_features(kinds), flights.labels
        count = partial(np.bincount, minlength=len(self.features))
        self.shares = np.array([count(self.row[rows]) for rows in self.sets]) / samples
        self.positive = np.array([count(self.row[rows], flights.late[rows]) for rows in self.sets]) / samples

    def record_losses(self, records: NDArray[np.int64]) -> Losses:
        """Of one record a run, +1 = late."""
        rows = rows_of(self.sets, records)
        return Losses(RidgeLogistic, [self.features[self.row[rows]], self.labels[rows]], [0.0])


def _with_ones(features: Array) -> Array:
    return np.concatenate([np.ones((len(features), 1)), features], axis=1)

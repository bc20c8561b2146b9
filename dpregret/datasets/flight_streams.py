"""Streams in the order of time: flights of 2013, late or not, and the hours' visibility. They drift.

There is one sequence of each. From `january` on all runs meet the same rounds, so runs differ in the learner's noise
alone, and so do intervals: they say nothing of another year. From `anywhere` a run starts at a round of its own,
uniform over the year, which is a circle (December is followed by January): intervals are then over starting times too;
pieces of different runs overlap the more the longer they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np

from dpregret.core.losses import Loss, Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.base import BLOCK, Comparator
from dpregret.datasets.examples import Examples, unit_rows
from dpregret.datasets.flights import DENSE, WEATHER, dense_features, load_flights, load_weather
from dpregret.datasets.losses import RidgeLogistic
from dpregret.datasets.optimum import minimise_pool
from dpregret.datasets.pool_streams import PoolStream
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

    def _starts(self, generators: Sequence[np.random.Generator]) -> np.ndarray:
        """The first round of each sequence: of all runs together, or one a run."""
        if self.start == "january":
            return np.zeros(1, dtype=np.int64)
        return np.array([generator.integers(len(self.order)) for generator in generators])

    def _rounds(self, starts: np.ndarray, first: int, last: int) -> np.ndarray:
        """Examples of rounds first..last - 1, counted from 0: (rounds, sequences)."""
        rounds: np.ndarray = self.order[(np.arange(first, last)[:, None] + starts) % len(self.order)]
        return rounds

    def _losses(self, generators: Sequence[np.random.Generator]) -> Iterator[Sequence[Loss]]:
        starts = self._starts(generators)
        for first in count(0, BLOCK):
            chosen = self._rounds(starts, first, first + BLOCK)
            if self.start == "january":
                chosen = chosen[:, 0]
            yield Losses(self.family, [self.features[chosen], self.labels[chosen]], [self.strong_convexity])

    def _count(self, starts: np.ndarray, first: int, last: int) -> Array:
        """How often each example is seen in rounds first..last - 1, (sequences, pool)."""
        seen = self._rounds(starts, first, last)
        return np.array([np.bincount(each, minlength=len(self.labels)) for each in seen.T], dtype=np.float64)

    def _counts(self, generators: Sequence[np.random.Generator], checkpoints: Sequence[int]) -> Iterator[Array]:
        starts = self._starts(generators)
        total, done = np.zeros((len(starts), len(self.labels))), 0
        for checkpoint in checkpoints:
            total = total + self._count(starts, done, checkpoint)
            done = checkpoint
            yield total

    def _comparator(self, generators: Sequence[np.random.Generator], checkpoints: Sequence[int]) -> Comparator:
        if self.start == "anywhere":
            return super()._comparator(generators, checkpoints)
        found = super()._comparator(generators[:1], checkpoints)
        columns = (found.losses, found.gaps, found.stay, self._pieces(checkpoints), self._last(checkpoints))
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
        losses = self.family.loss(vecdot(self.features, point), self.labels)
        losses = losses + 0.5 * self.strong_convexity * vecdot(point, point)
        return vecdot(counts, losses)[:, None]

    def _best(self, counts: Array, start: Array) -> tuple[Array, Array]:
        """The best point of a weighted pool, (1, d), and its loss, (1,)."""
        rounds = counts.sum()
        point, value, _ = minimise_pool(
            self.family, self.features, self.labels, counts / rounds, strong_convexity=self.strong_convexity,
            domain=self.domain, start=start,
        )  # fmt: skip
        return point, value * rounds


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
        each, order = load_flights(Path(data_dir)).distinct(labelled=True)
        examples = Examples(dense_features(each), each.labels)
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
        rows = unit_rows(np.concatenate([np.ones((len(labels), 1)), features], axis=1), "weather")
        super().__init__(domain, strong_convexity, Examples(rows, labels), np.arange(len(labels)), start, piece)

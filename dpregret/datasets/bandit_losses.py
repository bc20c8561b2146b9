"""Losses of bandit streams over rounds that follow each other: a distance, linear costs, entries of a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpregret.core.losses import AFFINE, CONE, ENTRY, LossRule
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

Whole = NDArray[np.int64]
ALWAYS = np.zeros((1, 1), dtype=np.int64)
"""The first entry, in every round."""
NO_COSTS = np.zeros((0, 0))


@dataclass(frozen=True, slots=True)
class ConeBatch:
    """weight |x - anchor| in every round."""

    anchor: Array
    weight: float
    rounds: int

    @property
    def rule(self) -> LossRule:
        """The same as numbers."""
        return LossRule(CONE, ALWAYS, self.anchor[None], np.array([self.weight]))

    def value(self, points: Array) -> Array:
        """Losses of the points."""
        offset = points - self.anchor
        values: Array = self.weight * np.sqrt(vecdot(offset, offset))
        return _in_every_round(values, self.rounds)


@dataclass(frozen=True, slots=True)
class LinearBatch:
    """<cost, x> + offset, each round's of a pool; entries (runs | 1, rounds | 1), costs (pool, n), offsets (pool,)."""

    entries: Whole
    costs: Array
    offsets: Array
    rounds: int

    @property
    def rule(self) -> LossRule:
        """The same as numbers."""
        return LossRule(AFFINE, self.entries, self.costs, self.offsets)

    def value(self, points: Array) -> Array:
        """Losses of the points."""
        return _in_every_round(vecdot(self.costs[self.entries], points) + self.offsets[self.entries], self.rounds)


@dataclass(frozen=True, slots=True)
class EntryBatch:
    """|x_i - truth_i| of the entry i observed in a round: entries (runs, rounds), truth (n,)."""

    entries: Whole
    truth: Array
    rounds: int

    @property
    def rule(self) -> LossRule:
        """The same as numbers."""
        return LossRule(ENTRY, self.entries, NO_COSTS, self.truth)

    def value(self, points: Array) -> Array:
        """Losses of the points."""
        shape = np.broadcast_shapes(points.shape[:-1], self.entries.shape)
        everywhere = np.broadcast_to(points, (*shape, points.shape[-1]))
        chosen = np.broadcast_to(self.entries, shape)[..., None]
        values: Array = np.abs(np.take_along_axis(everywhere, chosen, axis=-1)[..., 0] - self.truth[self.entries])
        return values


def _in_every_round(values: Array, rounds: int) -> Array:
    return values if values.shape[-1] == rounds else np.broadcast_to(values, (*values.shape[:-1], rounds))

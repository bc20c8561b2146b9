"""Mirror descents at play: columns, one a run of a setting, in tiles of some; the loop is descent_kernel.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from dpregret.algorithms.erm.descent_kernel import descend
from dpregret.algorithms.geometry import ConstraintSet, CountedSet, Potential
from dpregret.algorithms.geometry.potential import Euclidean
from dpregret.algorithms.play.rounds import FEWEST, MOST, NUMBERS
from dpregret.core.losses import NO_ROWS, Losses, in_columns, laid_out
from dpregret.core.oracles import Asked, asked
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import kinds_of, specialised

_READY: set[Any] = set()
"""Loops that are compiled."""


@dataclass
class Tile:
    """Columns first, first + 1, ...: states (k, columns), output (d, columns), and the risk as the loop takes it."""

    first: int
    state: Array
    output: Array
    risk: tuple[Any, ...]


class Descent:
    """States (settings, runs, k) on their way; output (settings, runs, d) is the sum of the points, or the last one.

    risk: what gradients are of, namely a loss, one for each step (`Losses`), or a function that gives gradients
    (settings, runs, d) at points (settings, runs, d) in the place of one.
    """

    def __init__(
        self, risk: Any, domain: ConstraintSet, potential: Potential, states: Array, output: Array, averaged: bool
    ):
        self.domain, self.potential, self.averaged = domain, potential, averaged
        self.step: Any = asked(potential) if potential.data is None else potential.data
        self.lead, dimension = output.shape[:2], output.shape[2]
        self.risk = _Rows(risk, self.lead) if callable(risk) else risk  # as long as its number is in use
        columns, wide = output.shape[0] * output.shape[1], max(FEWEST, min(MOST, NUMBERS // dimension))
        if callable(risk) or Asked in kinds_of(self.step):
            wide = columns  # all at once: who is asked answers in NumPy
        self.tiles = []
        for first in range(0, columns, wide):
            state, own = (
                np.array(each.reshape(columns, -1)[first : first + wide].T, order="C") for each in (states, output)
            )
            self.tiles.append(Tile(first, state, own, self._columns(first, state.shape[1])))

    def _columns(self, first: int, columns: int) -> tuple[Any, ...]:
        """The risk of some columns."""
        if isinstance(self.risk, Losses):
            return laid_out(self.risk.kind, self.risk.laid(), self.risk.shared, columns)
        risk = (
            asked(self.risk)
            if isinstance(self.risk, _Rows)
            else in_columns(self.risk, np.arange(first, first + columns) % self.lead[1])
        )
        return risk, (np.zeros((1, columns)),), NO_ROWS

    def follow(self, steps: Array, noise: Array, units: Array) -> float:
        """Take steps of lengths (T, settings); noise: its standard deviations (settings,), units (T or 0, runs, d).

        Returns the CPU seconds that it took to compile the loop, which are not part of what steps cost.
        """
        started, apart, units = process_time(), 0.0, without_gaps(units)
        loop = specialised(descend, *kinds_of(self.tiles[0].risk[0]), *kinds_of(self.step))

        def take(tile: Tile, some: Array) -> None:
            arguments = (*tile.risk, self.step, some, noise, units, tile.first, self.averaged)
            loop(*arguments, tile.state, tile.output)

        if loop not in _READY:
            began = process_time()
            take(self.tiles[0], steps[:0])
            _READY.add(loop)
            apart = process_time() - began
        for tile in self.tiles:
            take(tile, steps)
        closed = isinstance(self.step, Euclidean) and not isinstance(self.step.domain, Asked)
        if closed and isinstance(self.domain, CountedSet):  # its seconds are those of the whole loop
            seconds = process_time() - started - apart
            self.domain.projections.add(steps.shape[0] * self.lead[0] * self.lead[1], seconds)
        return apart

    def states(self) -> Array:
        """Where they are, (settings, runs, k)."""
        return self._gathered([tile.state for tile in self.tiles])

    def output(self) -> Array:
        """The released points, (settings, runs, d)."""
        return self._gathered([tile.output for tile in self.tiles])

    def _gathered(self, columns: list[Array]) -> Array:
        return np.concatenate(columns, axis=1).T.reshape(*self.lead, -1)


class _Rows:
    """Gradients at points (1, settings * runs, d), of a function of points (settings, runs, d)."""

    def __init__(self, gradient: Callable[[Array], Array], lead: tuple[int, ...]):
        self.gradient, self.lead = gradient, lead

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """Values are not used."""
        slopes = self.gradient(points.reshape(*self.lead, points.shape[-1]))
        return np.zeros(points.shape[:-1]), np.broadcast_to(slopes, (*self.lead, points.shape[-1])).reshape(
            points.shape
        )

"""Learners whose round is written as plain loops, at play: tiles of runs, each with its part of the learner's state.

The loop over rounds is compiled for each combination of learner, loss and set; see core/oracles.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.base import data_of
from dpregret.core.losses import NO_ROWS, Loss, Losses, laid_out, lay_out
from dpregret.core.oracles import SCRATCH, asked, inner, local_step, project, slope_at, step, vertex
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import specialised

NUMBERS = 2048  # of a tile's points: what a round touches stays in the processor's first caches
FEWEST, MOST = 16, 128  # runs of a tile
PRICED = 0.002  # CPU seconds spent on pricing an oracle


def play_rounds(learner, loss, domain, held, rows, units, scale, begun, first, done, rounds, x, losses, norms):
    """Play `rounds` rounds after the first `done` of the runs first, first + 1, ... whose points are x (d, runs).

    held, rows: see `core.losses.laid_out`. units (runs in all, rounds, d) from round `begun` on, times scale: noise; no
    rounds where there is none. losses, norms (runs,): running sums of losses and of |noise|; changed in place, as x is.
    """
    (d, runs), loud = x.shape, units.shape[1] > 0
    gradient, noise, value, s = np.empty((d, runs)), np.zeros((d, runs)), np.empty(runs), np.empty((SCRATCH, runs))
    for now in range(rounds):
        if now == 0 or rows[0].shape[0] > 1:
            lay_out(rows, held, now, first)
        slope_at(loss, x, gradient, value, s)
        for r in range(runs):
            losses[r] += value[r]
        if loud:
            for r in range(runs):
                for k in range(d):
                    noise[k, r] = scale * units[first + r, begun + now, k]
            inner(noise, noise, value, s)
            for r in range(runs):
                norms[r] += np.sqrt(value[r])
        step(learner, loss, domain, float(done + now + 1), x, gradient, noise, s)


def play_round(learner, loss, domain, held, rows, first, t, x, slopes, noises):
    """Round t alone, with the gradients and the noise of all runs, (runs in all, d); without noise these are zeros."""
    d, runs = x.shape
    gradient, noise, s = np.empty((d, runs)), np.empty((d, runs)), np.empty((SCRATCH, runs))
    lay_out(rows, held, 0, first)
    for k in range(d):
        for r in range(runs):
            gradient[k, r], noise[k, r] = slopes[first + r, k], noises[first + r, k]
    step(learner, loss, domain, t, x, gradient, noise, s)


def ask_project(domain, points, weights, repeats):
    """Project points (d, runs), again and again: what it costs within rounds."""
    x, s = np.empty(points.shape), np.empty((SCRATCH, points.shape[1]))
    for _ in range(repeats):
        for k in range(x.shape[0]):
            for r in range(x.shape[1]):
                x[k, r] = points[k, r]
        project(domain, x, s)


def ask_vertex(domain, points, weights, repeats):
    """The same of the linear oracle."""
    x, s = np.empty(points.shape), np.empty((SCRATCH, points.shape[1]))
    for _ in range(repeats):
        vertex(domain, points, x, s)


def ask_local(domain, points, weights, repeats):
    """The same of the local oracle, from weights (k, runs) on."""
    x, s = np.empty(points.shape), np.empty((SCRATCH, points.shape[1]))
    for _ in range(repeats):
        held = weights.copy()
        local_step(domain, held, 1.0 / points.shape[0], 0.5, points, x, s)


class Oracle(NamedTuple):
    """An oracle: its function, what prices it, and its tally of a counted set."""

    function: Any
    ask: Callable[..., None]
    tally: str


ORACLES = {
    "project": Oracle(project, ask_project, "projections"),
    "vertex": Oracle(vertex, ask_vertex, "linear_oracles"),
    "local": Oracle(local_step, ask_local, "local_oracles"),
}


def text_of(domain: Any, oracle: str) -> Any:
    """A set, counted or not, as compiled rounds know it; None where it has no text of that oracle."""
    data = data_of(domain)
    return data if type(data) in ORACLES[oracle].function.kinds else None


def price_of(oracle: str, domain: Any, x: Array, weights: Array) -> float:
    """CPU seconds that the oracle takes for one of the points x (d, runs)."""
    serve = specialised(ORACLES[oracle].ask, type(domain))
    repeats, seconds = 1, 0.0
    serve(domain, x, weights, 1)
    while seconds < PRICED:
        repeats *= 4
        started = process_time()
        serve(domain, x, weights, repeats)
        seconds = process_time() - started
    return float(seconds / (repeats * x.shape[1]))


@dataclass
class Tile:
    """Some runs of a setting. state: the learner's; x (d, runs): their points; sums (2, runs): see `play_rounds`."""

    setting: int
    first: int
    state: Any
    x: Array
    sums: Array


class _Part:
    """A loss without a text of its own, for some of its runs in one setting."""

    def __init__(self, loss: Loss, setting: int, own: slice, runs: int):
        self.loss, self.setting, self.own, self.runs = loss, setting, own, runs

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """That of the whole loss, at the points of these runs."""
        value, gradient = self.loss.value_and_gradient(self._among_all(points))
        return self._here(value), self._here(gradient)

    def prox(self, points: Array, step: float) -> Array:
        """That of the whole loss, of the points of these runs."""
        return self._here(self.loss.prox(self._among_all(points), step))

    def _here(self, answer: Array) -> Array:
        """Of these runs in this setting, where the loss differs by setting."""
        return (answer[[self.setting]] if len(answer) > 1 else answer)[:, self.own]

    def _among_all(self, points: Array) -> Array:
        every = np.zeros((1, self.runs, points.shape[2]))
        every[:, self.own] = points
        return every


class CompiledRounds:
    """The rounds of one learner. apart: CPU seconds that were not part of them, for compiling and for prices."""

    played = staticmethod(play_rounds)

    def __init__(self, learner: Any):
        self.learner = learner
        domain = learner.domain
        self.tally: Any = getattr(domain, ORACLES[learner.oracle].tally, None)
        self.held = learner.local if learner.oracle == "local" else domain  # as long as its number is in use
        text = text_of(domain, learner.oracle)
        self.counted = text is not None
        self.domain = text if self.counted else asked(self.held)
        settings, runs, d = learner.point.shape
        wide = min(runs, max(FEWEST, min(MOST, NUMBERS // d))) if self.counted else runs
        self.tiles = []
        for setting in range(settings):
            for first in range(0, runs, wide):
                x = np.ascontiguousarray(learner.point[setting, first : first + wide].T)
                state = learner.state(setting, x.shape[1])
                self.tiles.append(Tile(setting, first, state, x, np.zeros((2, x.shape[1]))))
        self.ready: set[Any] = set()
        self.rows, self.apart = 0, 0.0

    def kinds(self, loss: type[Any]) -> tuple[type[Any], ...]:
        """The types for which a loop over rounds is compiled."""
        return type(self.tiles[0].state), loss, type(self.domain)

    def play(
        self, losses: Losses, done: int, units: Sequence[Array], scales: Sequence[float], begun: int, sums: Array
    ) -> None:
        """Play some rounds after the first `done`.

        units: noise before scaling, (runs, rounds, d) a setting, from round `begun` on; sums (2, settings, runs): of
        losses and of |noise|, added to.
        """
        rows, loops = losses.laid() or NO_ROWS, specialised(self.played, *self.kinds(losses.kind))
        for tile in self.tiles:
            loss, held, _ = laid_out(losses.kind, rows if losses.own else (), losses.shared, tile.x.shape[1])
            own = sums[:, tile.setting, tile.first : tile.first + tile.x.shape[1]]
            tile.sums[...] = own

            before = tile.state, loss, self.domain, held, rows, units[tile.setting], float(scales[tile.setting])
            play = partial(loops, *before, begun, tile.first, done)
            if losses.kind not in self.ready:  # no rounds: what it takes to compile is not part of what a round costs
                started = process_time()
                play(0, tile.x, *tile.sums)
                self.ready.add(losses.kind)
                self.apart += process_time() - started
            play(len(losses), tile.x, *tile.sums)
            own[...] = tile.sums
        self._count(len(losses))

    def observe(self, loss: Any, gradient: Array, noise: Array | None) -> None:
        """Play one round with the gradients and the noise of all settings and runs."""
        shape = self.learner.point.shape
        slopes, noises = (
            np.ascontiguousarray(np.broadcast_to(each, shape), dtype=np.float64)
            for each in (gradient, 0.0 if noise is None else noise)
        )
        alike = Losses.alike(loss, 1) if hasattr(type(loss), "own") else None
        laid = () if alike is None else alike.laid()
        for tile in self.tiles:
            if alike is not None:
                made, held, rows = laid_out(alike.kind, laid, alike.shared, tile.x.shape[1])
            else:
                part = _Part(loss, tile.setting, slice(tile.first, tile.first + tile.x.shape[1]), shape[1])
                made, held, rows = asked(part), (np.zeros((1, tile.x.shape[1])),), NO_ROWS
            specialised(play_round, *self.kinds(type(made)))(
                tile.state, made, self.domain, held, rows, tile.first, float(self.learner.round), tile.x,
                slopes[tile.setting], noises[tile.setting],
            )  # fmt: skip
        self._count(1)
        self.finish()

    def points(self) -> Array:
        """Where the learner is, (settings, runs, d)."""
        return self._gathered([tile.x for tile in self.tiles])

    def kept(self, name: str) -> Array:
        """The field of its states with this name, (settings, runs, ...)."""
        return self._gathered([getattr(tile.state, name) for tile in self.tiles])

    def _gathered(self, columns: Sequence[Array]) -> Array:
        settings, runs, _ = self.learner.point.shape
        found = np.empty((settings, runs, len(columns[0])))
        for tile, each in zip(self.tiles, columns, strict=True):
            found[tile.setting, tile.first : tile.first + each.shape[1]] = each.T
        return found

    def finish(self) -> None:
        """Tell the set's tally how many points its oracle served, at a price measured apart, once."""
        if self.rows:
            self.tally.rows += self.rows
            self.tally.seconds += self.rows * self.price
            self.rows = 0

    @cached_property
    def price(self) -> float:
        """CPU seconds that the oracle takes for a point."""
        began, tile = process_time(), self.tiles[0]
        found = price_of(self.learner.oracle, self.domain, tile.x, getattr(tile.state, "weights", tile.x))
        self.apart += process_time() - began
        return found

    def _count(self, rounds: int) -> None:
        if self.counted and self.tally is not None:
            settings, runs, _ = self.learner.point.shape
            self.tally.calls += self.learner.calls * rounds
            self.rows += self.learner.calls * rounds * settings * runs

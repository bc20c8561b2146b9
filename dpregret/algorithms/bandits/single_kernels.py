"""Compiled rounds of bandits that move after every round.

The definition is `NoisyLeader.play_some` with batches of one round, on sets with inner points; every sum runs in the
order written.
"""

from typing import Any

import numpy as np

from dpregret.algorithms.geometry.oracle_kernels import Whole
from dpregret.core import rounds
from dpregret.core.losses import CONE, ENTRY
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined

LEADER, DESCENT = range(2)  # from the center by the sum of all estimates; from the point by the newest one
project: Any = rounds.project


@inlined
def _loss(kind: int, entry: int, costs: Array, offsets: Array, point: Array, zeta: float, direction: Array) -> Any:
    """One loss of a `LossRule` at point + zeta direction, (d,) each, in the order of `play_rounds`."""
    if kind == ENTRY:
        return abs(point[entry] + zeta * direction[entry] - offsets[entry])
    loss = 0.0
    for j in range(len(point)):
        if kind == CONE:
            apart = (point[j] - costs[entry, j]) + zeta * direction[j]
            loss += apart * apart
        else:
            loss += costs[entry, j] * (point[j] + zeta * direction[j])
    return offsets[entry] * np.sqrt(loss) if kind == CONE else loss + offsets[entry]


@compiled
def play_singly(
    kind: int, entries: Whole, costs: Array, offsets: Array, sphere: Array, drawn: Array, place: int, constants: Array,
    rule: int, center: Array, shrink: float, zetas: Array, etas: Array, lows: Array, highs: Array,
    points: Array, sums: Array, before: Array, total: Array, clipped: Array,
) -> None:  # fmt: skip
    """Rounds of one estimate, noise, projection each; the state, from `points` on, is changed in place.

    kind, entries, costs, offsets: a `LossRule`. sphere (runs, rounds, d), drawn: noise (rounds, settings, runs, d);
    place, constants: the set (dpregret.core.kernels), shrunk by `shrink` around its center. points (1 + rounds,
    settings, runs, d): the one before and those after each round. sums, before (settings, runs, d): of the estimates,
    and what was released last; zetas, etas, lows, highs (settings,).
    """
    rounds, settings, runs, dimension = drawn.shape
    varied = entries.shape[1] > 1
    x, first, second = np.empty(dimension), np.empty(dimension), np.empty(dimension)
    for run in range(runs):
        own = min(run, len(entries) - 1)
        for setting in range(settings):
            zeta, eta = zetas[setting], etas[setting]
            for now in range(rounds):
                entry, here = entries[own, now if varied else 0], points[now, setting, run]
                loss = _loss(kind, entry, costs, offsets, here, zeta, sphere[run, now])
                kept = min(max(loss, lows[setting]), highs[setting])
                total[setting, run] += loss
                clipped[setting, run] += kept != loss
                for j in range(dimension):
                    sums[setting, run, j] += dimension / zeta * (kept * sphere[run, now, j])
                    released = sums[setting, run, j] + drawn[now, setting, run, j]
                    if rule == DESCENT:
                        goal = here[j] - eta * (released - before[setting, run, j])
                        before[setting, run, j] = released
                    else:
                        goal = center[j] - eta * released
                    x[j] = goal if shrink == 1.0 else center[j] + (goal - center[j]) / shrink
                project(place, constants, x, first, second)
                for j in range(dimension):
                    points[now + 1, setting, run, j] = (
                        x[j] if shrink == 1.0 else center[j] + shrink * (x[j] - center[j])
                    )

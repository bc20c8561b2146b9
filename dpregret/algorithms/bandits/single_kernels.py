"""Compiled rounds of bandits that move after every round.

The definitions are `NoisyLeader.play_some` with batches of one round, on sets with inner points, and
`PrivateLinearBandit.play_plainly`; every sum runs in the order written.
"""

from typing import Any

import numpy as np

from dpregret.algorithms.bandits.kernels import TINY
from dpregret.algorithms.geometry.oracle_kernels import Whole
from dpregret.core import rounds
from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled, inlined
from dpregret.core.losses import CONE, ENTRY
from dpregret.core.sums import dot

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


@compiled
def play_linear(
    entries: Whole, costs: Array, offsets: Array, axes: Array, coins: Array, noise: Array, center: Array, radius: float,
    wide: float, scales: Array, etas: Array, sums: Array, played: Array, total: Array, clipped: Array,
) -> None:  # fmt: skip
    """Rounds of SCRiBLe; the state, from `sums` on, is changed in place, `played` becomes the points of the last round.

    entries, costs, offsets: an AFFINE `LossRule`. axes (runs, rounds, d), coins (runs, rounds, 2), noise (rounds,
    runs); wide: the range of a loss; scales, etas (settings,); sums, played (settings, runs, d).
    """
    settings, runs, size = sums.shape
    varied = entries.shape[1] > 1
    outward, axis = np.empty(size), np.empty(size)
    for run in range(runs):
        own = min(run, len(entries) - 1)
        for setting in range(settings):
            state, point = sums[setting, run], played[setting, run]
            for now in range(axes.shape[1]):
                length = np.sqrt(dot(state, state))
                pull = etas[setting] * length
                inner = pull / (1.0 + np.sqrt(1.0 + pull * pull))
                left = 1.0 - inner * inner
                for j in range(size):
                    outward[j] = state[j] / max(length, TINY) if length > 0.0 else (1.0 if j == 0 else 0.0)
                if size == 1 or coins[run, now, 0] < 1.0 / size:
                    eigenvalue = 2.0 * (1.0 + inner * inner) / (left * left)
                    for j in range(size):
                        axis[j] = outward[j]
                else:
                    eigenvalue = 2.0 / left
                    along = dot(axes[run, now], outward)
                    for j in range(size):
                        axis[j] = axes[run, now, j] - along * outward[j]
                    norm = max(np.sqrt(dot(axis, axis)), TINY)
                    for j in range(size):
                        axis[j] /= norm
                sign, steep = 1.0 if coins[run, now, 1] < 0.5 else -1.0, np.sqrt(eigenvalue)
                for j in range(size):
                    point[j] = center[j] + radius * (-inner * outward[j] + sign * axis[j] / steep)
                entry = entries[own, now if varied else 0]
                loss = dot(costs[entry], point) + offsets[entry]
                kept = min(max(loss, 0.0), wide)
                total[setting, run] += loss
                clipped[setting, run] += kept != loss
                seen = kept / wide + scales[setting] * noise[now, run]
                step = size * seen * sign * steep
                for j in range(size):
                    state[j] += step * axis[j]

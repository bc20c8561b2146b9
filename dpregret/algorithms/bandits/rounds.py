"""Rounds of NoisyOCO, compiled for each combination of step, loss and set (core/oracles.py); lines of noisy_leader.py.

Columns are all runs of the first setting, then of the next: points (d, columns), what lies in the hull (n, columns).
"""

from typing import NamedTuple

import numpy as np

from dpregret.core.losses import lay_out_rounds
from dpregret.core.oracles import SCRATCH, step, value_at
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined

TOGETHER = 64  # columns that are played together


class Trials(NamedTuple):
    """How losses are requested, (settings,) each. basis: see `into_set`.

    zetas: the distance from x. lows, highs: what is seen is clipped to. scales: of the noise on what is seen.
    """

    basis: Array
    zetas: Array
    lows: Array
    highs: Array
    scales: Array


def rounds_together(runs: int, batch: int) -> int:
    """Rounds of a batch whose losses are laid out together."""
    return max(1, min(batch, TOGETHER // runs))


def play_rounds(
    learner, loss, domain, held, rows, trials, sphere, noise, units, batch, horizon, done, x, estimate, points, sums
):  # fmt: skip
    """Play some rounds after the first `done`; a batch ends after every `batch` rounds, and after the horizon.

    held, rows: see `core.losses.laid_out`; the loss holds all runs of a round, then of the next. sphere (runs, rounds,
    n); noise (batches that end, settings, runs, n); units (runs, rounds): noise of what is seen, no rounds where there
    is none. estimate (n, columns): of the batch that has begun. points (batches that end, settings, runs, d): x after
    them. sums (2, columns): of losses, and of those that were clipped. The learner, and what follows x, are changed.
    """
    (d, columns), (runs, rounds, n) = x.shape, sphere.shape
    most, noisy, now, ended = held[0].shape[1] // runs, units.shape[1] > 0, 0, 0
    wide = most * runs
    directions, along, played = np.empty(n * wide), np.empty(d * wide), np.empty(d * wide)
    value, s, fresh = np.empty(wide), np.empty((SCRATCH, max(wide, columns))), np.empty((n, columns))
    while now < rounds:  # line 6, some rounds together
        some = min(most, rounds - now, batch - (done + now) % batch)
        if now == 0 or rows[0].shape[0] > 1:
            lay_out_rounds(rows, held, now, most if rows[0].shape[0] == 1 else some, runs)
        u, v = directions[: n * some * runs].reshape(n, -1), along[: d * some * runs].reshape(d, -1)
        y, seen = played[: d * some * runs].reshape(d, -1), value[: some * runs]
        for later in range(some):
            for run in range(runs):
                for k in range(n):
                    u[k, later * runs + run] = sphere[run, now + later, k]  # line 8
        into_set(trials.basis, u, v)
        for setting in range(len(trials.zetas)):
            first, zeta = setting * runs, trials.zetas[setting]
            for k in range(d):
                for later in range(some):
                    for run in range(runs):
                        at = later * runs + run
                        y[k, at] = x[k, first + run] + zeta * v[k, at]  # line 9
            value_at(loss, y, seen, s)
            for later in range(some):
                for run in range(runs):
                    at, c = later * runs + run, first + run
                    kept = min(max(seen[at], trials.lows[setting]), trials.highs[setting])
                    sums[0, c] += seen[at]
                    sums[1, c] += kept != seen[at]
                    seen[at] = kept + trials.scales[setting] * units[run, now + later] if noisy else kept  # line 10
            for k in range(n):
                for later in range(some):
                    for run in range(runs):
                        at = later * runs + run
                        estimate[k, first + run] += seen[at] * u[k, at]  # line 11, except for n/zeta
        now += some
        if (done + now) % batch == 0 or done + now == horizon:
            for c in range(columns):
                for k in range(n):
                    estimate[k, c] *= n / trials.zetas[c // runs]
                    fresh[k, c] = noise[ended, c // runs, c % runs, k]
            step(learner, loss, domain, (done + now - 1) // batch + 1.0, x, estimate, fresh, s)  # lines 4, 13, 14
            for c in range(columns):
                for k in range(n):
                    estimate[k, c] = 0.0  # line 5
                for k in range(d):
                    points[ended, c // runs, c % runs, k] = x[k, c]
            ended += 1


@inlined
def into_set(basis, u, y):
    """Vectors of the hull (n, columns) in coordinates of the set, by a basis (d, n); without one they are the same."""
    for j in range(y.shape[0]):
        for c in range(y.shape[1]):
            y[j, c] = 0.0 if len(basis) else u[j, c]
        for k in range(u.shape[0] if len(basis) else 0):
            if basis[j, k] != 0.0:
                for c in range(y.shape[1]):
                    y[j, c] += basis[j, k] * u[k, c]

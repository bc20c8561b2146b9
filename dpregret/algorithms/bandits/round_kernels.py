"""Compiled rounds of a batch around one point; the definition is `NoisyLeader.query_plainly`.

Every sum runs in the order written. Directions and costs are turned, so that loops over rounds, which do not depend on
each other, run along memory and use vector units. Sums over rounds keep four coordinates in registers.
"""

from typing import Any

import numpy as np

from dpregret.algorithms.geometry.oracle_kernels import Whole
from dpregret.core.losses import CONE, ENTRY
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined

PIECE = 256  # rounds that are played together


@compiled
def play_rounds(
    kind: int, entries: Whole, costs: Array, offsets: Array, point: Array, sphere: Array, basis: Array,
    zetas: Array, lows: Array, highs: Array,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Losses (settings, runs) of the points around `point`, sums of clipped losses times directions, clipped losses.

    kind, entries, costs, offsets: a `LossRule`. point (settings, runs, d), sphere (runs, rounds, n), basis (n, d);
    zetas, lows, highs (settings,): how far from the point is played, and the range of what is kept.
    """
    settings, runs, dimension = point.shape
    rounds, hull = sphere.shape[1:]
    played, seen = np.zeros((settings, runs)), np.zeros((settings, runs, hull))
    clipped = np.zeros((settings, runs))
    turned, whole = np.empty((hull, PIECE)), _is_identity(basis)
    along = turned if whole else np.empty((dimension, PIECE))
    cost, offset, losses = np.empty((dimension, PIECE)), np.empty(PIECE), np.empty(PIECE)
    varied = entries.shape[1] > 1
    for run in range(runs):
        own = min(run, len(entries) - 1)
        for first in range(0, rounds, PIECE):
            many = min(PIECE, rounds - first)
            chosen = entries[own, first : first + many] if varied else entries[own]
            _turn(sphere[run, first : first + many], turned)
            if not whole:
                _along(turned, basis, many, along)
            if kind != ENTRY:
                _gather(chosen, costs, offsets, cost, offset)
            for setting in range(settings):
                here, zeta = point[setting, run], zetas[setting]
                if kind == ENTRY:
                    for now in range(many):
                        place = chosen[now if varied else 0]
                        losses[now] = abs(here[place] + zeta * along[place, now] - offsets[place])
                else:
                    _fill_losses(kind, cost, offset, varied, here, zeta, along, many, losses)
                total, cut = _clip(losses, many, lows[setting], highs[setting])
                played[setting, run] += total
                clipped[setting, run] += cut
                _add_weighted(losses, turned, many, seen[setting, run])
    return played, seen, clipped


@compiled
def _is_identity(basis: Array) -> Any:
    """Whether directions are their own coordinates."""
    hull, dimension = basis.shape
    for k in range(hull):
        for j in range(dimension):
            if basis[k, j] != (1.0 if j == k else 0.0):
                return False
    return hull == dimension


@inlined
def _turn(rows: Array, turned: Array) -> None:
    """Rows (rounds, n) as columns (n, PIECE)."""
    for now in range(len(rows)):
        for k in range(rows.shape[1]):
            turned[k, now] = rows[now, k]


@inlined
def _gather(chosen: Whole, costs: Array, offsets: Array, cost: Array, offset: Array) -> None:
    """The costs of some rounds as columns (d, PIECE), and their offsets."""
    for now in range(len(chosen)):
        place = chosen[now]
        offset[now] = offsets[place]
        for j in range(costs.shape[1]):
            cost[j, now] = costs[place, j]


@compiled
def _along(turned: Array, basis: Array, many: int, along: Array) -> None:
    """Directions (n, PIECE) in coordinates of the set, (d, PIECE)."""
    hull, dimension = basis.shape
    for j in range(dimension):
        line = along[j]
        for now in range(many):
            line[now] = 0.0
        for k in range(0, hull - hull % 4, 4):
            e, f, g, h = basis[k, j], basis[k + 1, j], basis[k + 2, j], basis[k + 3, j]
            if e == 0.0 and f == 0.0 and g == 0.0 and h == 0.0:
                continue
            a, b, c, d = turned[k], turned[k + 1], turned[k + 2], turned[k + 3]
            for now in range(many):
                line[now] = (((line[now] + e * a[now]) + f * b[now]) + g * c[now]) + h * d[now]
        for k in range(hull - hull % 4, hull):
            e, a = basis[k, j], turned[k]
            if e != 0.0:
                for now in range(many):
                    line[now] += e * a[now]


@compiled
def _fill_losses(
    kind: int, cost: Array, offset: Array, varied: bool, here: Array, zeta: float, along: Array, many: int,
    losses: Array,
) -> None:  # fmt: skip
    """Losses at here + zeta along, of the costs of each round, or of the first where they do not vary."""
    for now in range(many):
        losses[now] = 0.0
    for j in range(len(here)):
        x, line, costs, first = here[j], along[j], cost[j], cost[j, 0]
        if kind == CONE:
            for now in range(many):
                apart = (x - (costs[now] if varied else first)) + zeta * line[now]
                losses[now] += apart * apart
        else:
            for now in range(many):
                losses[now] += (costs[now] if varied else first) * (x + zeta * line[now])
    for now in range(many):
        own = offset[now if varied else 0]
        losses[now] = own * np.sqrt(losses[now]) if kind == CONE else losses[now] + own


@compiled
def _clip(losses: Array, many: int, low: float, high: float) -> tuple[float, int]:
    """Clip in place; the sum of the losses before, and how many changed."""
    total, cut = 0.0, 0
    for now in range(many):
        total += losses[now]
    for now in range(many):
        loss = losses[now]
        kept = min(max(loss, low), high)
        cut += kept != loss
        losses[now] = kept
    return total, cut


@compiled
def _add_weighted(weights: Array, columns: Array, many: int, into: Array) -> None:
    """into (n,) += the columns (n, PIECE) of the first `many` rounds times their weights, one round after the other."""
    hull = len(into)
    for k in range(0, hull - hull % 4, 4):
        a, b, c, d = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
        e, f, g, h = into[k], into[k + 1], into[k + 2], into[k + 3]
        for now in range(many):
            weight = weights[now]
            e += weight * a[now]
            f += weight * b[now]
            g += weight * c[now]
            h += weight * d[now]
        into[k], into[k + 1], into[k + 2], into[k + 3] = e, f, g, h
    for k in range(hull - hull % 4, hull):
        a, e = columns[k], into[k]
        for now in range(many):
            e += weights[now] * a[now]
        into[k] = e

"""Compiled inner loops of the bandits: conditional gradient, the rounds of a batch, and those of arms.

The definitions are `NoisyLeader.conditional_gradient`, `NoisyLeader.query_plainly` and `BatchedArms.play_plainly`;
every sum here runs in the order written. Loops over rounds are the innermost ones where rounds do not depend on each
other: these use vector units.
"""

import numpy as np

from dpregret.algorithms.geometry.oracle_kernels import Whole, room, vertex
from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled
from dpregret.core.elementary import exp_of
from dpregret.core.losses import CONE, ENTRY

TINY = 1e-300
PIECE = 256  # rounds that are played together


@compiled
def descend(kind: int, whole: Whole, real: Array, points: Array, goals: Array, allowed: float, most: int) -> int:
    """Conditional gradient from points (rows, d) towards goals (rows, d), in place; how many vertices that took.

    kind, whole, real: the set's rule. allowed: the gap at which a row stops, after at most `most` vertices.
    """
    dimension = points.shape[1]
    places, work = room(whole, dimension)
    slope, away = np.empty(dimension), np.empty(dimension)
    served = 0
    for row in range(len(points)):
        point, goal = points[row], goals[row]
        for _ in range(most):
            for j in range(dimension):
                slope[j] = point[j] - goal[j]
            vertex(kind, whole, real, slope, away, places, work)
            served += 1
            gap = square = 0.0
            for j in range(dimension):
                away[j] -= point[j]
                gap -= slope[j] * away[j]
                square += away[j] * away[j]
            if not gap > allowed:
                break
            length = min(gap / max(square, TINY), 1.0)
            for j in range(dimension):
                point[j] += length * away[j]
    return served


@compiled
def in_coordinates(vectors: Array, basis: Array) -> Array:
    """Vectors (settings, runs, n) of the hull in coordinates of the set, by a basis (d, n): vectors @ basis.T."""
    settings, runs, hull = vectors.shape
    found = np.zeros((settings, runs, len(basis)))
    for setting in range(settings):
        for run in range(runs):
            for j in range(len(basis)):
                for k in range(hull):
                    found[setting, run, j] += vectors[setting, run, k] * basis[j, k]
    return found


@compiled
def normalise(normals: Array) -> None:
    """Divide the rows of (runs, rounds, n) by their lengths, in place."""
    runs, rounds, dimension = normals.shape
    for run in range(runs):
        for now in range(rounds):
            square = 0.0
            for j in range(dimension):
                square += normals[run, now, j] * normals[run, now, j]
            length = np.sqrt(square)
            for j in range(dimension):
                normals[run, now, j] /= length


@compiled
def weighted(weights: Array, vectors: Array) -> Array:
    """Sums over the rounds of weights (runs, rounds) times vectors (runs, rounds, n): (runs, n)."""
    runs, rounds, dimension = vectors.shape
    total = np.zeros((runs, dimension))
    for run in range(runs):
        for now in range(rounds):
            for k in range(dimension):
                total[run, k] += weights[run, now] * vectors[run, now, k]
    return total


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
    reach, losses = np.empty((dimension, PIECE)), np.empty(PIECE)
    for run in range(runs):
        for first in range(0, rounds, PIECE):
            many = min(PIECE, rounds - first)
            for setting in range(settings):
                if setting == 0 or zetas[setting] != zetas[setting - 1]:
                    _reach(sphere, basis, zetas[setting], run, first, many, reach)
                _losses(kind, entries, costs, offsets, run, first, many, point[setting, run], reach, losses)
                total = cut = 0.0
                for now in range(many):
                    loss = losses[now]
                    total += loss
                    kept = min(max(loss, lows[setting]), highs[setting])
                    cut += kept != loss
                    for k in range(hull):
                        seen[setting, run, k] += kept * sphere[run, first + now, k]
                played[setting, run] += total
                clipped[setting, run] += cut
    return played, seen, clipped


@compiled
def _reach(sphere: Array, basis: Array, zeta: float, run: int, first: int, many: int, reach: Array) -> None:
    """zeta times the directions of some rounds in coordinates of the set, (d, rounds)."""
    hull, dimension = basis.shape
    for j in range(dimension):
        for now in range(many):
            reach[j, now] = 0.0
    for k in range(hull):
        for j in range(dimension):
            if basis[k, j] != 0.0:
                for now in range(many):
                    reach[j, now] += basis[k, j] * sphere[run, first + now, k]
    for j in range(dimension):
        for now in range(many):
            reach[j, now] *= zeta


@compiled
def _losses(
    kind: int, entries: Whole, costs: Array, offsets: Array, run: int, first: int, many: int, point: Array,
    reach: Array, losses: Array,
) -> None:  # fmt: skip
    """Losses of point (d,) + reach (d, rounds)."""
    if kind == ENTRY:
        for now in range(many):
            entry = entries[run, first + now]
            losses[now] = abs(point[entry] + reach[entry, now] - offsets[run, first + now])
        return
    own, offset_of = min(run, costs.shape[0] - 1), min(run, offsets.shape[0] - 1)
    varied, offset_varied = costs.shape[1] > 1, offsets.shape[1] > 1
    for now in range(many):
        losses[now] = 0.0
    for j in range(len(point)):
        if kind == CONE:
            shift = point[j] - costs[own, 0, j]
            for now in range(many):
                apart = shift + reach[j, now]
                losses[now] += apart * apart
        elif varied:
            for now in range(many):
                losses[now] += costs[own, first + now, j] * (point[j] + reach[j, now])
        else:
            cost, here = costs[own, 0, j], point[j]
            for now in range(many):
                losses[now] += cost * (here + reach[j, now])
    for now in range(many):
        offset = offsets[offset_of, first + now if offset_varied else 0]
        losses[now] = offset * np.sqrt(losses[now]) if kind == CONE else losses[now] + offset


@compiled
def play_arms(
    costs: Array, offsets: Array, coins: Array, units: Array, done: int, lengths: Whole, scales: Array, etas: Array,
    mixes: Array, sums: Array, arms: Whole, chances: Array, heard: Array, total: Array, clipped: Array,
) -> None:  # fmt: skip
    """Rounds of `BatchedArms` after the first `done`; the state, from `sums` on, is changed in place.

    costs, offsets: an AFFINE `LossRule`. coins, units (runs, rounds); lengths, scales, etas, mixes (settings,).
    """
    settings, runs, size = sums.shape
    rounds, varied, offset_varied = coins.shape[1], costs.shape[1] > 1, offsets.shape[1] > 1
    weights = np.empty(size)
    for run in range(runs):
        own, offset_of = min(run, costs.shape[0] - 1), min(run, offsets.shape[0] - 1)
        for setting in range(settings):
            length = lengths[setting]
            place = done % length
            for now in range(rounds):
                if place == 0:
                    _draw_arm(
                        sums[setting, run], etas[setting], mixes[setting], coins[run, now], weights, arms[setting],
                        chances[setting], run,
                    )  # fmt: skip
                    heard[setting, run] = 0.0
                arm = arms[setting, run]
                loss = costs[own, now if varied else 0, arm] + offsets[offset_of, now if offset_varied else 0]
                kept = min(max(loss, 0.0), 1.0)
                total[setting, run] += loss
                clipped[setting, run] += kept != loss
                heard[setting, run] += kept
                place += 1
                if place == length:
                    place = 0
                    mean = heard[setting, run] / length + scales[setting] * units[run, now]
                    sums[setting, run, arm] += mean / chances[setting, run]


@compiled
def _draw_arm(
    sums: Array, eta: float, mix: float, coin: float, weights: Array, arms: Whole, chances: Array, run: int
) -> None:
    """An arm and its probability, `BatchedArms.draw`."""
    size, least = len(sums), sums.min()
    whole = 0.0
    for arm in range(size):
        weights[arm] = exp_of(-eta * (sums[arm] - least))
        whole += weights[arm]
    below, found = 0.0, size - 1
    for arm in range(size):
        below += weights[arm]
        if (1 - mix) * (below / whole) + mix * ((arm + 1) / size) > coin:
            found = arm
            break
    arms[run] = found
    chances[run] = (1 - mix) * (weights[found] / whole) + mix / size

"""Compiled inner loops of the bandits: conditional gradient and directions.

The definition is `NoisyLeader.conditional_gradient`; every sum here runs in the order written. Rounds of a batch are in
`round_kernels.py`.
"""

import numpy as np

from dpregret.algorithms.geometry.oracle_kernels import Whole, fill_vertices, room
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled

TINY = 1e-300  # of a square or a length by which is divided


@compiled
def descend(kind: int, whole: Whole, real: Array, points: Array, goals: Array, allowed: float, most: int) -> int:
    """Conditional gradient from points (rows, d) towards goals (rows, d), in place; how many vertices that took.

    kind, whole, real: the set's rule. allowed: the gap at which a row stops, after at most `most` vertices.
    """
    rows, dimension = points.shape
    places, work = room(whole, dimension)
    slopes, away = np.empty((rows, dimension)), np.empty((rows, dimension))
    active, left, served = np.arange(rows), rows, 0
    for _ in range(most):  # all rows step by step: rows do not wait for each other's sums
        for at in range(left):
            for j in range(dimension):
                slopes[at, j] = points[active[at], j] - goals[active[at], j]
        fill_vertices(kind, whole, real, slopes[:left], away, places, work)
        served += left
        left = _step(slopes, away, allowed, points, active, left)
        if left == 0:
            break
    return served


@compiled
def _step(slopes: Array, away: Array, allowed: float, points: Array, active: Whole, left: int) -> int:
    """Move the first `left` active rows towards the vertices `away`; how many, now listed first, are not there yet."""
    dimension, kept = points.shape[1], 0
    for at in range(left):
        row = active[at]
        gap = square = 0.0
        for j in range(dimension):
            away[at, j] -= points[row, j]
            gap -= slopes[at, j] * away[at, j]
            square += away[at, j] * away[at, j]
        if gap > allowed:
            length = min(gap / max(square, TINY), 1.0)
            for j in range(dimension):
                points[row, j] += length * away[at, j]
            active[kept] = row
            kept += 1
    return kept


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
                normals[run, now, j] = normals[run, now, j] / length


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

"""Probability simplex; the threshold rule that it shares with the l1 ball, and the moves of mass among weights that
answer local linear problems on polytopes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.set_kinds import (
    CoordinateGauge,
    FixedSum,
    checked_dimension,
    data_from,
    reach_of_binary,
)
from dpregret.core.oracles import local_step, project, vertex
from dpregret.core.sets import LocalOracle, Oracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined


@inlined
def threshold(sizes, total, scratch):
    """(m, s): m the largest size, sum of max(size - m - s, 0) = total. s grows, so only sizes above it stay."""
    largest = sizes[0]
    for k in range(1, len(sizes)):
        largest = max(largest, sizes[k])
    count, height = 0, 0.0
    for k in range(len(sizes)):
        above = sizes[k] - largest
        if above > -total:
            scratch[count] = above
            count += 1
            height += above
    while True:
        shift = (height - total) / count
        before, count, height = count, 0, 0.0
        for k in range(before):
            if scratch[k] > shift:
                scratch[count] = scratch[k]
                count += 1
                height += scratch[count - 1]
        if count == before:
            return largest, shift


FLOOR = 1e-150  # of weights


def move_mass(weights: Array, scores: Array, mass: float | Array) -> Array:
    """Move mass from the atoms of largest score to the atom of smallest score.

    This minimises <new, scores> over all nonnegative weights of the same sum within total variation `mass`
    of `weights`. weights, scores: (..., k), nonnegative weights; mass: (...,) or a number, at most the sum of
    the weights. Atoms that lose nothing keep their weight exactly.
    """
    weights, scores = np.broadcast_arrays(weights, scores)
    order = np.argsort(-scores, axis=-1, kind="stable")  # equal scores by their index, on every processor
    ordered = np.take_along_axis(weights, order, axis=-1)
    left_to_move = np.asarray(mass)[..., None] - (np.cumsum(ordered, axis=-1) - ordered)
    removed = np.minimum(np.maximum(left_to_move, 0.0), ordered)
    ordered -= removed
    ordered[..., -1] += removed.sum(axis=-1)
    return _undo_order(ordered, order)


def exchange_mass(weights: Array, scores: Array, mass: float | Array, rank: int) -> Array:
    """Move mass from the largest to the smallest scores when every atom holds at most one unit.

    This minimises <new, scores> over {0 <= new <= 1, sum = rank} within total variation `mass` of `weights`.
    weights, scores: (..., k); mass: (...,) or a number; the weights sum to `rank`.
    """
    weights, scores = np.broadcast_arrays(weights, scores)
    order = np.argsort(scores, axis=-1, kind="stable")
    ordered = np.take_along_axis(weights, order, axis=-1)
    room = 1.0 - ordered
    filled = np.cumsum(room, axis=-1)
    # Filling the `rank` best atoms is the global minimiser: no more than their room is worth moving.
    moved = np.minimum(mass, filled[..., rank - 1])[..., None]
    taken = np.cumsum(ordered[..., ::-1], axis=-1)[..., ::-1]
    added = np.minimum(np.maximum(moved - (filled - room), 0.0), room)
    removed = np.minimum(np.maximum(moved - (taken - ordered), 0.0), ordered)
    return _undo_order(ordered + added - removed, order)


def _undo_order(ordered: Array, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Array:
    result = np.empty_like(ordered)
    np.put_along_axis(result, order, ordered, axis=-1)
    return result


@inlined
def sift(scores, heap, top, size):
    """Let the atom at `top` sink in the heap of largest scores, equal ones by their number."""
    atom = heap[top]
    while True:
        child = 2 * top + 1
        if child >= size:
            break
        if child + 1 < size:
            left, right = heap[child], heap[child + 1]
            if scores[right] > scores[left] or (scores[right] == scores[left] and right < left):
                child += 1
        candidate = heap[child]
        if scores[candidate] < scores[atom] or (scores[candidate] == scores[atom] and candidate > atom):
            break
        heap[top] = candidate
        top = child
    heap[top] = atom


@inlined
def move_towards(weights, scores, most, step):
    """weights + step (answer - weights) in columns, the answer with mass `most` moved as in `move_mass`."""
    atoms = weights.shape[0]
    column, taken, heap = np.empty(atoms), np.empty(atoms), np.empty(atoms, np.int64)
    for r in range(weights.shape[1]):
        best, size, moved, mass = 0, 0, 0.0, most
        for k in range(atoms):
            column[k] = scores[k, r]
            best = k if column[k] <= column[best] else best
            taken[k] = 0.0
        if mass < 1.0:
            for k in range(atoms):
                if weights[k, r] > 0.0:
                    heap[size] = k
                    size += 1
            for top in range(size // 2 - 1, -1, -1):
                sift(column, heap, top, size)
        else:  # all of it
            for k in range(atoms):
                taken[k] = weights[k, r]
                moved += weights[k, r]
        while size and mass > 0.0:
            atom = heap[0]
            size -= 1
            heap[0] = heap[size]
            sift(column, heap, 0, size)
            taken[atom] = min(mass, weights[atom, r])
            moved += taken[atom]
            mass -= taken[atom]
        taken[best] -= moved
        for k in range(atoms):  # none decays to denormal numbers, which cost a processor a hundred times as much
            weight = weights[k, r] - step * taken[k]
            weights[k, r] = weight if weight >= FLOOR else 0.0


class SimplexData(NamedTuple):
    """The simplex, for compiled rounds."""

    total: float


@project.add
def _project_simplex(simplex: SimplexData, x, scratch):
    """max(x - threshold, 0) with the threshold that makes the sum one; exact."""
    column, kept = np.empty(x.shape[0]), np.empty(x.shape[0])
    for r in range(x.shape[1]):
        for k in range(x.shape[0]):
            column[k] = x[k, r]
        largest, shift = threshold(column, simplex.total, kept)
        for k in range(x.shape[0]):
            x[k, r] = max((column[k] - largest) - shift, 0.0)


@vertex.add
def _vertex_simplex(simplex: SimplexData, cost, x, scratch):
    """The first coordinate of smallest cost."""
    for r in range(x.shape[1]):
        best = 0
        for k in range(x.shape[0]):
            x[k, r] = 0.0
            best = k if cost[k, r] < cost[best, r] else best
        x[best, r] = simplex.total


@local_step.add
def _local_step_simplex(simplex: SimplexData, weights, radius, length, cost, x, scratch):
    """Towards the point with mass sqrt(d) radius / 2 moved to the best coordinate; points are their own weights."""
    mass = min(0.5 * np.sqrt(float(x.shape[0])) * radius, 1.0)
    move_towards(weights, cost, mass, length)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = weights[k, r]


class Simplex(FixedSum):
    """{x >= 0, sum x = 1} in R^dimension, dimension >= 2; center the barycentre."""

    name = "simplex"
    data = data_from(SimplexData)
    total = 1.0

    def __init__(self, dimension: int):
        self.dimension = checked_dimension(self.name, dimension, minimum=2)
        self.diameter = float(np.sqrt(2.0))

    def center(self) -> Array:
        """The barycentre (d,)."""
        return np.full(self.dimension, 1.0 / self.dimension)

    def target(self) -> Array:
        """Uniform on the first max(2, d // 4) coordinates; (3/4, 1/4) for d = 2, where that is the center."""
        if self.dimension == 2:
            return np.array([0.75, 0.25])
        support = max(2, self.dimension // 4)
        return np.where(np.arange(self.dimension) < support, 1.0 / support, 0.0)

    def gauge(self) -> Oracle:
        """Facets x_i >= 0: d times minus the smallest coordinate."""
        return CoordinateGauge(self.center(), np.full(self.dimension, np.inf), self.along_hull)

    def inner_radius(self) -> float:
        """1 / sqrt(d (d - 1)), exact."""
        return 1 / float(np.sqrt(self.dimension * (self.dimension - 1)))

    def max_distance_from(self, point: Array) -> float:
        """Distance to the farthest vertex, exact."""
        return reach_of_binary(float(np.min(2.0 * point - 1.0)), point)

    def violation(self, points: Array) -> Array:
        """max(0, -min_i x_i, |sum x - 1|)."""
        negative = np.maximum(-points.min(axis=-1), 0.0)
        return np.maximum(negative, np.abs(points.sum(axis=-1) - 1.0))

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """x >= 0 and sum x = 1."""
        import cvxpy

        return [variable >= 0, cvxpy.sum(variable) == 1]

    def local_oracle(self) -> LocalOracle:
        """Moves mass to the best coordinate."""
        return SimplexLocalOracle(self.dimension)


class SimplexLocalOracle(LocalOracle):
    """Move M = min(1, sqrt(d) r / 2) from the worst coordinates to the best; points are their own weights.

    y - x sums to zero, so y is x with mass |y - x|_1 / 2 <= sqrt(d) r / 2 moved: property (i). What is moved
    changes x by at most (M, -M) in l1, hence sqrt(2) M in l2: ratio sqrt(d / 2) (Garber & Hazan 2016).
    """

    def __init__(self, dimension: int):
        self.ratio = float(np.sqrt(dimension / 2.0))
        self.data = SimplexData(Simplex.total)

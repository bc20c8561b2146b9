"""Moves of probability mass that answer local linear problems on polytopes."""

from __future__ import annotations

import numpy as np

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined

FLOOR = 1e-150  # of weights


def move_mass(weights: Array, scores: Array, mass: float | Array) -> Array:
    """Move mass from the atoms of largest score to the atom of smallest score.

    This minimises <new, scores> over all nonnegative weights of the same sum within total variation `mass`
    of `weights`. weights, scores: (..., k), nonnegative weights; mass: (...,) or a number, at most the sum of
    the weights. Atoms that lose nothing keep their weight exactly.
    """
    weights, scores = np.broadcast_arrays(weights, scores)
    order = np.argsort(-scores, axis=-1, kind="stable")  # equal scores by their place, on every processor
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
    held = np.take_along_axis(weights, order, axis=-1)
    room = 1.0 - held
    filled = np.cumsum(room, axis=-1)
    # Filling the `rank` best atoms is the global minimiser: no more than their room is worth moving.
    moved = np.minimum(mass, filled[..., rank - 1])[..., None]
    taken = np.cumsum(held[..., ::-1], axis=-1)[..., ::-1]
    added = np.minimum(np.maximum(moved - (filled - room), 0.0), room)
    removed = np.minimum(np.maximum(moved - (taken - held), 0.0), held)
    return _undo_order(held + added - removed, order)


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
        other = heap[child]
        if scores[other] < scores[atom] or (scores[other] == scores[atom] and other > atom):
            break
        heap[top] = other
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
            left = weights[k, r] - step * taken[k]
            weights[k, r] = left if left >= FLOOR else 0.0

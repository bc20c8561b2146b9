"""Moves of probability mass that answer local linear problems on polytopes."""

from __future__ import annotations

import numpy as np

from dpregret.core.arrays import Array


def move_mass(weights: Array, scores: Array, mass: float | Array) -> Array:
    """Move mass from the atoms of largest score to the atom of smallest score.

    This minimises <new, scores> over all nonnegative weights of the same sum within total variation `mass`
    of `weights`. weights, scores: (..., k), nonnegative weights; mass: (...,) or a number, at most the sum of
    the weights. Atoms that lose nothing keep their weight exactly.
    """
    weights, scores = same_shape(weights, scores)
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
    weights, scores = same_shape(weights, scores)
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


def same_shape(first: Array, second: Array) -> tuple[Array, Array]:
    """Both arrays broadcast to their common shape (views); free where the shapes agree already."""
    if first.shape == second.shape:
        return first, second
    first, second = np.broadcast_arrays(first, second)
    return first, second


def _undo_order(ordered: Array, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Array:
    result = np.empty_like(ordered)
    np.put_along_axis(result, order, ordered, axis=-1)
    return result

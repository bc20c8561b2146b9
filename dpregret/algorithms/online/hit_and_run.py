"""Samples from exp(-max(q, floor) / scale) on a ball, q a quadratic form: hit-and-run from the center.

Each step draws a place on a random chord from the density there, exact up to a fine grid. How far the law of the last
place is from the one that is wanted, nothing here bounds.
"""

import math
from typing import NamedTuple

import numpy as np

from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.elementary import exp_of
from dpregret.numerics.intrinsics import next_double
from dpregret.numerics.random import addresses, normal
from dpregret.numerics.sums import dot

GRID = np.linspace(0.0, 1.0, 257)  # places of a chord
STEPS = 20  # of hit-and-run, times the squared dimension


class Form(NamedTuple):
    """q(x) = <x, matrix x>/2 - <linear, x> + constant, and the smallest value that counts."""

    matrix: Array
    linear: Array
    constant: float
    floor: float = -math.inf


def walk(generator: np.random.Generator, domain: ConstraintSet, form: Form, scale: float) -> Array:
    """A point of the ball `domain`, (d,)."""
    center = domain.center()
    address, steps, radius = addresses([generator])[0], STEPS * len(center) ** 2, domain.diameter / 2
    form = Form(form.matrix, form.linear, float(form.constant), float(form.floor))
    return hit_and_run(address, steps, center, radius, form, scale)


@compiled
def hit_and_run(generator: int, steps: int, center: Array, radius: float, form: Form, scale: float) -> Array:
    """Walk from the center of a ball, (d,): each step draws a place on a random chord.

    Its density is exp(-max(q, floor) / scale); scale 0: uniform on the places of smallest max(q, floor).
    """
    dimension, most = len(center), len(GRID)
    matrix, linear = form.matrix, form.linear
    point, direction, offset = center.copy(), np.empty(dimension), np.empty(dimension)
    pull, turned = np.empty(dimension), np.empty(dimension)
    places, scores, weight = np.empty(most), np.empty(most), np.empty(most)
    for _ in range(steps):
        for k in range(dimension):
            direction[k] = normal(generator)
        length = np.sqrt(dot(direction, direction))
        for k in range(dimension):
            direction[k] /= length
            offset[k] = point[k] - center[k]
        for k in range(dimension):
            pull[k], turned[k] = dot(matrix[k], point), dot(matrix[k], direction)
        along = dot(direction, offset)
        reach = math.sqrt(max(0.0, along * along + radius * radius - dot(offset, offset)))
        begin = 0.5 * dot(point, pull) - dot(linear, point) + form.constant
        for k in range(dimension):
            pull[k] -= linear[k]
        slope, bend = dot(direction, pull), dot(direction, turned)
        least = np.inf
        for k in range(most):
            places[k] = -along - reach + 2 * reach * GRID[k]
            scores[k] = max(begin + places[k] * slope + 0.5 * (places[k] * places[k]) * bend, form.floor)
        for k in range(most):
            least = min(least, scores[k])
        if scale > 0.0:
            for k in range(most):
                scores[k] = exp_of(-(scores[k] - least) / scale)
        else:
            for k in range(most):
                scores[k] = 1.0 if scores[k] <= least else 0.0
        weight[0] = 0.0
        for k in range(1, most):
            weight[k] = weight[k - 1] + (scores[k] + scores[k - 1])
        wanted = next_double(generator) * weight[most - 1]
        k = min(np.searchsorted(weight, wanted, side="right") - 1, most - 2)
        moved = (places[k + 1] - places[k]) / (weight[k + 1] - weight[k]) * (wanted - weight[k]) + places[k]
        for k in range(dimension):
            point[k] += moved * direction[k]
    return point

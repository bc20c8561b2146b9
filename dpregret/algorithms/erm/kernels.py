"""Compiled steps of private Frank-Wolfe on an l1 ball or a simplex: the choice of a corner, and the step towards it."""

import math

import numpy as np
from numpy.typing import NDArray

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled
from dpregret.core.elementary import log_of
from dpregret.core.lanes import WIDTH, any_less, bits, load, spread

BIT = math.log(2.0) / 2.0**52
LEAST = -math.log(2.0) * 1023.0 - 1e-9


@compiled
def cheapest_corner(
    gradient: Array,
    draws: Array,
    scale: float,
    logarithms: bool,
    radius: float,
    signed: bool,
    chosen: NDArray[np.int64],
) -> None:
    """`AxisCorners.scores` plus scale times noise, and the first smallest: gradient (runs, p), draws (runs, corners).

    The noise is the draws, or their logarithms; without any of them there is none.
    """
    runs, dimension = gradient.shape
    for run in range(runs):
        slopes, noise = gradient[run], draws[run]
        best, smallest = 0, np.inf
        for sign in range(2 if signed else 1):
            length = -radius if sign else radius
            begun = sign * dimension
            for first in range(0, dimension, WIDTH):
                last = min(first + WIDTH, dimension)
                if last == first + WIDTH:
                    bound = load(slopes, first) * spread(length)
                    if len(noise):
                        drawn = load(noise, begun + first)
                        if logarithms:  # the bits of a number are a logarithm that is never too large
                            drawn = bits(drawn) * spread(BIT) + spread(LEAST)
                        bound = bound + drawn * spread(scale)
                    if not any_less(bound, spread(smallest)):
                        continue
                for j in range(first, last):
                    score = slopes[j] * length
                    if len(noise):
                        drawn_one = noise[begun + j]
                        score += (log_of(drawn_one) if logarithms else drawn_one) * scale
                    if score < smallest:
                        best, smallest = begun + j, score
        chosen[run] = best


@compiled
def follow(
    points: Array, gradient: Array, columns: Array, constant: Array, chosen: NDArray[np.int64], radius: float,
    step: float,
) -> None:  # fmt: skip
    """Step towards the chosen corners; the gradient of a quadratic risk follows by a column of its Gram matrix each.

    points, gradient, columns, constant (runs, p): gradient <- (1 - step) gradient + step (length column + constant).
    """
    runs, dimension = points.shape
    for run in range(runs):
        coordinate = chosen[run] % dimension
        length = radius if chosen[run] < dimension else -radius
        for j in range(dimension):
            points[run, j] *= 1 - step
            kept = gradient[run, j] * (1 - step) + columns[run, j] * (step * length)
            gradient[run, j] = kept + step * constant[run, j]
        points[run, coordinate] += step * length

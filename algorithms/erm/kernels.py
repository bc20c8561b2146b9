"""Compiled steps of private Frank-Wolfe on an l1 ball or a simplex: the choice of a corner, and the step towards it."""

import numpy as np
from numpy.typing import NDArray

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled


@compiled
def cheapest_corner(gradient: Array, noise: Array, radius: float, signed: bool, chosen: NDArray[np.int64]) -> None:
    """`AxisCorners.scores` plus noise, and the first smallest: gradient (runs, p), noise (runs, corners | 0)."""
    runs, dimension = gradient.shape
    noisy = noise.shape[1] > 0
    for run in range(runs):
        best, least = 0, np.inf
        for sign in range(2 if signed else 1):
            for j in range(dimension):
                score = -(gradient[run, j] * radius) if sign else gradient[run, j] * radius
                if noisy:
                    score += noise[run, sign * dimension + j]
                if score < least:
                    best, least = sign * dimension + j, score
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

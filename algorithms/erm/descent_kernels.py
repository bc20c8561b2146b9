"""Compiled steps of noisy gradient descent on a ball: gradient, noise, projection, one row after another."""

import numpy as np
from numpy.typing import NDArray

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled
from dpregret.core.losses import KINK

FLOOR = 1e-300  # of a distance by which is divided


@compiled
def descend(
    kind: int, shares: Array, atoms: Array, radius: float, points: Array, output: Array, averaged: bool,
    steps: Array, noise: Array, units: Array, chosen: NDArray[np.int64],
) -> None:  # fmt: skip
    """Projected steps of points (settings, runs, p), in place; `output` gathers the iterates, or holds the last one.

    kind, shares, atoms: a `RiskRule`. radius: of the ball, about the origin. steps (T, settings), noise (settings,),
    units (T | 0, runs, p): without any there is no noise. chosen (T, runs): the one atom of each step's gradient;
    (0, 0): all atoms.
    """
    settings, runs, dimension = points.shape
    gradient = np.empty(dimension)
    for setting in range(settings):
        for run in range(runs):
            point = points[setting, run]
            for now in range(len(steps)):
                for j in range(dimension):
                    gradient[j] = 0.0
                    output[setting, run, j] = point[j] + (output[setting, run, j] if averaged else 0.0)
                first, last = (chosen[now, run], chosen[now, run] + 1) if len(chosen) else (0, len(shares))
                for each in range(first, last):
                    _add_gradient(kind, shares[each], atoms[each, min(run, atoms.shape[1] - 1)], point, gradient)
                square = 0.0
                for j in range(dimension):
                    if len(units):
                        gradient[j] += noise[setting] * units[now, run, j]
                    point[j] -= steps[now, setting] * gradient[j]
                    square += point[j] * point[j]
                scale = radius / max(np.sqrt(square), radius)
                for j in range(dimension):
                    point[j] *= scale


@compiled
def _add_gradient(kind: int, share: float, atom: Array, point: Array, gradient: Array) -> None:
    scale = share
    if kind == KINK:
        square = 0.0
        for j in range(len(point)):
            square += (point[j] - atom[j]) * (point[j] - atom[j])
        scale = share / max(np.sqrt(square), FLOOR)
    for j in range(len(point)):
        gradient[j] += scale * (point[j] - atom[j])

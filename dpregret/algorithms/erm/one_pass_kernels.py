"""Compiled steps of learners that meet every record once: the affine gradient of its loss, a projection, a sum."""

import numpy as np

from dpregret.algorithms.geometry.potential_kernels import step
from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled


@compiled
def descend_once(
    kind: int, numbers: Array, slope: float, shift: float, records: Array, steps: Array, points: Array, sums: Array
) -> None:
    """A projected step a record from points (settings, runs, p), in place; sums adds up the points it started from.

    kind, numbers: a Euclidean `PotentialRule`. slope, shift: the gradient of a record's loss is slope theta + shift z.
    records (settings or 1, runs or 1, count, p), steps (settings,).
    """
    settings, runs, dimension = points.shape
    gradient, work = np.empty(dimension), np.empty((3, dimension))
    for setting in range(settings):
        size = steps[setting]
        for run in range(runs):
            own = records[min(setting, len(records) - 1), min(run, records.shape[1] - 1)]
            point, total = points[setting, run], sums[setting, run]
            for now in range(len(own)):
                for j in range(dimension):
                    total[j] += point[j]
                    gradient[j] = size * (slope * point[j] + shift * own[now, j])
                step(kind, numbers, point, gradient, work)


@compiled
def follow_once(
    kind: int, numbers: Array, slope: float, shift: float, records: Array, noise: Array, weights: Array, start: Array,
    points: Array, gradients: Array, sums: Array,
) -> None:  # fmt: skip
    """The leader of noisy sums of gradients, a round a record, in place; sums adds up the points it played.

    noise (count, settings, runs, p), weights (settings,): the regularisation, start (p,), gradients: their sums; the
    rest as above.
    """
    settings, runs, dimension = points.shape
    move, work = np.empty(dimension), np.empty((3, dimension))
    for setting in range(settings):
        for run in range(runs):
            own = records[min(setting, len(records) - 1), min(run, records.shape[1] - 1)]
            point, total, gradient = points[setting, run], sums[setting, run], gradients[setting, run]
            for now in range(len(own)):
                for j in range(dimension):
                    total[j] += point[j]
                    gradient[j] += slope * point[j] + shift * own[now, j]
                    move[j] = (gradient[j] + noise[now, setting, run, j]) / weights[setting]
                    point[j] = start[j]
                step(kind, numbers, point, move, work)

"""Compiled steps of noisy descent on a ball, eight runs side by side; rounded as `descent_kernels.descend` rounds."""

import numpy as np
from numpy.typing import NDArray

from dpregret.core.losses import KINK
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.simd import WIDTH, load, roots, spread, store, where_less
from dpregret.numerics.sums import squares

FLOOR = 1e-300  # of a distance by which is divided


@compiled
def descend_on_ball(
    kind: int, shares: Array, atoms: Array, radius: float, states: Array, output: Array, averaged: bool, steps: Array,
    noise: Array, units: Array, chosen: NDArray[np.int64],
) -> None:  # fmt: skip
    """As `descend` with the Euclidean potential of a ball around 0."""
    settings, runs, d = output.shape
    point, total, nothing = np.empty((d, WIDTH)), np.empty((d, WIDTH)), np.zeros((d, WIDTH))
    every, scales = np.empty((len(atoms), d, WIDTH)), np.empty((len(atoms), WIDTH))
    one, unit, own = np.empty((1, d, WIDTH)), np.empty((d, WIDTH)), np.empty(WIDTH, dtype=np.int64)
    size = spread(radius)
    for first in range(0, runs, WIDTH):
        for lane in range(WIDTH):
            own[lane] = min(first + lane, runs - 1)  # the last run again, where there are no eight
            for each in range(len(atoms)):
                for k in range(d):
                    every[each, k, lane] = atoms[each, min(own[lane], atoms.shape[1] - 1), k]
        for setting in range(settings):
            for lane in range(WIDTH):
                for k in range(d):
                    point[k, lane], total[k, lane] = states[setting, own[lane], k], output[setting, own[lane], k]
            loud = spread(noise[setting])
            for now in range(len(steps)):
                met = every
                if len(chosen):
                    for lane in range(WIDTH):
                        for k in range(d):
                            one[0, k, lane] = every[chosen[now, own[lane]], k, lane]
                    met = one
                for each in range(len(met)):
                    share = spread(shares[each])
                    if kind == KINK:
                        distance = roots(squares(point, met[each]))
                        share = share / where_less(distance, spread(FLOOR), spread(FLOOR), distance)
                    store(scales, each * WIDTH, share)
                if len(units):
                    for begun in range(0, d, WIDTH):  # a few of every run: they stay in the cache
                        for lane in range(WIDTH):
                            for k in range(begun, min(begun + WIDTH, d)):
                                unit[k, lane] = units[now, own[lane], k]
                length = spread(steps[now, setting])
                for k in range(0, d * WIDTH, WIDTH):
                    before = load(point, k)
                    store(total, k, before + load(total, k) if averaged else before)
                    slope = spread(0.0)
                    for each in range(len(met)):
                        slope = slope + load(scales, each * WIDTH) * (before - load(met, each * d * WIDTH + k))
                    if len(units):
                        slope = slope + loud * load(unit, k)
                    store(point, k, before - slope * length)
                norm = roots(squares(point, nothing))
                factor = size / where_less(norm, size, size, norm)
                for k in range(0, d * WIDTH, WIDTH):
                    store(point, k, load(point, k) * factor)
            for lane in range(min(WIDTH, runs - first)):
                for k in range(d):
                    states[setting, first + lane, k], output[setting, first + lane, k] = point[k, lane], total[k, lane]

"""Compiled steps of noisy descent: gradient, noise, Bregman step, one row after another."""

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.erm.ball_kernels import FLOOR, descend_on_ball
from dpregret.algorithms.geometry.potential_kernels import place, step
from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled, inlined
from dpregret.core.kernels import BALL
from dpregret.core.lanes import WIDTH, load, spread, store
from dpregret.core.losses import KINK
from dpregret.core.sums import add_product


@compiled
def descend(
    kind: int, shares: Array, atoms: Array, potential: int, numbers: Array, states: Array, output: Array,
    averaged: bool, steps: Array, noise: Array, units: Array, chosen: NDArray[np.int64],
) -> None:  # fmt: skip
    """Steps of states (settings, runs, k), in place; `output` (settings, runs, p) adds points up, or holds the last.

    kind, shares, atoms: a `RiskRule`. potential, numbers: a `PotentialRule`. steps (T, settings), noise (settings,),
    units (T | 0, runs, p): without any there is no noise. chosen (T, runs): the one atom of each step's gradient;
    (0, 0): all atoms.
    """
    if potential == BALL:
        descend_on_ball(kind, shares, atoms, numbers[0], states, output, averaged, steps, noise, units, chosen)
        return
    settings, runs, dimension = output.shape
    point, gradient, work = np.empty(dimension), np.empty(dimension), np.empty((3, states.shape[2]))
    scales = np.empty(len(shares))
    for setting in range(settings):
        for run in range(runs):
            state, released = states[setting, run], output[setting, run]
            for now in range(len(steps)):
                place(potential, numbers, state, point, work)
                first, last = (chosen[now, run], chosen[now, run] + 1) if len(chosen) else (0, len(shares))
                own = min(run, atoms.shape[1] - 1)
                for each in range(first, last):
                    scales[each] = shares[each]
                    if kind == KINK:
                        scales[each] /= max(np.sqrt(_square(point, atoms[each, own])), FLOOR)
                unit = units[now, run] if len(units) else point[:0]
                _follow(scales, atoms, first, last, own, noise[setting], unit, steps[now, setting], point, gradient)
                for j in range(dimension):
                    released[j] = point[j] + (released[j] if averaged else 0.0)
                step(potential, numbers, state, gradient, work)


@compiled
def descend_on_form(
    gram: Array, moment: Array, potential: int, numbers: Array, states: Array, output: Array, averaged: bool,
    steps: Array, noise: Array, units: Array,
) -> None:  # fmt: skip
    """As `descend`, for the gradient G x - c of a quadratic form: gram (p, p) symmetric, moment (p,), of all rows."""
    settings, runs, dimension = output.shape
    points, gradients = np.empty((settings * runs, dimension)), np.empty((settings * runs, dimension))
    work = np.empty((3, states.shape[2]))
    for now in range(len(steps)):
        for setting in range(settings):
            for run in range(runs):
                place(potential, numbers, states[setting, run], points[setting * runs + run], work)
        gradients[:] = 0.0
        add_product(points, gram, gradients)
        for setting in range(settings):
            for run in range(runs):
                point, gradient = points[setting * runs + run], gradients[setting * runs + run]
                released, length, scale = output[setting, run], steps[now, setting], noise[setting]
                for j in range(dimension):
                    released[j] = point[j] + (released[j] if averaged else 0.0)
                    gradient[j] -= moment[j]
                if len(units):
                    unit = units[now, run]
                    for j in range(dimension):
                        gradient[j] += scale * unit[j]
                for j in range(dimension):
                    gradient[j] *= length
                step(potential, numbers, states[setting, run], gradient, work)


@compiled
def _follow(
    scales: Array, atoms: Array, first: int, last: int, run: int, loud: float, unit: Array, length: float,
    point: Array, gradient: Array,
) -> None:  # fmt: skip
    """Write length times the sum of scale (x - atom), and of noise: loud times a unit (d,), or (0,)."""
    d, noisy = len(point), len(unit) > 0
    whole, wide = d // WIDTH * WIDTH, atoms.shape[1] * d
    for j in range(0, whole, WIDTH):
        x, slope = load(point, j), spread(0.0)
        for each in range(first, last):
            slope = slope + spread(scales[each]) * (x - load(atoms, each * wide + run * d + j))
        if noisy:
            slope = slope + spread(loud) * load(unit, j)
        store(gradient, j, slope * spread(length))
    for j in range(whole, d):
        rest = 0.0
        for each in range(first, last):
            rest += scales[each] * (point[j] - atoms[each, run, j])
        gradient[j] = (rest + loud * unit[j] if noisy else rest) * length


@inlined
def _square(point: Array, atom: Array) -> float:
    """|x - c|^2, in the order of `core.sums.dot`."""
    whole = len(point) // 8 * 8
    a = b = c = d = e = f = g = h = 0.0
    for k in range(0, whole, 8):
        a += (point[k] - atom[k]) * (point[k] - atom[k])
        b += (point[k + 1] - atom[k + 1]) * (point[k + 1] - atom[k + 1])
        c += (point[k + 2] - atom[k + 2]) * (point[k + 2] - atom[k + 2])
        d += (point[k + 3] - atom[k + 3]) * (point[k + 3] - atom[k + 3])
        e += (point[k + 4] - atom[k + 4]) * (point[k + 4] - atom[k + 4])
        f += (point[k + 5] - atom[k + 5]) * (point[k + 5] - atom[k + 5])
        g += (point[k + 6] - atom[k + 6]) * (point[k + 6] - atom[k + 6])
        h += (point[k + 7] - atom[k + 7]) * (point[k + 7] - atom[k + 7])
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for k in range(whole, len(point)):
        total += (point[k] - atom[k]) * (point[k] - atom[k])
    return total

"""Compiled steps of noisy descent: gradient, noise, Bregman step, one row after another."""

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.erm.ball_kernels import FLOOR, descend_on_ball
from dpregret.algorithms.geometry.potential_kernels import place, step
from dpregret.core.kernels import BALL
from dpregret.core.losses import KINK
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.simd import WIDTH, load, spread, store
from dpregret.numerics.sums import add_product, dot


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
                        for j in range(dimension):
                            gradient[j] = point[j] - atoms[each, own, j]
                        scales[each] /= max(np.sqrt(dot(gradient, gradient)), FLOOR)
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

"""Compiled steps of noisy descent: gradient, noise, Bregman step, one row after another."""

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.erm.ball_kernels import FLOOR, descend_on_ball
from dpregret.algorithms.geometry.potential_kernels import place, step
from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled
from dpregret.core.kernels import BALL
from dpregret.core.losses import KINK
from dpregret.core.sums import add_product, dot


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
    for setting in range(settings):
        for run in range(runs):
            state, released = states[setting, run], output[setting, run]
            for now in range(len(steps)):
                place(potential, numbers, state, point)
                for j in range(dimension):
                    released[j] = point[j] + (released[j] if averaged else 0.0)
                    gradient[j] = 0.0
                first, last = (chosen[now, run], chosen[now, run] + 1) if len(chosen) else (0, len(shares))
                for each in range(first, last):
                    atom = atoms[each, min(run, atoms.shape[1] - 1)]
                    _add_gradient(kind, shares[each], atom, point, gradient, work[0, :dimension])
                if len(units):
                    scale, unit = noise[setting], units[now, run]
                    for j in range(dimension):
                        gradient[j] += scale * unit[j]
                for j in range(dimension):
                    gradient[j] *= steps[now, setting]
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
                place(potential, numbers, states[setting, run], points[setting * runs + run])
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
def _add_gradient(kind: int, share: float, atom: Array, point: Array, gradient: Array, apart: Array) -> None:
    for j in range(len(point)):
        apart[j] = point[j] - atom[j]
    scale = share
    if kind == KINK:
        scale = share / max(np.sqrt(dot(apart, apart)), FLOOR)
    for j in range(len(point)):
        gradient[j] += scale * apart[j]

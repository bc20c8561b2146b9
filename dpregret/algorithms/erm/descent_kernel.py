"""Steps of mirror descent, compiled for each combination of risk and potential; see core/oracles.py."""

import numpy as np

from dpregret.core.losses import lay_out
from dpregret.core.oracles import SCRATCH, mirror_step, point_of, slope_at


def descend(risk, held, rows, potential, steps, noise, units, first, averaged, state, output):
    """Some steps of columns first, first + 1, ..., in place: column c is run c % runs of setting c // runs.

    risk: a loss of as many columns; held, rows: see `core.losses.laid_out`, for a risk that changes from step to step.
    steps (T, settings): their lengths. noise (settings,) times units (T or 0, runs, d) is added to gradients.
    state (k, columns): of the potential; output (d, columns): the sum of the points so far, or the last one.
    """
    (d, columns), runs = output.shape, units.shape[1]
    x, gradient, fresh = np.empty((d, columns)), np.empty((d, columns)), np.zeros((d, columns))
    value, length, s = np.empty(columns), np.empty(columns), np.empty((SCRATCH, columns))
    for now in range(len(steps)):  # line 3
        if now == 0 or rows[0].shape[0] > 1:
            lay_out(rows, held, now, first)
        for c in range(columns):
            setting, run = (first + c) // runs, (first + c) % runs
            length[c] = steps[now, setting]
            for k in range(d if len(units) else 0):
                fresh[k, c] = noise[setting] * units[now, run, k]
        point_of(potential, state, x, s)
        slope_at(risk, x, gradient, value, s)
        for k in range(d):
            for c in range(columns):
                output[k, c] = x[k, c] + (output[k, c] if averaged else 0.0)  # line 5
                gradient[k, c] = (gradient[k, c] + fresh[k, c]) * length[c]
        mirror_step(potential, state, gradient, s)  # line 4

"""Rounds of online learners, compiled for each combination of learner, loss and set; see core/oracles.py."""

import numpy as np

from dpregret.core.losses import lay_out
from dpregret.core.oracles import SCRATCH, inner, slope_at, step


def play_rounds(learner, loss, domain, held, rows, units, scale, begun, first, done, rounds, x, losses, norms):
    """Play `rounds` rounds after the first `done` of the runs first, first + 1, ... whose points are x (d, runs).

    held, rows: see `core.losses.laid_out`. units (runs in all, rounds, d) from round `begun` on, times scale: noise; no
    rounds where there is none. losses, norms (runs,): running sums of losses and of |noise|; changed in place, as x is.
    """
    (d, runs), loud = x.shape, units.shape[1] > 0
    gradient, noise, value, s = np.empty((d, runs)), np.zeros((d, runs)), np.empty(runs), np.empty((SCRATCH, runs))
    for now in range(rounds):
        if now == 0 or rows[0].shape[0] > 1:
            lay_out(rows, held, now, first)
        slope_at(loss, x, gradient, value, s)
        for r in range(runs):
            losses[r] += value[r]
        if loud:
            for r in range(runs):
                for k in range(d):
                    noise[k, r] = scale * units[first + r, begun + now, k]
            inner(noise, noise, value, s)
            for r in range(runs):
                norms[r] += np.sqrt(value[r])
        step(learner, loss, domain, float(done + now + 1), x, gradient, noise, s)


def play_round(learner, loss, domain, held, rows, first, t, x, slopes, noises):
    """Round t alone, with the gradients and the noise of all runs, (runs in all, d); without noise these are zeros."""
    d, runs = x.shape
    gradient, noise, s = np.empty((d, runs)), np.empty((d, runs)), np.empty((SCRATCH, runs))
    lay_out(rows, held, 0, first)
    for k in range(d):
        for r in range(runs):
            gradient[k, r], noise[k, r] = slopes[first + r, k], noises[first + r, k]
    step(learner, loss, domain, t, x, gradient, noise, s)

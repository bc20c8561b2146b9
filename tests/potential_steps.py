"""Steps of potentials, by their texts."""

import numpy as np

from dpregret.core.oracles import SCRATCH, mirror_step, point_of


def stepped(potential, states, gradients):
    """States (rows, k) after steps of gradients (rows, d)."""
    state, gradient = (np.atleast_2d(each).T.copy() for each in (states, gradients))
    with np.errstate(all="ignore"):  # as in compiled loops
        mirror_step(potential.data, state, gradient, np.empty((SCRATCH, state.shape[1])))
    return state.T.reshape(states.shape)


def points_of(potential, states):
    """What states stand for."""
    state = np.atleast_2d(states).T.copy()
    x = np.empty((potential.body.dimension, state.shape[1]))
    point_of(potential.data, state, x, np.empty((SCRATCH, state.shape[1])))
    return x.T.reshape(*states.shape[:-1], -1)

"""Noise of the root for whole sequences where records take part several times, right and with a mistake."""

import numpy as np

from dpregret.algorithms.privacy import Budget, gaussian_mu


def root(rounds):
    """C(2j, j) / 4^j: the strategy C and the noise B are both its Toeplitz matrix."""
    coefficients = np.cumprod(np.append(1.0, 1 - 0.5 / np.arange(1, rounds)))
    lag = np.arange(rounds)[:, None] - np.arange(rounds)
    return np.where(lag >= 0, coefficients[np.abs(lag)], 0.0)


def noise_for(squared_sensitivity, rounds, sensitivity, epsilon, delta):
    """Noise of all prefix sums, (rounds, dimension), at the scale that the squared sensitivity of C asks for."""
    scale = sensitivity * np.sqrt(squared_sensitivity) / gaussian_mu(Budget(epsilon, delta))

    def noise(generator, dimension):
        return scale * root(rounds) @ generator.standard_normal((rounds, dimension))

    return noise


def right(rounds, sensitivity, epsilon, delta, participations, separation):
    """A record moves the sum of the columns of C of its rounds: the norm of a sum, with all cross terms."""
    first = np.arange(0, rounds, separation)[:participations]
    return noise_for(np.sum(root(rounds)[:, first].sum(axis=1) ** 2), rounds, sensitivity, epsilon, delta)


def wrong(rounds, sensitivity, epsilon, delta, participations):
    """Adds up squared norms of columns, as if they were orthogonal: too small by up to the number of participations."""
    return noise_for(participations * np.sum(root(rounds)[:, 0] ** 2), rounds, sensitivity, epsilon, delta)

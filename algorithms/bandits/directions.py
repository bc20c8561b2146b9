"""Random directions of perturbations."""

from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.bandits.kernels import normalise
from dpregret.algorithms.privacy import unit_noise
from dpregret.core.arrays import Array, without_gaps

AHEAD = 64  # rounds whose directions are drawn together, where batches are shorter


class Directions:
    """Directions uniform on the unit sphere, of `rounds` rounds in all; drawn ahead where batches are short.

    A run draws from its own generator, round by round, so it decides nothing how rounds are cut into pieces.
    """

    def __init__(self, generators: Sequence[np.random.Generator], dimension: int, rounds: int, batch: int):
        self.generators, self.dimension, self.left = generators, dimension, rounds
        self.ahead = AHEAD if batch < AHEAD else 0
        self._ahead = np.empty((len(generators), 0, dimension))

    def take(self, rounds: int) -> Array:
        """Those of the next rounds, (runs, rounds, n)."""
        short = rounds - self._ahead.shape[1]
        if short > 0:
            fresh = unit_sphere(self.generators, min(max(short, self.ahead), self.left), self.dimension)
            self.left -= fresh.shape[1]
            self._ahead = np.concatenate([self._ahead, fresh], axis=1) if self._ahead.size else fresh
        taken, self._ahead = self._ahead[:, :rounds], self._ahead[:, rounds:]
        return without_gaps(taken)


def unit_sphere(generators: Sequence[np.random.Generator], rounds: int, dimension: int) -> Array:
    """Directions uniform on the unit sphere, (runs, rounds, n); a run draws from its own generator, round by round."""
    sphere = np.ascontiguousarray(unit_noise("gaussian", generators, rounds, dimension).swapaxes(0, 1))
    normalise(sphere)
    return sphere

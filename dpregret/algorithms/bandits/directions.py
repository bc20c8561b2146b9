"""Random directions of perturbations."""

from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled

AHEAD = 64  # rounds whose directions are drawn together, where batches are shorter


class Directions:
    """Directions uniform on the unit sphere, of `rounds` rounds in all; drawn ahead where batches are short.

    A run draws from its own generator, round by round, so it decides nothing how rounds are cut into pieces.
    """

    def __init__(self, generators: Sequence[np.random.Generator], dimension: int, rounds: int, batch: int):
        self._noise, self.left = UnitNoise("gaussian", generators, dimension), rounds
        self.ahead = AHEAD if batch < AHEAD else 0
        self._ahead = np.empty((len(generators), 0, dimension))

    def take(self, rounds: int) -> Array:
        """Those of the next rounds, (runs, rounds, n)."""
        short = rounds - self._ahead.shape[1]
        if short > 0:
            fresh = _on_sphere(self._noise(min(max(short, self.ahead), self.left)))
            self.left -= fresh.shape[1]
            self._ahead = np.concatenate([self._ahead, fresh], axis=1) if self._ahead.size else fresh
        taken, self._ahead = self._ahead[:, :rounds], self._ahead[:, rounds:]
        return without_gaps(taken)


def unit_sphere(generators: Sequence[np.random.Generator], rounds: int, dimension: int) -> Array:
    """Directions uniform on the unit sphere, (runs, rounds, n); a run draws from its own generator, round by round."""
    return _on_sphere(UnitNoise("gaussian", generators, dimension)(rounds))


def _on_sphere(normals: Array) -> Array:
    """Normals (rounds, runs, n) -> (runs, rounds, n)."""
    sphere = np.ascontiguousarray(normals.swapaxes(0, 1))
    normalise(sphere)
    return sphere


@compiled
def normalise(normals: Array) -> None:
    """Divide the rows of (runs, rounds, n) by their lengths, in place."""
    runs, rounds, dimension = normals.shape
    for run in range(runs):
        for now in range(rounds):
            square = 0.0
            for j in range(dimension):
                square += normals[run, now, j] * normals[run, now, j]
            length = np.sqrt(square)
            for j in range(dimension):
                normals[run, now, j] = normals[run, now, j] / length

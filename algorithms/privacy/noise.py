"""Laws of additive noise, drawn in whole blocks of rounds.

Noise never depends on data, so a block of rounds is drawn at once. Every run has its own generator: what a run
draws does not depend on how many runs share the batch.

IEEE double-precision noise from a statistical generator measures utility; it is not a release mechanism
(Mironov 2012: the low-order bits of floating-point noise leak).
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dpregret.core.arrays import Array

NoiseDistribution = Literal["gaussian", "gamma", "laplace"]


class Joint(list[np.random.Generator]):
    """One generator for all runs, in the place of one a run: for many runs at once, of which nobody asks for a single.

    A list with the same generator at every place, so code that draws run by run runs as it is. All draws are
    independent, but what a run draws depends on the number of runs.
    """

    def __init__(self, generator: np.random.Generator, runs: int):
        super().__init__([generator] * runs)


def unit_noise(
    distribution: NoiseDistribution, generators: Sequence[np.random.Generator], rounds: int, dimension: int
) -> Array:
    """Independent noise vectors of unit scale, shape (rounds, runs, dimension).

    distribution:
      gaussian  N(0, I): standard deviation 1 in every coordinate.
      gamma     density proportional to exp(-|z|_2): direction uniform on the sphere, |z|_2 ~ Gamma(dimension, 1);
                E|z| = d, E|z|^2 = d (d + 1). In dimension 1 this is Laplace(1).
      laplace   independent Laplace(1) coordinates (variance 2).
    generators: one per run, or a `Joint` one.
    """
    if isinstance(generators, Joint):
        runs = len(generators)
        return _draw(distribution, generators[0], rounds * runs, dimension).reshape(rounds, runs, dimension)
    noise = np.empty((rounds, len(generators), dimension))
    for run, generator in enumerate(generators):
        noise[:, run] = _draw(distribution, generator, rounds, dimension)
    return noise


def _draw(distribution: NoiseDistribution, generator: np.random.Generator, rounds: int, dimension: int) -> Array:
    if distribution == "gaussian":
        return generator.standard_normal((rounds, dimension))
    if distribution == "gamma":
        direction = generator.standard_normal((rounds, dimension))
        radius = generator.standard_gamma(dimension, rounds)
        length = np.sqrt(np.vecdot(direction, direction))
        scaled: Array = direction * (radius / length)[:, None]
        return scaled
    if distribution == "laplace":
        return generator.standard_exponential((rounds, dimension)) - generator.standard_exponential((rounds, dimension))
    raise ValueError(f"unknown noise distribution {distribution!r}: allowed are gaussian, gamma, laplace")


def root_mean_square_norm(distribution: NoiseDistribution, dimension: int) -> float:
    """sqrt(E|z|_2^2) of one unit noise vector: sqrt(d), sqrt(d (d + 1)) or sqrt(2 d)."""
    return float(np.sqrt({"gaussian": 1.0, "gamma": dimension + 1.0, "laplace": 2.0}[distribution] * dimension))

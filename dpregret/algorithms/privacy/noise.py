"""Laws of additive noise, drawn in whole blocks of rounds.

Noise never depends on data, so a block of rounds is drawn at once. Every run has its own generator: what a run
draws does not depend on how many runs share the batch.

IEEE double-precision noise from a statistical generator measures utility; it is not a release mechanism
(Mironov 2012: the low-order bits of floating-point noise leak).
"""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.random import Addresses, addresses, exponential_rows, fill_normals, gamma, normal_rows
from dpregret.numerics.sums import dot

NoiseDistribution = Literal["gaussian", "gamma", "laplace"]
Counts = NDArray[np.int64]


class Joint(list[np.random.Generator]):
    """One generator for all runs instead of one a run: for many runs at once, of which none is requested alone.

    A list that repeats one generator, so code that draws run by run works unchanged. All draws are
    independent, but what a run draws depends on the number of runs.
    """

    def __init__(self, generator: np.random.Generator, runs: int):
        super().__init__([generator] * runs)


class UnitNoise:
    """Independent noise vectors of unit scale, of all runs: each call draws some more rounds.

    distribution:
      gaussian  N(0, I): standard deviation 1 in every coordinate.
      gamma     density proportional to exp(-|z|_2): direction uniform on the sphere, |z|_2 ~ Gamma(dimension, 1);
                E|z| = d, E|z|^2 = d (d + 1). In dimension 1 this is Laplace(1).
      laplace   independent Laplace(1) coordinates (variance 2).
    generators: one per run, or a `Joint` one.
    """

    def __init__(self, distribution: NoiseDistribution, generators: Sequence[np.random.Generator], dimension: int):
        if distribution not in _FILL:
            raise ValueError(f"unknown noise distribution {distribution!r}: allowed are {', '.join(_FILL)}")
        self.distribution, self.generators, self.dimension = distribution, generators, dimension
        self._addresses = addresses(generators)

    def __call__(self, rounds: int, into: Array | None = None) -> Array:
        """Fresh noise (rounds, runs, dimension), a view of an array (runs, rounds, dimension): `into` or a new one."""
        drawn = np.empty((len(self.generators), rounds, self.dimension)) if into is None else into
        _FILL[self.distribution](self._addresses, drawn)
        return drawn.swapaxes(0, 1)

    def sums(self, counts: Counts) -> Array:
        """Sums of counts[t] fresh noises each, (rounds, runs, dimension), as one draw of the law of such a sum.

        gaussian: sqrt(m) N(0, I). laplace: the difference of two Gamma(m, 1). gamma has no such law: all are drawn.
        """
        if self.distribution == "gamma":
            return added_up(self, counts)
        drawn = np.empty((len(self.generators), len(counts), self.dimension))
        if self.distribution == "gaussian":
            fill_normals(self._addresses, drawn)
            drawn *= np.sqrt(counts)[:, None]
        else:
            _fill_laplace_sums(self._addresses, counts, drawn)
        return drawn.swapaxes(0, 1)


def added_up(fresh: Callable[[int], Array], counts: Counts) -> Array:
    """Sums of counts[t] noises each, of which `fresh(count)` gives new ones: (rounds, ...)."""
    noises = fresh(int(counts.sum()))
    sums = np.zeros((len(counts), *noises.shape[1:]))
    np.add.at(sums, np.repeat(np.arange(len(counts)), counts), noises)
    return sums


def unit_noise(
    distribution: NoiseDistribution, generators: Sequence[np.random.Generator], rounds: int, dimension: int
) -> Array:
    """`UnitNoise` for once.

    Args:
        distribution: `gaussian`, `gamma` or `laplace`, of scale 1.
        generators: one a run, or a `Joint` one; they advance.
        rounds: vectors of each run.
        dimension: of a vector.

    Returns:
        Noise (rounds, runs, dimension).
    """
    return UnitNoise(distribution, generators, dimension)(rounds)


@compiled
def _fill_gamma(generators: Addresses, out: Array) -> None:
    runs, rounds, dimension = out.shape
    for run in range(runs):
        rows = out[run]
        normal_rows(generators[run], rows, False)
        for now in range(rounds):
            stretch = gamma(generators[run], dimension) / np.sqrt(dot(rows[now], rows[now]))
            for k in range(dimension):
                rows[now, k] *= stretch


@compiled
def _fill_laplace(generators: Addresses, out: Array) -> None:
    for run in range(len(out)):
        for less in (False, True):
            exponential_rows(generators[run], out[run], less)


@compiled
def _fill_laplace_sums(generators: Addresses, counts: Counts, out: Array) -> None:
    runs, rounds, dimension = out.shape
    for run in range(runs):
        for now in range(rounds):
            terms = float(counts[now])
            for k in range(dimension):
                out[run, now, k] = 0.0
                if terms > 0.0:
                    out[run, now, k] = gamma(generators[run], terms) - gamma(generators[run], terms)


_FILL = MappingProxyType({"gaussian": fill_normals, "gamma": _fill_gamma, "laplace": _fill_laplace})


def root_mean_square_norm(distribution: NoiseDistribution, dimension: int) -> float:
    """sqrt(E|z|_2^2) of one unit noise vector: sqrt(d), sqrt(d (d + 1)) or sqrt(2 d).

    Args:
        distribution: `gaussian`, `gamma` or `laplace`.
        dimension: d.

    Returns:
        The root mean square of the norm, in units of the scale.
    """
    return float(np.sqrt({"gaussian": 1.0, "gamma": dimension + 1.0, "laplace": 2.0}[distribution] * dimension))

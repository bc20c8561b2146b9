"""Uniform numbers and coins of NumPy's generators, drawn by compiled loops as in `numerics/random.py`."""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.intrinsics import next_double
from dpregret.numerics.random import Addresses, addresses


@compiled
def _fill_uniforms(generators: Addresses, out: Array) -> None:
    """out (runs, rounds): independent, uniform on [0, 1)."""
    runs, rounds = out.shape
    for run in range(runs):
        for now in range(rounds):
            out[run, now] = next_double(generators[run])


class Uniforms:
    """Independent numbers uniform on [0, 1) of all runs, one generator a run."""

    def __init__(self, generators: Sequence[np.random.Generator]):
        self.generators = generators
        self._addresses = addresses(generators)

    def draw(self, rounds: int) -> Array:
        """Fresh numbers (runs, rounds): those of `random(rounds)` of each."""
        drawn = np.empty((len(self.generators), rounds))
        _fill_uniforms(self._addresses, drawn)
        return drawn


@compiled
def _fill_coins(generators: Addresses, chances: Array, heads: float, tails: float, out: Array) -> None:
    """As `Coins.draw`: out (settings, runs, numbers)."""
    settings, runs, count = out.shape
    numbers = np.empty(count)
    for run in range(runs):
        for each in range(count):
            numbers[each] = next_double(generators[run])
        for setting in range(settings):
            for each in range(count):
                out[setting, run, each] = heads if numbers[each] < chances[setting] else tails


class Coins:
    """Independent coins of all runs, one generator a run."""

    def __init__(self, generators: Sequence[np.random.Generator]):
        self.generators = generators
        self._addresses = addresses(generators)

    def draw(self, chances: Array, heads: float, tails: float, shape: tuple[int, ...]) -> Array:
        """Heads where a number of `random(shape)` lies below the chance, else tails: (chances, runs, *shape)."""
        runs = len(self.generators)
        drawn = np.empty((len(chances), runs, math.prod(shape)))
        _fill_coins(self._addresses, chances, heads, tails, drawn)
        return drawn.reshape(len(chances), runs, *shape)

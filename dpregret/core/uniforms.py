"""Uniform numbers and coins of NumPy's generators, drawn by compiled loops as in `core/drawing.py`."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled, inlined
from dpregret.core.drawing import (
    Addresses,
    addresses,
    advance,
    advance_two,
    mixed,
    next_double,
    peek,
    place_of,
    poke,
)


@inlined
def _uniform(word: Any) -> float:
    """In [0, 1), a multiple of 2^-53."""
    return np.int64(word >> np.uint64(11)) * 2.0**-53


@compiled
def _fill_uniforms(generators: Addresses, out: Array) -> None:
    """out (runs, rounds): independent, uniform on [0, 1)."""
    runs, rounds = out.shape
    for run in range(runs):
        generator, own = generators[run], out[run]
        if generator & 1:
            place = place_of(generator)
            low, high, low_step, high_step = peek(place, 0), peek(place, 1), peek(place, 2), peek(place, 3)
            for now in range(rounds):
                low, high = advance(low, high, low_step, high_step)
                own[now] = _uniform(mixed(low, high))
            poke(place, 0, low)
            poke(place, 1, high)
        else:
            for now in range(rounds):
                own[now] = next_double(generator)


class Uniforms:
    """Independent numbers uniform on [0, 1) of all runs, one generator a run."""

    def __init__(self, generators: Sequence[np.random.Generator]):
        self.generators = generators
        self._addresses = addresses(generators)

    def draw(self, rounds: int) -> Array:
        """Fresh numbers (runs, rounds): those of `random(rounds)` of each."""
        if self._addresses is None:  # somebody's own kind of generators
            return np.stack([generator.random(rounds) for generator in self.generators])
        drawn = np.empty((len(self.generators), rounds))
        _fill_uniforms(self._addresses, drawn)
        return drawn


@compiled
def _fill_coins(generators: Addresses, chances: Array, heads: float, tails: float, out: Array) -> None:
    """As `Coins.draw`: out (settings, runs, numbers)."""
    settings, runs, count = out.shape
    for run in range(runs):
        generator, pairs = generators[run], 0
        if generator & 1:
            pairs, place = count - count % 2, place_of(generator)
            low, high, low_step, high_step = peek(place, 0), peek(place, 1), peek(place, 2), peek(place, 3)
            low_two, high_two = advance(low_step, high_step, low_step, high_step)
            for each in range(0, pairs, 2):  # the second state does not wait for the first
                one = _uniform(mixed(*advance(low, high, low_step, high_step)))
                low, high = advance_two(low, high, low_two, high_two)
                other = _uniform(mixed(low, high))
                for setting in range(settings):
                    out[setting, run, each] = heads if one < chances[setting] else tails
                    out[setting, run, each + 1] = heads if other < chances[setting] else tails
            poke(place, 0, low)
            poke(place, 1, high)
        for each in range(pairs, count):
            number = next_double(generator)
            for setting in range(settings):
                out[setting, run, each] = heads if number < chances[setting] else tails


class Coins:
    """Independent coins of all runs, one generator a run."""

    def __init__(self, generators: Sequence[np.random.Generator]):
        self.generators = generators
        self._addresses = addresses(generators)

    def draw(self, chances: Array, heads: float, tails: float, shape: tuple[int, ...]) -> Array:
        """Heads where a number of `random(shape)` lies below the chance, else tails: (chances, runs, *shape)."""
        runs = len(self.generators)
        if self._addresses is not None:
            drawn = np.empty((len(chances), runs, math.prod(shape)))
            _fill_coins(self._addresses, chances, heads, tails, drawn)
            return drawn.reshape(len(chances), runs, *shape)
        uniform = np.stack([each.random(shape) for each in self.generators])  # somebody's own kind of generators
        return np.stack([np.where(uniform < chance, heads, tails) for chance in chances])

"""The sampler of `discrete_gaussian.py` in compiled code: the same words, the same numbers."""

from typing import Any

import numpy as np

from dpregret.numerics.compiled import compiled
from dpregret.numerics.intrinsics import next_word
from dpregret.numerics.random import Addresses


@compiled
def _below(number: int, generator: int) -> Any:
    if number == 1:
        return 0
    count, rest = 0, number - 1
    while rest:
        count, rest = count + 1, rest >> 1
    while True:
        drawn = np.int64(next_word(generator) >> np.uint64(64 - count))
        if drawn < number:
            return drawn


@compiled
def _small_coin(n: int, m: int, generator: int) -> Any:
    trials = 1
    while _below(m * trials, generator) < n:
        trials += 1
    return trials % 2 == 1


@compiled
def _coin(n: int, m: int, generator: int) -> Any:
    while n > m:
        if not _small_coin(1, 1, generator):
            return False
        n -= m
    return _small_coin(n, m, generator)


@compiled
def _draw(scale: int, generator: int) -> Any:
    while True:
        rest = _below(scale, generator)
        if not _small_coin(rest, scale, generator):
            continue
        times = 0
        while _small_coin(1, 1, generator):
            times += 1
        size, negative = rest + scale * times, _below(2, generator) == 1
        if negative and size == 0:
            continue
        if _coin((size - scale) ** 2, 2 * scale**2, generator):
            return -size if negative else size


@compiled
def fill_discrete(generators: Addresses, scale: int, out: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    """out (runs, rounds, d): independent discrete Gaussian numbers, row by row."""
    runs, rounds, dimension = out.shape
    for run in range(runs):
        for now in range(rounds):
            for each in range(dimension):
                out[run, now, each] = _draw(scale, generators[run])

"""Random numbers of NumPy's generators, drawn by compiled loops: the same bits, and the same state after them.

A bit generator gives the address of its C functions (NumPy's `bitgen_t`: state, next_uint64, next_uint32, next_double),
so that whole blocks of all runs are drawn in one call. NumPy's loop branches on each number's random sign, which a
processor cannot foresee; here the sign is a product.

Laws: Marsaglia & Tsang 2000 (ziggurats, 256 layers) and 2000a (gamma), as NumPy has them. A number in some thousands
calls libm for exp, log or log1p, which decides or gives its last bit.
"""

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba.np.random import _constants as ziggurat

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.intrinsics import next_double, next_word

Addresses = np.ndarray[Any, np.dtype[np.int64]]

KN, WN, FN = ziggurat.ki_double.astype(np.int64), ziggurat.wi_double, ziggurat.fi_double
KE, WE, FE = ziggurat.ke_double.astype(np.int64), ziggurat.we_double, ziggurat.fe_double
TAIL, INVERSE_TAIL = float(ziggurat.ziggurat_nor_r), float(ziggurat.ziggurat_nor_inv_r)
EXPONENTIAL_TAIL = float(ziggurat.ziggurat_exp_r)


_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def address(generator: np.random.Generator) -> int:
    """The address of a generator's `bitgen_t`.

    Raises TypeError for a generator of a class derived from NumPy's, whose methods loops would not call.
    """
    if type(generator) is not np.random.Generator:
        raise TypeError("numbers are drawn from NumPy's own generators, not from a class derived from theirs")
    found: int = _pointer(generator.bit_generator.capsule, b"BitGenerator")
    return found


def addresses(generators: Sequence[np.random.Generator]) -> Addresses:
    """Those of several, (runs,). Raises as `address` does."""
    distinct = dict(zip(map(id, generators), generators, strict=True))  # one may serve several runs, or all
    by_id = {name: address(generator) for name, generator in distinct.items()}
    if len(by_id) == 1:
        return np.full(len(generators), next(iter(by_id.values())), dtype=np.int64)
    return np.array([by_id[id(generator)] for generator in generators], dtype=np.int64)


@inlined
def _normal_core(word: Any) -> Any:
    """(number, whether it lies in the core of its layer, as 98.8 % do, and so is N(0, 1))."""
    layer = np.int64(word & np.uint64(255))
    size = np.int64((word >> np.uint64(9)) & np.uint64(0x000FFFFFFFFFFFFF))
    sign = 1.0 - 2.0 * np.int64((word >> np.uint64(8)) & np.uint64(1))
    return size * WN[layer] * sign, size < KN[layer]


@compiled
def _normal_beyond(generator: int, word: Any) -> Any:
    """N(0, 1) from a word whose number lies beyond the core."""
    while True:
        number, _ = _normal_core(word)
        layer = np.int64(word & np.uint64(255))
        if layer == 0:
            while True:
                beyond = -INVERSE_TAIL * np.log1p(-next_double(generator))
                height = -np.log1p(-next_double(generator))
                if height + height > beyond * beyond:
                    return -(TAIL + beyond) if (word >> np.uint64(17)) & np.uint64(1) else TAIL + beyond
        height = (FN[layer - 1] - FN[layer]) * next_double(generator) + FN[layer]
        if height < np.exp(-0.5 * number * number):
            return number
        word = next_word(generator)
        number, inside = _normal_core(word)
        if inside:
            return number


@inlined
def _exponential_core(word: Any) -> Any:
    """(number, whether it lies in the core of its layer and so is Exp(1))."""
    layer, size = np.int64((word >> np.uint64(3)) & np.uint64(255)), np.int64(word >> np.uint64(11))
    return size * WE[layer], size < KE[layer]


@compiled
def _exponential_beyond(generator: int, word: Any) -> Any:
    """Exp(1) from a word whose number lies beyond the core."""
    while True:
        number, inside = _exponential_core(word)
        if inside:
            return number
        layer = np.int64((word >> np.uint64(3)) & np.uint64(255))
        if layer == 0:
            return EXPONENTIAL_TAIL - np.log1p(-next_double(generator))
        height = (FE[layer - 1] - FE[layer]) * next_double(generator) + FE[layer]
        if height < np.exp(-number):
            return number
        word = next_word(generator)


def _law(core: Any, beyond: Any) -> Any:
    """A sampler of a law, built from its core and its tail: one number of a generator, and rows of one run.

    Rows: out (rounds, d) becomes independent numbers, row by row; less: they are subtracted from out.
    """

    @inlined
    def draw(generator: int) -> Any:
        word = next_word(generator)
        number, inside = core(word)
        return number if inside else beyond(generator, word)

    @inlined
    def fill_rows(generator: int, out: Array, less: bool) -> None:
        rounds, dimension = out.shape
        for now in range(rounds):
            for column in range(dimension):
                number = draw(generator)
                out[now, column] = out[now, column] - number if less else number

    return draw, fill_rows


normal, normal_rows = _law(_normal_core, _normal_beyond)
exponential, exponential_rows = _law(_exponential_core, _exponential_beyond)


@inlined
def gamma(generator: int, shape: float) -> Any:
    """Gamma(shape, 1) for a shape of at least 1."""
    if shape == 1.0:
        return exponential(generator)
    scale = shape - 1.0 / 3.0
    width = 1.0 / np.sqrt(9.0 * scale)
    while True:
        number = normal(generator)
        cube = 1.0 + width * number
        while cube <= 0.0:
            number = normal(generator)
            cube = 1.0 + width * number
        cube = cube * cube * cube
        uniform = next_double(generator)
        square = number * number
        if uniform < 1.0 - 0.0331 * square * square:
            return scale * cube
        if np.log(uniform) < 0.5 * number * number + scale * (1.0 - cube + np.log(cube)):
            return scale * cube


@compiled
def fill_normals(generators: Addresses, out: Array) -> None:
    """out (runs, rounds, d): independent N(0, 1), row by row."""
    for run in range(len(out)):
        normal_rows(generators[run], out[run], False)


class _Draws:
    """Draws of all runs, one generator a run."""

    def __init__(self, generators: Sequence[np.random.Generator]):
        self.generators = generators  # kept alive while their addresses are in use
        self._addresses = addresses(generators)


class Normals(_Draws):
    """Independent N(0, 1) of all runs, one generator a run."""

    def draw(self, rounds: int, dimension: int) -> Array:
        """Fresh numbers (runs, rounds, dimension): those of `standard_normal((rounds, dimension))` of each."""
        drawn = np.empty((len(self.generators), rounds, dimension))
        fill_normals(self._addresses, drawn)
        return drawn


@compiled
def _fill_uniforms(generators: Addresses, out: Array) -> None:
    """out (runs, rounds): independent, uniform on [0, 1)."""
    runs, rounds = out.shape
    for run in range(runs):
        for now in range(rounds):
            out[run, now] = next_double(generators[run])


class Uniforms(_Draws):
    """Independent numbers uniform on [0, 1) of all runs, one generator a run."""

    def draw(self, rounds: int) -> Array:
        """Fresh numbers (runs, rounds): those of `random(rounds)` of each."""
        drawn = np.empty((len(self.generators), rounds))
        _fill_uniforms(self._addresses, drawn)
        return drawn


@compiled
def _fill_coins(generators: Addresses, chances: Array, heads: float, tails: float, out: Array) -> None:
    """out (chances, runs, coins): heads where a uniform number of the run lies below the chance, else tails.

    A run's last row holds its uniform numbers until its coins are thrown, a row at a time: several side by side.
    """
    rows, runs, coins = out.shape
    for run in range(runs):
        uniform = out[rows - 1, run]
        for coin in range(coins):
            uniform[coin] = next_double(generators[run])
        for row in range(rows):
            for coin in range(coins):
                out[row, run, coin] = heads if uniform[coin] < chances[row] else tails


class Coins(_Draws):
    """Independent coins of all runs, one generator a run."""

    def draw(self, chances: Array, heads: float, tails: float, shape: tuple[int, ...]) -> Array:
        """Heads where a number of `random(shape)` lies below the chance, else tails: (chances, runs, *shape)."""
        drawn = np.empty((chances.size, len(self.generators), math.prod(shape)))
        _fill_coins(self._addresses, chances.ravel(), heads, tails, drawn)
        return drawn.reshape(*drawn.shape[:2], *shape)

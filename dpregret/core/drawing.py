"""Random numbers of NumPy's generators, drawn by compiled loops: the same bits, and the same state after them.

A bit generator tells the address of its C functions (NumPy's `bitgen_t`: state, next_uint64, next_uint32, next_double),
so that whole blocks of all runs are drawn in one call. NumPy's loop branches on each number's random sign, which a
processor cannot foresee; here the sign is a product. Normal numbers of a PCG64 are drawn with its state in registers.

Laws: Marsaglia & Tsang 2000 (ziggurats, 256 layers) and 2000a (gamma), as NumPy has them. A number in some thousands
asks libm for exp, log or log1p, which decides or gives its last bit.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.random import _constants as ziggurat

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled, inlined

Addresses = np.ndarray[Any, np.dtype[np.int64]]
_STATE, _NEXT_UINT64, _NEXT_DOUBLE = 0, 1, 3  # places in bitgen_t
_WORD = 64
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645  # of PCG64 (O'Neill 2014)

KN, WN, FN = ziggurat.ki_double.astype(np.int64), ziggurat.wi_double, ziggurat.fi_double
KE, WE, FE = ziggurat.ke_double.astype(np.int64), ziggurat.we_double, ziggurat.fe_double
TAIL, INVERSE_TAIL = float(ziggurat.ziggurat_nor_r), float(ziggurat.ziggurat_nor_inv_r)
EXPONENTIAL_TAIL = float(ziggurat.ziggurat_exp_r)


def addresses(generators: Sequence[np.random.Generator]) -> Addresses | None:
    """Where the generators' `bitgen_t` lie, (runs,); None where one is no plain NumPy generator.

    They are even; one more stands for a PCG64 whose state stays in registers while rows are drawn.
    """
    distinct = dict(zip(map(id, generators), generators, strict=True))  # one may serve several runs, or all
    if any(type(each) is not np.random.Generator for each in distinct.values()):
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    place = {
        name: pointer(each.bit_generator.capsule, b"BitGenerator")
        + (type(each.bit_generator) is np.random.PCG64 and _pcg64_is_known())
        for name, each in distinct.items()
    }
    if len(place) == 1:
        return np.full(len(generators), next(iter(place.values())), dtype=np.int64)
    return np.array([place[id(each)] for each in generators], dtype=np.int64)


@cache
def _pcg64_is_known() -> bool:
    """Whether behind the state of a PCG64 lies the address of four words: state, increment, the lower word first."""
    source = np.random.PCG64(0)
    address = ctypes.c_void_p.from_address(source.ctypes.state_address).value
    if not address:
        return False
    low, high, low_step, high_step = (ctypes.c_uint64 * 4).from_address(address)
    state: Any = source.state["state"]
    return (low | high << _WORD, low_step | high_step << _WORD) == (state["state"], state["inc"])


def _call(place: int, answer: Any) -> Any:
    """Call the C function at the given place of a `bitgen_t` on its state."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(_WORD)
        table = builder.inttoptr(builder.and_(arguments[0], ir.Constant(word, -2)), word.as_pointer())
        state = builder.inttoptr(builder.load(table), cgutils.voidptr_t)
        function = ir.FunctionType(context.get_value_type(answer), [cgutils.voidptr_t])
        target = builder.load(builder.gep(table, [ir.Constant(ir.IntType(32), place)]))
        return builder.call(builder.inttoptr(target, function.as_pointer()), [state])

    return answer(types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def next_word(typing: Any, generator: Any) -> Any:
    """The next 64 bits."""
    return _call(_NEXT_UINT64, types.uint64)


@intrinsic  # type: ignore[untyped-decorator]
def next_double(typing: Any, generator: Any) -> Any:
    """The next number in [0, 1)."""
    return _call(_NEXT_DOUBLE, types.float64)


@intrinsic  # type: ignore[untyped-decorator]
def peek(typing: Any, address: Any, place: Any) -> Any:
    """The word at a place behind an address."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table = builder.inttoptr(arguments[0], ir.IntType(_WORD).as_pointer())
        return builder.load(builder.gep(table, [arguments[1]]))

    return types.uint64(types.int64, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def poke(typing: Any, address: Any, place: Any, value: Any) -> Any:
    """Write a word there."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table = builder.inttoptr(arguments[0], ir.IntType(_WORD).as_pointer())
        builder.store(arguments[2], builder.gep(table, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.uint64), code


def _advancing(multiplier: int) -> Any:
    """A step of PCG64, or several: state * multiplier + step of 128 bits, as two words each."""

    @intrinsic  # type: ignore[untyped-decorator]
    def advance(typing: Any, low: Any, high: Any, low_step: Any, high_step: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, wide = ir.IntType(_WORD), ir.IntType(2 * _WORD)
            shift = ir.Constant(wide, _WORD)

            def joined(low: Any, high: Any) -> Any:
                return builder.or_(builder.zext(low, wide), builder.shl(builder.zext(high, wide), shift))

            state = builder.mul(joined(*arguments[:2]), ir.Constant(wide, multiplier))
            state = builder.add(state, joined(*arguments[2:]))
            parts = [builder.trunc(each, word) for each in (state, builder.lshr(state, shift))]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(types.uint64, 2)(*[types.uint64] * 4), code

    return advance


advance, advance_two = _advancing(_MULTIPLIER), _advancing(_MULTIPLIER**2 % 2 ** (2 * _WORD))


@inlined
def mixed(low: Any, high: Any) -> Any:
    """The word that a state of PCG64 stands for."""
    turn, both = high >> np.uint64(58), high ^ low
    return (both >> turn) | (both << ((np.uint64(64) - turn) & np.uint64(63)))


@inlined
def place_of(generator: int) -> Any:
    """Where the four words of a PCG64 lie."""
    return np.int64(peek(np.int64(peek(generator - 1, _STATE)), 0))


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
    """What draws from a law, told by its core and what lies beyond: one number of a generator, and rows of one run.

    Rows: out (rounds, d) becomes independent numbers, row by row; less: they are taken from what is there.
    """

    @inlined
    def draw(generator: int) -> Any:
        word = next_word(generator)
        number, inside = core(word)
        return number if inside else beyond(generator, word)

    @inlined
    def fill_rows(generator: int, out: Array, less: bool) -> None:
        rounds, dimension = out.shape
        if generator & 1:
            place = place_of(generator)
            low, high, low_step, high_step = peek(place, 0), peek(place, 1), peek(place, 2), peek(place, 3)
            for now in range(rounds):
                for each in range(dimension):
                    low, high = advance(low, high, low_step, high_step)
                    word = mixed(low, high)
                    number, inside = core(word)
                    if not inside:
                        poke(place, 0, low)
                        poke(place, 1, high)
                        number = beyond(generator, word)
                        low, high = peek(place, 0), peek(place, 1)
                    out[now, each] = out[now, each] - number if less else number
            poke(place, 0, low)
            poke(place, 1, high)
        else:
            for now in range(rounds):
                for each in range(dimension):
                    number = draw(generator)
                    out[now, each] = out[now, each] - number if less else number

    return draw, fill_rows


normal, normal_rows = _law(_normal_core, _normal_beyond)
exponential, exponential_rows = _law(_exponential_core, _exponential_beyond)


@compiled
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


@compiled
def fill_exponentials(generators: Addresses, out: Array) -> None:
    """out (runs, rounds, d): independent Exp(1), row by row."""
    for run in range(len(out)):
        exponential_rows(generators[run], out[run], False)


class Normals:
    """Independent N(0, 1) of all runs, one generator a run."""

    def __init__(self, generators: Sequence[np.random.Generator]):
        self.generators = generators
        self._addresses = addresses(generators)

    def draw(self, rounds: int, dimension: int) -> Array:
        """Fresh numbers (runs, rounds, dimension): those of `standard_normal((rounds, dimension))` of each."""
        drawn = np.empty((len(self.generators), rounds, dimension))
        if self._addresses is not None:
            fill_normals(self._addresses, drawn)
        else:  # somebody's own kind of generators
            for own, generator in zip(drawn, self.generators, strict=True):
                generator.standard_normal(out=own)
        return drawn

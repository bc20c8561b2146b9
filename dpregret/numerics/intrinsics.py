"""Instructions that numba does not offer: a fused product and sum, the parts of a number's bits, and a generator's C
functions.

Each is an instruction of LLVM's or a call, of one number or of eight side by side (simd.py).
"""

from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

_NEXT_UINT64, _NEXT_DOUBLE = 1, 3  # places in bitgen_t, whose first is the state
ONE = 0x3FF0000000000000  # the bits of 1.0
ROOT = 0x3FE6A09E667F3BCD  # and of sqrt(1/2)


def call_llvm(name: str, builder: Any, values: Any) -> Any:
    """A function of LLVM's, of numbers or of several side by side."""
    kind = values[0].type
    suffix = f"v{kind.count}f64" if isinstance(kind, ir.VectorType) else "f64"
    function = ir.FunctionType(kind, [kind] * len(values))
    return builder.call(get_or_insert_function(builder.module, function, f"llvm.{name}.{suffix}"), values)


def _fused(context: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once: fixed by IEEE 754, on processors without the instruction too. For lanes as well."""
    kind = next((each for each in (a, b, c) if not isinstance(each, types.Number)), types.float64)
    return kind(kind, kind, kind), lambda target, builder, signature, values: call_llvm("fma", builder, values)


fused = cast(Any, intrinsic(_fused))


def _words(kind: Any) -> Any:
    """The type of 64-bit words beside an LLVM type of numbers, and a function that makes constants of it."""
    word = ir.IntType(64)
    if isinstance(kind, ir.VectorType):
        words = ir.VectorType(word, kind.count)
        return words, lambda value: ir.Constant(words, [value] * kind.count)
    return word, lambda value: ir.Constant(word, value)


def _twos(builder: Any, bits: Any, constant: Any) -> Any:
    return builder.ashr(builder.sub(bits, constant(ROOT)), constant(52))


@intrinsic  # type: ignore[untyped-decorator]
def power_of_two(typing: Any, whole: Any) -> Any:
    """2^n of WHOLE + n."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        words, constant = _words(values[0].type)
        bits = builder.shl(builder.bitcast(values[0], words), constant(52))
        return builder.bitcast(builder.add(bits, constant(ONE)), values[0].type)

    return whole(whole), code


@intrinsic  # type: ignore[untyped-decorator]
def exponent(typing: Any, value: Any) -> Any:
    """n of m 2^n, m from sqrt(1/2) to sqrt(2)."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        words, constant = _words(values[0].type)
        return builder.sitofp(_twos(builder, builder.bitcast(values[0], words), constant), values[0].type)

    return value(value), code


@intrinsic  # type: ignore[untyped-decorator]
def mantissa(typing: Any, value: Any) -> Any:
    """And m."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        words, constant = _words(values[0].type)
        bits = builder.bitcast(values[0], words)
        bits = builder.sub(bits, builder.shl(_twos(builder, bits, constant), constant(52)))
        return builder.bitcast(bits, values[0].type)

    return value(value), code


def _call(place: int, answer: Any) -> Any:
    """Call the C function at the given place of a `bitgen_t` on its state."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        table = builder.inttoptr(arguments[0], word.as_pointer())
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

"""Instructions that numba does not offer: a fused product and sum, eight numbers side by side, and a generator's C
functions.

Of eight numbers each operation is done for all, each rounded as IEEE 754 says. Lanes never meet, so eight runs, rows or
columns in them get the bits that they would get one by one, on any processor; where it has narrower units the compiler
takes several.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import lower_builtin, models, register_model

WIDTH = 8
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_NEXT_UINT64, _NEXT_UINT32, _NEXT_DOUBLE = 1, 2, 3  # slots of bitgen_t, whose first is the state


def intrinsic(function: Any) -> Any:
    """numba's, with its identity drawn at once.

    numba draws it when it first compiles, and where a system has no libuuid it takes the bits from `random`: a learner
    that compiles in the middle of a play would seem to change the global random state.
    """
    wrapped = numba_intrinsic(function)
    assert wrapped._uuid
    return wrapped


class Lanes(types.Type):  # type: ignore[misc]
    """The type of eight numbers within kernels."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")

    def can_convert_from(self, typing: Any, other: Any) -> Any:
        """A number beside lanes stands for eight."""
        return Conversion.promote if isinstance(other, types.Float) else None


lanes = Lanes()


@register_model(Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, _VECTOR)


def _call_llvm(name: str, builder: Any, values: Any) -> Any:
    """A function of LLVM's, of numbers or of eight side by side."""
    kind = values[0].type
    suffix = f"v{WIDTH}f64" if kind == _VECTOR else "f64"
    function = ir.FunctionType(kind, [kind] * len(values))
    return builder.call(cgutils.get_or_insert_function(builder.module, function, f"llvm.{name}.{suffix}"), values)


def _fused(context: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once: fixed by IEEE 754, on processors without the instruction too. For lanes as well."""
    kind = lanes if lanes in (a, b, c) else types.float64
    return kind(kind, kind, kind), lambda target, builder, signature, values: _call_llvm("fma", builder, values)


fused = intrinsic(_fused)


def _place(context: Any, builder: Any, kind: Any, array: Any, start: Any, taken: Any = _VECTOR) -> Any:
    """Pointer to eight numbers, or one, from a flat index on in an array without gaps."""
    if kind.ndim > 1 and kind.layout != "C":
        raise TypingError(f"lanes lie in arrays without gaps, not in {kind}")
    first = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(first, [start]), taken.as_pointer())


@intrinsic
def load(typing: Any, array: Any, start: Any) -> Any:
    """Eight numbers of an array without gaps, from the flat index `start` on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, signature.args[0], *arguments), align=8)

    return lanes(array, types.int64), code


@intrinsic
def take(typing: Any, array: Any, start: Any, like: Any) -> Any:
    """The same where `like` is eight numbers; one number where it is one."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, start, like = arguments
        return builder.load(_place(context, builder, signature.args[0], array, start, like.type), align=8)

    return like(array, types.int64, like), code


@intrinsic
def store(typing: Any, array: Any, start: Any, values: Any) -> Any:
    """Write eight numbers there, or one."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, start, values = arguments
        builder.store(values, _place(context, builder, signature.args[0], array, start, values.type), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, values), code


def _spread(builder: Any, number: Any) -> Any:
    word = ir.IntType(32)
    vector = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(word, 0))
    same = ir.Constant(ir.VectorType(word, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(vector, ir.Constant(_VECTOR, ir.Undefined), same)


@lower_cast(types.Float, Lanes)  # type: ignore[untyped-decorator]
def _number_beside_lanes(context: Any, builder: Any, kind: Any, into: Any, number: Any) -> Any:
    return _spread(builder, number)


@intrinsic
def spread(typing: Any, number: Any) -> Any:
    """A number eight times."""
    return lanes(types.float64), lambda context, builder, signature, arguments: _spread(builder, arguments[0])


@intrinsic
def roots(typing: Any, values: Any) -> Any:
    """Square roots, or that of one number."""
    return values(values), lambda context, builder, signature, arguments: _call_llvm("sqrt", builder, arguments)


@intrinsic
def where_less(typing: Any, first: Any, second: Any, yes: Any, no: Any) -> Any:
    """Lane by lane, or of numbers: yes where first < second, else no."""
    kind = lanes if lanes in (first, second, yes, no) else types.float64

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *arguments[:2]), *arguments[2:])

    return kind(kind, kind, kind, kind), code


@intrinsic
def any_less(typing: Any, first: Any, second: Any) -> Any:
    """Whether first < second in any lane, or of numbers."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        less = builder.fcmp_ordered("<", *arguments)
        if signature.args[0] is types.float64:
            return less
        together = builder.bitcast(less, ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", together, ir.Constant(together.type, 0))

    return types.boolean(first, second), code


def _operator(symbol: Any, instruction: str) -> None:
    class Same(ConcreteTemplate):  # type: ignore[misc]
        cases = (signature(lanes, lanes, lanes),)

    @lower_builtin(symbol, lanes, lanes)  # type: ignore[untyped-decorator]
    def done(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return getattr(builder, instruction)(*arguments)

    infer_global(symbol)(Same)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


def _call(slot: int, answer: Any) -> Any:
    """Call the C function in this slot of a `bitgen_t` on its state."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        table = builder.inttoptr(arguments[0], word.as_pointer())
        state = builder.inttoptr(builder.load(table), cgutils.voidptr_t)
        function = ir.FunctionType(context.get_value_type(answer), [cgutils.voidptr_t])
        target = builder.load(builder.gep(table, [ir.Constant(ir.IntType(32), slot)]))
        return builder.call(builder.inttoptr(target, function.as_pointer()), [state])

    return answer(types.int64), code


@intrinsic
def next_word(typing: Any, generator: Any) -> Any:
    """The next 64 bits."""
    return _call(_NEXT_UINT64, types.uint64)


@intrinsic
def next_half(typing: Any, generator: Any) -> Any:
    """The next 32 bits, which may be the rest of a word."""
    return _call(_NEXT_UINT32, types.uint32)


@intrinsic
def next_double(typing: Any, generator: Any) -> Any:
    """The next number in [0, 1)."""
    return _call(_NEXT_DOUBLE, types.float64)

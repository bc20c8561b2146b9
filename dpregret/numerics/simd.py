"""Eight numbers side by side, for kernels: each operation is done for all eight, each rounded as IEEE 754 says.

Lanes never meet, so eight runs, rows or columns in them get the bits that they would get one by one, on any processor;
where it has narrower units the compiler takes several.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.core.imputils import lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from dpregret.numerics.intrinsics import call_llvm

WIDTH = 8
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)


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


def _place(context: Any, builder: Any, kind: Any, array: Any, start: Any, taken: Any = _VECTOR) -> Any:
    """Where eight numbers, or one, lie in an array without gaps, counted through all of its axes."""
    if kind.ndim > 1 and kind.layout != "C":
        raise TypingError(f"lanes lie in arrays without gaps, not in {kind}")
    first = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(first, [start]), taken.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def load(typing: Any, array: Any, start: Any) -> Any:
    """Eight numbers of an array without gaps, from a place on that counts through all of its axes."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, signature.args[0], *arguments), align=8)

    return lanes(array, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def take(typing: Any, array: Any, start: Any, like: Any) -> Any:
    """The same where `like` is eight numbers; one number where it is one."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, start, like = arguments
        return builder.load(_place(context, builder, signature.args[0], array, start, like.type), align=8)

    return like(array, types.int64, like), code


@intrinsic  # type: ignore[untyped-decorator]
def store(typing: Any, array: Any, start: Any, values: Any) -> Any:
    """Write eight numbers there, or one."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, start, values = arguments
        builder.store(values, _place(context, builder, signature.args[0], array, start, values.type), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, values), code


def _spread(builder: Any, number: Any) -> Any:
    word = ir.IntType(32)
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(word, 0))
    same = ir.Constant(ir.VectorType(word, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), same)


@lower_cast(types.Float, Lanes)  # type: ignore[untyped-decorator]
def _number_beside_lanes(context: Any, builder: Any, kind: Any, into: Any, number: Any) -> Any:
    return _spread(builder, number)


@intrinsic  # type: ignore[untyped-decorator]
def spread(typing: Any, number: Any) -> Any:
    """A number eight times."""
    return lanes(types.float64), lambda context, builder, signature, arguments: _spread(builder, arguments[0])


@intrinsic  # type: ignore[untyped-decorator]
def roots(typing: Any, values: Any) -> Any:
    """Square roots, or that of one number."""
    return values(values), lambda context, builder, signature, arguments: call_llvm("sqrt", builder, arguments)


@intrinsic  # type: ignore[untyped-decorator]
def where_less(typing: Any, one: Any, other: Any, yes: Any, no: Any) -> Any:
    """Lane by lane, or of numbers: yes where one < other, else no."""
    kind = lanes if lanes in (one, other, yes, no) else types.float64

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *arguments[:2]), *arguments[2:])

    return kind(kind, kind, kind, kind), code


@intrinsic  # type: ignore[untyped-decorator]
def any_less(typing: Any, one: Any, other: Any) -> Any:
    """Whether one < other in any lane, or of numbers."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.fcmp_ordered("<", *arguments)
        if signature.args[0] is types.float64:
            return found
        together = builder.bitcast(found, ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", together, ir.Constant(together.type, 0))

    return types.boolean(one, other), code


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


@infer_global(operator.neg)
class _Negative(ConcreteTemplate):  # type: ignore[misc]
    cases = (signature(lanes, lanes),)


@lower_builtin(operator.neg, lanes)  # type: ignore[untyped-decorator]
def _negative(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.fneg(*arguments)

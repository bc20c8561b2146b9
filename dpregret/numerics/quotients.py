"""Division of many numbers by one: products with its reciprocal, mended until the last bit is right.

A processor divides eight numbers in the time of thirty products. Let r be 1/b, rounded, and q close to a/b. The
remainder a - q b has no rounding error, and q + (a - q b) r, rounded once, is closer to a/b; from a q within one unit
in the last place it is a/b, rounded (Markstein 1990, Theorem 2). The product a r lies within two units.
"""

import operator
from typing import Any, NamedTuple

from numba import types
from numba.extending import overload

from dpregret.numerics.compiled import inlined
from dpregret.numerics.intrinsics import fused

LEAST, MOST = 1e-200, 1e200  # of quotients; nearer to zero and infinity remainders are rounded, and a r stays


def _quotient(number: float, by: Any) -> float:
    product = number * by.reciprocal
    near = fused(fused(-product, by.value, number), by.reciprocal, product)
    near = fused(fused(-near, by.value, number), by.reciprocal, near)
    return near if LEAST < abs(product) < MOST else product


class Divisor(NamedTuple):
    """A number that a loop divides others by: `a / divisor` has the bits of `a / value`.

    Where the quotient is 0, infinite or none, too; but not where it is beyond 1e-200 and 1e200, or the divisor beyond
    1e-60 and 1e60: there the last bit may be another.
    """

    value: float
    reciprocal: float

    def __rtruediv__(self, number: float) -> float:
        return number / self.value


_KIND: Any = Divisor
_KIND.compiled = _quotient  # is part of the text of what divides, see `compiled`
_KIND.__array_ufunc__ = None  # NumPy's numbers leave their division by it to this class


@inlined
def divisor(value: float) -> Divisor:
    """What to divide by, in loops that divide by nothing else."""
    return Divisor(value, 1.0 / value)


@overload(operator.truediv, strict=False, jit_options={"error_model": "numpy"})  # type: ignore[untyped-decorator]
def _division(number: Any, by: Any) -> Any:
    if isinstance(number, types.Float) and getattr(by, "instance_class", None) is Divisor:
        return _quotient
    return None

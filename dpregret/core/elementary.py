"""Exponential, logarithm and power by the C library, element by element.

NumPy's own for arrays round the last bit differently where there are 512-bit vector units. The C library's are the same
on every x86-64 processor with fused multiply-add; without it, about one in a thousand differs in its last bit.
"""

import math

import numba
import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.compiled import inlined


@inlined
def _exp(value: float) -> float:
    return math.exp(value)


@inlined
def _log(value: float) -> float:
    return math.log(value)


@inlined
def _power(base: float, exponent: float) -> float:
    return math.pow(base, exponent)


@numba.vectorize(["float64(float64)"], cache=True)  # type: ignore[untyped-decorator]
def exp(value: float) -> float:
    """e^value of arrays."""
    return _exp(value)


@numba.vectorize(["float64(float64)"], cache=True)  # type: ignore[untyped-decorator]
def log(value: float) -> float:
    """Natural logarithm of arrays; -inf at 0."""
    return _log(value)


@numba.vectorize(["float64(float64, float64)"], cache=True)  # type: ignore[untyped-decorator]
def power(base: float, exponent: float) -> float:
    """base^exponent of arrays, base >= 0."""
    return _power(base, exponent)


def softmax(logits: Array) -> Array:
    """exp(logits) over their sum, along the last axis."""
    weights = exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float64)

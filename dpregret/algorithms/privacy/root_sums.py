"""The root as a sum of decays: f_j = sum_i weights_i decays_i^(j - FIRST) for FIRST <= j < length, to 1e-14.

f_j = (1/pi) int_0^1 x^j (x (1 - x))^(-1/2) dx is a mixture of decays, and over a bounded range a few serve: 16 for
128 rounds, 24 for 1024, 48 for a million. So the sum over all lags is a recursion with one vector a decay, and what a
window ends is taken out again: y <- a y + eps_(t+1-FIRST) - a^(length-FIRST) eps_(t+1-length). `fit_root.py` makes the
numbers.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np

from dpregret.numerics.arrays import Array

PARAMETERS = Path(__file__).with_name("root_decays.json")
FIRST = 8  # coefficients that are taken as they are


@cache
def _stored() -> dict[int, dict[str, list[float]]]:
    """length -> {decays, weights}."""
    return {row.pop("length"): row for row in json.loads(PARAMETERS.read_text(encoding="utf-8"))}


def longest() -> int:
    """The most coefficients that the stored sums serve."""
    return max(_stored())


def root_decays(length: int) -> tuple[Array, Array]:
    """(decays, weights) for f_8..f_{length-1}, decays falling; length at most `longest`."""
    fit = _stored()[min(size for size in _stored() if size >= length)]
    return np.array(fit["decays"]), np.array(fit["weights"])


def power(base: float, exponent: int) -> float:
    """base^exponent, exponent >= 0, by squaring: products only, so the same bits everywhere."""
    found = 1.0
    while exponent:
        if exponent & 1:
            found *= base
        base *= base
        exponent >>= 1
    return found

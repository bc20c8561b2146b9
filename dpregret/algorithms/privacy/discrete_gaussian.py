"""The discrete Gaussian from whole numbers alone (Canonne, Kamath & Steinke 2020, Algorithms 1 to 3).

P(x) ~ e^(-x^2 / (2 s^2)) on the whole numbers, s a whole number. Uniform numbers come from random words by rejection,
coins with probability e^(-n/m) from uniform numbers, and nothing is ever rounded: the law is exact. `draw` is the
definition, from any source of random bits: `secrets.randbits` for a release. `fill` does the same in compiled code from
the 64-bit words of NumPy's generators, which serve measurements only.

Privacy: added to a whole vector that moves by Delta in l2 norm, it is Delta^2 / (2 s^2)-zCDP, as Gaussian noise is
(ibid.); adaptive releases add up. `delta_of` turns rho-zCDP into (epsilon, delta), as there.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from dpregret.algorithms.privacy.budget import Budget, largest_within

Bits = Callable[[int], int]  # count -> that many random bits, as a number
Whole = np.ndarray[Any, np.dtype[np.int64]]
LARGEST = 2**25  # scale up to which products of the compiled sampler stay below 2^63, except for events below 2^-128


def below(number: int, bits: Bits) -> int:
    """Uniform on 0..number-1."""
    while True:
        drawn = bits((number - 1).bit_length()) if number > 1 else 0
        if drawn < number:
            return drawn


def coin(n: int, m: int, bits: Bits) -> bool:
    """True with probability e^(-n/m), n >= 0, m > 0."""
    while n > m:
        if not coin(1, 1, bits):
            return False
        n -= m
    trials = 1
    while below(m * trials, bits) < n:
        trials += 1
    return trials % 2 == 1


def draw(scale: int, bits: Bits) -> int:
    """One number of the discrete Gaussian of that scale, by rejection from a discrete Laplace law of the same scale."""
    while True:
        rest = below(scale, bits)
        if not coin(rest, scale, bits):
            continue
        times = 0
        while coin(1, 1, bits):
            times += 1
        size, negative = rest + scale * times, below(2, bits) == 1
        if negative and size == 0:
            continue
        if coin((size - scale) ** 2, 2 * scale**2, bits):
            return -size if negative else size


def words(generator: np.random.Generator) -> Bits:
    """The bits that `fill` takes from a generator: the upper ones of a word a call."""

    def bits(count: int) -> int:
        return int(generator.bit_generator.random_raw()) >> (64 - count) if count else 0

    return bits


def fill(generators: list[np.random.Generator], scale: int, rounds: int, dimension: int) -> Whole:
    """Independent numbers (rounds, runs, dimension), run by run. Raises ValueError for a scale that is not a whole
    number from 1 to `LARGEST`."""
    from dpregret.algorithms.privacy.discrete_kernels import fill_discrete
    from dpregret.numerics.random import addresses

    if not 1 <= scale <= LARGEST:
        raise ValueError(f"the scale of discrete Gaussian noise must be 1 to {LARGEST} grid units, got {scale}")
    out = np.empty((len(generators), rounds, dimension), dtype=np.int64)
    places = addresses(generators)
    if places is None:
        raise ValueError("discrete Gaussian noise is drawn from NumPy's own generators")
    fill_discrete(places, scale, out)
    return out.swapaxes(0, 1)


def delta_of(rho: float, epsilon: float) -> float:
    """The least delta known for rho-zCDP: min over a > 1 of e^((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a-1)."""

    def exponent(log_order: float) -> float:
        above = math.exp(log_order)
        order = 1 + above
        return above * (order * rho - epsilon) + order * math.log1p(-1 / order) - log_order

    found = minimize_scalar(exponent, bounds=(-12.0, 12.0), method="bounded", options={"xatol": 1e-10})
    return min(1.0, math.exp(found.fun))


def rho_within(budget: Budget) -> float:
    """The largest rho whose zCDP is known to give the budget; delta > 0."""
    return largest_within(lambda rho: delta_of(rho, budget.epsilon), budget.delta)


def whole_scale(budget: Budget, squared_sensitivity: int) -> int:
    """The least whole s with squared_sensitivity / (2 s^2) <= rho: computed with rounding, checked without."""
    rho = rho_within(budget) * (1 - 1e-9)
    numerator, denominator = rho.as_integer_ratio()
    scale = math.isqrt(squared_sensitivity * denominator // (2 * numerator))
    while squared_sensitivity * denominator > 2 * numerator * scale**2:
        scale += 1
    return scale

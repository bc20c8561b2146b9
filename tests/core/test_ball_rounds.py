"""Divisions by corrected inverses."""

import numba
import numpy as np

from dpregret.core.compiled import over
from dpregret.core.lanes import load, spread, store


@numba.njit
def _quotients(numbers, divisors, found):
    for row in range(len(numbers)):
        divisor = load(divisors, 8 * row)
        store(found, 8 * row, over(load(numbers, 8 * row), divisor, spread(1.0) / divisor))


def test_quotients_are_rounded_once():
    """Also next to the middle between two numbers, and with divisors whose inverse is rounded most."""
    rng = np.random.default_rng(3)
    divisors = rng.uniform(1.0, 2.0, (3, 20_000, 8))
    divisors[1] = 2.0 - np.ldexp(rng.integers(1, 1 << 20, divisors[1].shape), -52)
    quotients = rng.uniform(0.5, 2.0, divisors.shape)
    half = 0.5 * np.spacing(quotients)
    near = quotients * divisors + half * divisors  # rounded: its quotient is close to the middle
    spread_out = rng.normal(size=divisors.shape) * 2.0 ** rng.integers(-300, 300, divisors.shape)
    for numbers in (near, spread_out, np.zeros_like(divisors)):
        for number, divisor in zip(numbers, divisors * 2.0 ** rng.integers(-20, 21, divisors.shape), strict=True):
            found = np.empty_like(number)
            _quotients(number, divisor, found)
            np.testing.assert_array_equal(found, number / divisor)

"""Divisions by corrected inverses."""

import numba
import numpy as np

from dpregret.core.compiled import over, steps_to
from dpregret.core.lanes import load, spread, store


@numba.njit
def _quotients(numbers, divisors, found):
    for row in range(len(numbers)):
        divisor = divisors[row]
        quotient = over(load(numbers, 8 * row), spread(divisor), spread(1.0 / divisor), steps_to(divisor))
        store(found, 8 * row, quotient)


@numba.njit
def _steps(divisors):
    return np.array([steps_to(each) for each in divisors])


def test_quotients_are_rounded_once():
    """Also next to the middle between two numbers, and with divisors whose inverse is rounded most."""
    rng = np.random.default_rng(3)
    divisors = rng.uniform(1.0, 2.0, (4, 20_000))
    divisors[1] = 2.0 - np.ldexp(rng.integers(1, 1 << 20, divisors[1].shape), -52)
    divisors[2] = np.arange(1, divisors.shape[1] + 1)  # rounds
    quotients = rng.uniform(0.5, 2.0, (*divisors.shape, 8))
    half = 0.5 * np.spacing(quotients)
    near = quotients * divisors[..., None] + half * divisors[..., None]  # rounded: its quotient is close to the middle
    spread_out = rng.normal(size=near.shape) * 2.0 ** rng.integers(-300, 300, near.shape)
    for numbers in (near, spread_out, np.zeros_like(near)):
        for number, divisor in zip(numbers, divisors * 2.0 ** rng.integers(-20, 21, divisors.shape), strict=True):
            found = np.empty_like(number)
            _quotients(number, divisor, found)
            np.testing.assert_array_equal(found, number / divisor[:, None])
    assert set(_steps(divisors[2])) == {0, 1, 2}
    assert 0.6 < (_steps(divisors[0]) == 1).mean() < 0.9

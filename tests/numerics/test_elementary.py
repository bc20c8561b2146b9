"""Exponentials, logarithms and powers: held to the C library's, and the same bits wherever an element stands."""

import math

import numba
import numpy as np
import pytest

from dpregret.numerics.elementary import exp, finite_power, log, power_of, softmax

SPREAD = np.random.default_rng(3).uniform(-1.0, 1.0, 1001)


def entrywise(function):
    """A function of kernels at every entry of an array."""

    @numba.njit(error_model="numpy")
    def loop(bases, exponent):
        found = np.empty_like(bases)
        for place in np.ndindex(bases.shape):
            found[place] = function(bases[place], exponent)
        return found

    return loop


power, finite_powers = entrywise(power_of), entrywise(finite_power)


def last_bits(found, expected):
    """Differences in units of the expected numbers' last bits."""
    return np.abs(found - np.array(expected)) / np.spacing(np.abs(expected))


@pytest.mark.parametrize("reach", [1e-9, 1.0, 30.0, 700.0])
def test_they_are_the_c_librarys_up_to_two_last_bits(reach):
    values = reach * SPREAD
    bases = np.exp(values)
    assert last_bits(exp(values), [math.exp(each) for each in values]).max() <= 2
    assert last_bits(log(bases), [math.log(each) for each in bases]).max() <= 2
    for exponent in (0.115, 1.37, 8.7, -0.9, 64.0):
        kept = bases[np.abs(values * exponent) < 700]
        assert last_bits(power(kept, exponent), [math.pow(each, exponent) for each in kept]).max() <= 2


def test_numbers_too_small_for_a_full_mantissa():
    values = np.array([5e-324, 1e-310, 2.3e-308])
    assert last_bits(log(values), [math.log(each) for each in values]).max() <= 1
    assert last_bits(power(values, 0.5), [math.sqrt(each) for each in values]).max() <= 1
    assert exp(np.array([-745.0, -740.0])).tolist() == [math.exp(-745.0), math.exp(-740.0)]


def test_the_ends_of_the_line():
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        assert log(np.array([0.0, np.inf, 1.0])).tolist() == [-np.inf, np.inf, 0.0]
        assert exp(np.array([-np.inf, 1e3, np.inf, 0.0])).tolist() == [0.0, np.inf, np.inf, 1.0]
        assert np.isnan(log(np.array([-1.0, np.nan]))).all()
        assert np.isnan([*exp(np.array([np.nan])), *power(np.array([np.nan]), 2.0)]).all()
    assert power(np.array([0.0, 1.0, np.inf]), 0.5).tolist() == [0.0, 1.0, np.inf]
    assert power(np.array([0.0, 1.0, np.inf]), -1.0).tolist() == [np.inf, 1.0, 0.0]
    assert power(np.array([0.0, 3.0, np.inf]), 0.0).tolist() == [1.0, 1.0, 1.0]
    assert power(np.array([2.0]), 1100.0).tolist() == [np.inf]
    assert np.array_equal(softmax(np.array([[-np.inf, 3.0, 3.0]])), [[0.0, 0.5, 0.5]])


@pytest.mark.parametrize("size", [0, 1, 3, 7, 64])
def test_an_element_does_not_depend_on_its_neighbours(size):
    values = 30.0 * SPREAD[: 2 * size]
    for function in (exp, lambda some: log(np.abs(some)), lambda some: power(np.abs(some), 1.37)):
        whole = function(values)
        assert np.array_equal(function(values[::2]), whole[::2])
        assert np.array_equal(function(values.reshape(2, size)), whole.reshape(2, size))


@pytest.mark.parametrize("size", [3, 16, 1001])
@pytest.mark.parametrize("exponent", [0.0, 0.37, 8.7, -1.0])
def test_powers_of_finite_bases_are_powers(size, exponent):
    bases = np.abs(SPREAD[:size]) ** 40
    bases[1] = 0.0
    expected = power(np.where(bases > 0.0, bases, 1.0), exponent) * (bases > 0.0)
    assert np.array_equal(finite_powers(bases, exponent), expected)
    assert np.isnan(finite_powers(np.array([np.nan]), exponent)).all()

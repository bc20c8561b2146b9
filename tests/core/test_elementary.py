"""Exponentials, logarithms and powers: those of the C library, element by element."""

import math

import numpy as np
import pytest

from dpregret.core.elementary import exp, log, power, softmax


@pytest.mark.parametrize("size", [1, 7, 8, 1001])
def test_they_are_the_c_librarys(size):
    values = np.random.default_rng(size).uniform(-30.0, 30.0, size)
    assert exp(values).tolist() == [math.exp(value) for value in values]
    assert log(np.abs(values)).tolist() == [math.log(abs(value)) for value in values]
    assert power(np.abs(values), 1.37).tolist() == [math.pow(abs(value), 1.37) for value in values]


def test_the_ends_of_the_line():
    with np.errstate(divide="ignore", over="ignore"):
        assert log(np.array([0.0, np.inf])).tolist() == [-np.inf, np.inf]
        assert exp(np.array([-np.inf, 1e3])).tolist() == [0.0, np.inf]
    assert power(np.array([0.0, 1.0]), 0.5).tolist() == [0.0, 1.0]
    assert np.array_equal(softmax(np.array([[-np.inf, 3.0, 3.0]])), [[0.0, 0.5, 0.5]])

"""Theorem B of docs/proofs/noisy_min_range.md: all boxes (nightly), and what its program says of single ones (here)."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import range_boxes as boxes
from competing import random_pairs
from range_boxes import Box, Interval

from dpregret.algorithms.privacy.selection import RANGES


def test_what_is_charged_is_what_is_proved() -> None:
    assert Fraction(RANGES["laplace"]) >= 4 - 2 * Fraction(boxes.T)


def test_intervals_hold_what_they_should() -> None:
    generator = np.random.default_rng(1)
    for first, second, third in generator.normal(size=(200, 3)) * 10.0 ** generator.integers(-9, 9, (200, 3)):
        one, two, three = (Fraction(float(each)) for each in (first, second, third))
        found = (Interval.of(first) * second - third) * (2.0 - Interval.of(second)) + first
        exact = (one * two - three) * (2 - two) + one
        assert Fraction(float(found.low)) <= exact <= Fraction(float(found.high))
        found = (Interval.of(first) + third).over(abs(second))
        assert Fraction(float(found.low)) < (one + three) / abs(two) < Fraction(float(found.high))


def test_tables_hold_their_integrals() -> None:
    """Against quadrature with thirty digits; none is wider than what its bound gives away."""
    one, two = boxes.left_integrals()
    with mpmath.workdps(30):
        for place in (0, 1, 700, 7000):
            s = mpmath.mpf(place) / boxes.STEP
            for table, power in ((one, 0), (two, 1)):
                exact = mpmath.quad(lambda u, s=s, power=power: u**power * mpmath.exp(s * (1 - 4 * u**2) / 2), [0, 0.5])
                assert table.low[place] <= exact <= table.high[place] <= table.low[place] * (1 + 1e-12)
        for theta, cell in ((0.5, 3), (0.5, 400), (6.0, 200), (6.0, 510)):
            ends = [mpmath.log(mpmath.mpf(boxes.CELLS) / (cell + each)) for each in (2, 1)]
            lowest = mpmath.quad(lambda x, theta=theta: mpmath.exp(-theta * mpmath.expm1(2 * x) / 2), ends)
            highest = mpmath.quad(lambda x, theta=theta: mpmath.exp(-theta * x), ends)
            steep, flat = boxes.steep(theta), boxes.flat(theta)
            assert steep.low[cell] <= lowest <= steep.high[cell]
            assert highest <= flat[cell] <= highest * (1 + 2e-2)
            assert lowest <= highest
        assert steep.low[cell] == pytest.approx(float(lowest), rel=1e-4)


def around(value: float, width: float, end: float = math.inf) -> tuple[float, float]:
    low = math.floor(value / width) * width
    return low, min(low + width, end)


def test_bounds_are_below_what_they_bound() -> None:
    """Products of true tails: P(a) (Z - t) / G(0) is no less than what is found for a box around (p, mu, theta)."""
    tried, gaps = 0, []
    for pair in random_pairs(60, 5):
        if pair.lam < 1 or pair.p == 1:
            continue
        at_zero = pair.splice_at_zero_is_allowed()
        behind = -pair.scores[2:]
        theta = float(np.sum(np.where(behind > 0, 1, np.exp(behind) / (2 - np.exp(behind)))))
        start = float(pair.laws(np.zeros(1))[2][0])
        exact = pair.first * (pair.z() - boxes.T) / start
        box = Box(around(pair.p, 2.0**-8), around((pair.lam - 1) / (1 - pair.p), 2.0**-8), around(theta, 2.0**-6))
        found = boxes.least(box, at_zero, boxes.guessed(box, at_zero)) / 4
        assert found <= exact + 1e-9
        tried += 1
        gaps.append(exact - found)
    assert tried > 15
    assert min(gaps) < 0.1  # and not far below for some


def test_second_case_is_below_its_integral() -> None:
    t, nodes = boxes.T, np.linspace(0, 1, 200_001)[1:]
    for p, theta in ((0.4, 0.0), (0.5, 3.0), (0.9, 1.0), (1.0, 12.0)):
        u, y = nodes / 2, nodes
        left = ((1 - t) - (2 - t) * p * u) * np.exp(theta * (1 - 4 * u**2) / 2)
        weights = np.where(y > p, (1 - t) * y / 2 - (2 - t) * p / 4, (2 - t) * y**2 / (4 * p))
        right = weights * np.exp(-theta * (y**-2 - 1) / 2) / y
        exact = left.mean() / 2 + right.mean()
        found = boxes.least_of_second(Box((p, p), (0.0, 0.0), (theta, theta))) / 4
        assert exact - 0.01 < found <= exact + 1e-4


@pytest.mark.nightly
@pytest.mark.parametrize("name", boxes.CASES)
def test_all_boxes_are_covered(name: str) -> None:
    _, failed = boxes.CASES[name](boxes.T)
    assert failed is None


@pytest.mark.nightly
@pytest.mark.parametrize(("case", "t"), [("case 1, splice at 0", 0.78), ("case 2", 0.8)])
def test_a_constant_that_is_too_small_is_not_shown(case: str, t: float) -> None:
    """Where (6) or (7) cannot be positive the program must stop at a box."""
    _, failed = boxes.CASES[case](t)
    assert failed is not None

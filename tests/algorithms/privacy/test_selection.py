"""Report noisy min: the laws of the choice, its price against brute force, calibration."""

import itertools
import math

import numpy as np
import pytest
from drawn import generators
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax
from scipy.stats import binomtest, chisquare, kstest

from dpregret.algorithms.privacy import Budget, gaussian_epsilon
from dpregret.algorithms.privacy.selection import (
    Selection,
    _times_rademacher,
    calibrate_selection,
    largest_rho,
    selection_noise,
    zcdp_epsilon,
)


def worse_of_two(gap):
    """P(the worse of two scores is chosen) under Laplace(1) noise: the tail of a difference of two Laplaces."""
    return 0.5 * math.exp(-gap) * (1 + gap / 2)


def renyi(order, first, second):
    return logsumexp(order * np.log(first) + (1 - order) * np.log(second)) / (order - 1)


def test_gumbel_noise_chooses_by_the_exponential_mechanism():
    scores, scale, draws = np.array([0.3, -0.2, 0.0, 1.1, -0.15]), 0.4, 60_000
    noise = selection_noise("gumbel", generators(1, 5), draws, 5)[:, 0]
    chosen = np.bincount(np.argmin(scores + scale * noise, axis=1), minlength=5)
    assert chisquare(chosen, draws * softmax(-scores / scale)).pvalue > 1e-3


@pytest.mark.parametrize("gap", [0.0, 0.7, 2.5])
def test_laplace_noise_chooses_between_two_as_the_difference_says(gap):
    draws = 60_000
    noise = selection_noise("laplace", generators(1, 5), draws, 2)[:, 0]
    chosen = np.argmin(np.array([0.0, gap]) + noise, axis=1).sum()
    assert binomtest(int(chosen), draws, worse_of_two(gap)).pvalue > 1e-3


def test_unit_noises_have_their_laws():
    laplace = selection_noise("laplace", generators(2, 5), 3000, 3).ravel()
    gumbel = -selection_noise("gumbel", generators(2, 5), 3000, 3).ravel()
    assert kstest(laplace, "laplace").pvalue > 1e-3
    assert kstest(gumbel, "gumbel_r").pvalue > 1e-3


def test_two_laplace_scores_lose_twice_their_sensitivity_in_the_tail():
    """Scores 0 and D against +s and D - s: the loss stays below 2 s / b and approaches it as D grows."""
    sensitivity = 0.1
    losses = [
        math.log(worse_of_two(gap - 2 * sensitivity) / worse_of_two(gap)) for gap in (0.5, 2.0, 10.0, 100.0, 600.0)
    ]
    pure = Selection("laplace", 1.0, sensitivity, 1).call_epsilon()
    assert all(before < after < pure for before, after in itertools.pairwise(losses))
    assert losses[-1] > 0.998 * pure > 1.9 * sensitivity


@settings(max_examples=200)
@given(
    st.lists(st.floats(-4, 4), min_size=2, max_size=6),
    st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    st.floats(0.05, 2.0),
    st.floats(1.01, 40.0),
)
def test_gumbel_choice_is_zcdp_and_pure(scores, moves, sensitivity, order):
    first = np.array(scores)
    second = first + sensitivity * np.array(moves[: len(first)])
    line = Selection("gumbel", 1.0, sensitivity, 1)
    one, two = softmax(-first), softmax(-second)
    assert renyi(order, one, two) <= order * line.rho() * (1 + 1e-9) + 1e-12
    assert np.abs(np.log(one / two)).max() <= line.call_epsilon() + 1e-12


def test_gumbel_rho_is_attained_by_small_moves_of_even_scores():
    sensitivity = 1e-3
    divergence = renyi(1 + 1e-6, softmax([sensitivity, -sensitivity]), softmax([0.0, 0.0]))
    assert divergence == pytest.approx(Selection("gumbel", 1.0, sensitivity, 1).rho(), rel=1e-3)


@pytest.mark.parametrize(("rho", "delta"), [(0.0175, 1e-6), (0.07238, 1e-6), (0.5, 1e-5), (8.0, 1e-9), (1e-6, 1e-3)])
def test_zcdp_conversion(rho, delta):
    """The minimum over orders; between the exact value for Gaussian noise of this rho and the simpler formula."""
    orders = 1 + np.exp(np.linspace(-8, 16, 200_001))
    values = orders * rho + (np.log(1 / delta) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
    epsilon = zcdp_epsilon(rho, delta)
    assert epsilon == pytest.approx(max(0.0, values.min()), rel=1e-6, abs=1e-9)
    assert gaussian_epsilon(math.sqrt(2 * rho), delta) <= epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta))


@settings(max_examples=60)
@given(st.floats(0.05, 80), st.floats(-10, -2), st.integers(1, 5000), st.floats(1e-4, 10))
def test_calibration_meets_the_budget(epsilon, log_delta, calls, sensitivity):
    """The ledger spends the whole budget, and never more noise than any one accountant asks for."""
    budget = Budget(epsilon, 10.0**log_delta)
    concentrated = sensitivity * math.sqrt(calls / (2 * largest_rho(budget)))
    pure = 2 * sensitivity * calls / epsilon
    for distribution, by_zcdp in (("laplace", 1.23 * concentrated), ("gumbel", concentrated)):
        scale = calibrate_selection(distribution, budget, sensitivity, calls)
        assert scale <= min(by_zcdp, pure) * (1 + 1e-9)
        line = Selection(distribution, scale, sensitivity, calls)
        assert line.epsilon(budget.delta) == pytest.approx(epsilon, rel=1e-6)


def test_ends():
    assert calibrate_selection("gumbel", Budget(math.inf, 1e-6), 1.0, 9) == 0.0
    assert Selection("gumbel", 0.0, 1.0, 9).epsilon(1e-6) == math.inf
    assert Selection("laplace", 0.0, 1.0, 0).epsilon(1e-6) == 0.0
    assert Selection("laplace", 1.0, 0.25, 3).epsilon(0.0) == pytest.approx(1.5)
    assert Selection("laplace", 1e-4, 1.0, 3).epsilon(1e-6) == pytest.approx(6e4)
    assert zcdp_epsilon(0.0, 1e-6) == 0.0
    with pytest.raises(ValueError, match="delta > 0"):
        largest_rho(Budget(1.0))


@pytest.mark.parametrize("size", [1, 8, 29, 1000])
def test_signs_are_the_bits_in_their_order(size: int) -> None:
    """The highest bit of the first byte turns the first entry."""
    generator = np.random.default_rng(2)
    sizes, bits = generator.random(size), np.frombuffer(generator.bytes(-(-size // 8)), dtype=np.uint8)
    turned = sizes.copy()
    _times_rademacher(turned, bits)
    np.testing.assert_array_equal(turned, sizes * (1.0 - 2.0 * np.unpackbits(bits, count=size)))

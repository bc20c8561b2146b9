"""Calibration against closed forms, published anchors and dp-accounting."""

import itertools
import math

import dp_accounting
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dpregret.algorithms.privacy import (
    Budget,
    Release,
    calibrate,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    largest_within,
    smallest_epsilon,
)
from dpregret.algorithms.privacy.budget import (
    binomial_delta,
    binomial_epsilon,
    largest_call_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from dpregret.algorithms.privacy.selection import zcdp_epsilon

EPSILONS = st.floats(1e-3, 50)
DELTAS = st.floats(1e-10, 0.4)


@given(EPSILONS, DELTAS)
def test_gaussian_mu_inverts_the_profile(epsilon, delta):
    mu = gaussian_mu(Budget(epsilon, delta))
    assert gaussian_delta(epsilon, mu) == pytest.approx(delta, rel=1e-9)
    assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-8, 1e-5, 1e-2])
@pytest.mark.parametrize("nodes", [1, 5, 17])
def test_gaussian_calibration_agrees_with_dp_accounting(epsilon, delta, nodes):
    scale = calibrate("gaussian", Budget(epsilon, delta), 1.0, nodes)
    reference = dp_accounting.get_sigma_gaussian(epsilon, delta) * math.sqrt(nodes)
    assert scale == pytest.approx(reference, rel=1e-6)
    assert scale <= reference * (1 + 1e-6)


@given(EPSILONS, st.integers(1, 40), st.floats(0.1, 10))
def test_pure_budgets_add_up(epsilon, nodes, sensitivity):
    for distribution in ("gamma", "laplace"):
        scale = calibrate(distribution, Budget(epsilon), sensitivity, nodes)
        assert Release(distribution, scale, sensitivity, nodes).epsilon(0.0) == pytest.approx(epsilon)


def test_no_privacy_costs_no_noise():
    for distribution in ("gamma", "gaussian"):
        assert calibrate(distribution, Budget(math.inf), 2.0, 5) == 0.0
        assert Release(distribution, 0.0, 2.0, 5).epsilon(1e-6) == math.inf


def test_printed_gaussian_scale_is_loose_by_the_stated_factors():
    from dpregret.algorithms.online.ftal import printed_scale

    budget, delivered = Budget(1.0, 1e-6), []
    for window, factor in [(1, 9.7), (16, 21.7), (256, 29.1), (16384, 37.6)]:
        nodes = window.bit_length()
        printed, tight = printed_scale("gaussian", budget, 1.0, nodes), calibrate("gaussian", budget, 1.0, nodes)
        assert printed / tight == pytest.approx(factor, abs=0.1)
        delivered.append(Release("gaussian", printed, 1.0, nodes).epsilon(1e-6))
    assert np.round(delivered, 3) == pytest.approx([0.088, 0.037, 0.027, 0.020], abs=1.1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (-1.0, 0.1), (math.nan, 0.1), (1.0, 1.0), (1.0, -0.1)])
def test_impossible_budgets_are_refused(epsilon, delta):
    with pytest.raises(ValueError, match="must"):
        Budget(epsilon, delta)


def test_edges_of_the_gaussian_profile():
    assert gaussian_epsilon(0.0, 1e-6) == 0.0
    assert gaussian_epsilon(math.inf, 1e-6) == math.inf
    assert gaussian_epsilon(1e-9, 1e-6) == 0.0
    assert gaussian_mu(Budget(math.inf, 0.0)) == math.inf
    with pytest.raises(ValueError, match=r"^Gaussian noise needs delta > 0$"):
        gaussian_mu(Budget(1.0))


@pytest.mark.parametrize("mu", [1e-3, 0.02, 1.0, 30.0, 100.0])
def test_gaussian_epsilon_agrees_with_dp_accounting(mu):
    """Within 1e-6, from far below one to thousands; the reference is what the library computes for one release."""
    for delta in (1e-12, 1e-6, 1e-3):
        reference = dp_accounting.get_epsilon_gaussian(1 / mu, delta)
        assert gaussian_epsilon(mu, delta) == pytest.approx(reference, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("nodes", "sensitivity", "scale"), [(1, 2.0, 3.0), (9, 0.5, 0.25), (4, 3.0, 1.0)])
def test_ledger_of_pure_noise_is_the_sum_of_its_releases(nodes, sensitivity, scale):
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(dp_accounting.LaplaceDpEvent(scale / sensitivity), nodes)
    found = Release("laplace", scale, sensitivity, nodes).epsilon(0.0)
    assert found == pytest.approx(nodes * sensitivity / scale)
    assert found >= accountant.get_epsilon(1e-12) - 1e-4 * nodes  # the library rounds every loss up to its grid
    assert Release("gaussian", scale, sensitivity, nodes).mu() == pytest.approx(math.sqrt(nodes) * sensitivity / scale)
    assert Release("gaussian", 0.0, sensitivity, nodes).mu() == math.inf


@pytest.mark.parametrize("root", [1e-8, 1e-3, 0.5, 1.0, 77.0, 1e6])
def test_searches_reach_far(root):
    assert largest_within(lambda parameter: parameter**2, root**2) == pytest.approx(root, rel=1e-12)
    assert smallest_epsilon(lambda epsilon: 1 / (1 + epsilon), 1 / (1 + root)) == pytest.approx(root, rel=1e-7)
    assert smallest_epsilon(lambda epsilon: 0.5 / (1 + epsilon), 0.5) == 0.0


# Composition of calls


@settings(max_examples=100)
@given(st.integers(1, 60), st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0, 4))
@example(1, 0.020000000000000004, 0.02, 0.0)
def test_binomials_against_all_outcomes(calls, first, second, epsilon):
    if first == second:
        return
    one, other = (binom.pmf(np.arange(calls + 1), calls, share) for share in (first, second))
    factor = math.exp(epsilon)
    brute = max(np.maximum(one - factor * other, 0).sum(), np.maximum(other - factor * one, 0).sum())
    assert binomial_delta(calls, first, second, epsilon) == pytest.approx(brute, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize(("calls", "first", "second"), [(1, 0.5, 0.4), (99, 0.5, 0.4558), (3, 0.9, 0.2)])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_epsilon_of_binomials_inverts_delta(calls, first, second, delta):
    epsilon = binomial_epsilon(calls, first, second, delta)
    assert binomial_delta(calls, first, second, epsilon) == pytest.approx(delta, rel=1e-6)
    assert binomial_epsilon(calls, second, first, delta) == pytest.approx(epsilon)
    assert binomial_epsilon(calls, first, first, delta) == 0.0


@pytest.mark.parametrize("calls", [1, 2, 5])
@pytest.mark.parametrize("call_epsilon", [0.1, 1.0, 3.0])
def test_optimal_composition_is_what_randomised_responses_lose(calls, call_epsilon):
    """All sequences of answers, one by one; and no answers of another mechanism of this epsilon lose more."""
    yes = 1 / (1 + math.exp(-call_epsilon))
    for epsilon in (0.0, 0.3, 0.7 * calls * call_epsilon):
        brute = 0.0
        for answers in itertools.product((yes, 1 - yes), repeat=calls):
            brute += max(0.0, math.prod(answers) - math.exp(epsilon) * math.prod(1 - each for each in answers))
        assert optimal_delta(call_epsilon, calls, epsilon) == pytest.approx(brute, rel=1e-9, abs=1e-14)
        tilted = binomial_delta(calls, 0.2, 0.2 * math.exp(-call_epsilon), epsilon)
        assert tilted <= optimal_delta(call_epsilon, calls, epsilon) + 1e-14


@pytest.mark.parametrize("calls", [1, 3, 40, 2580, 10**6])
@pytest.mark.parametrize("call_epsilon", [1e-3, 0.05, 2.0])
def test_optimal_composition_is_below_every_other(calls, call_epsilon):
    delta = 1e-6
    advanced = math.sqrt(2 * calls * math.log(1 / delta)) * call_epsilon
    advanced += calls * call_epsilon * math.expm1(call_epsilon)
    concentrated = zcdp_epsilon(calls * call_epsilon**2 / 2, delta)
    found = optimal_epsilon(call_epsilon, calls, delta)
    assert found <= min(calls * call_epsilon, advanced, concentrated) * (1 + 1e-9)


@pytest.mark.parametrize("calls", [1, 7, 4096])
@pytest.mark.parametrize("epsilon", [0.25, 6.0, 64.0])
def test_largest_call_epsilon_spends_the_budget(calls, epsilon):
    call = largest_call_epsilon(epsilon, 1e-6, calls)
    assert call >= epsilon / calls
    assert optimal_epsilon(call, calls, 1e-6) == pytest.approx(epsilon, rel=1e-6)
    assert largest_call_epsilon(epsilon, 0.0, calls) == epsilon / calls
    assert optimal_epsilon(call, calls, 0.0) == calls * call
    assert optimal_epsilon(math.inf, calls, 1e-6) == math.inf

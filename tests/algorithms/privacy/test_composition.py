"""Composition of calls: two Binomials against sums over all outcomes, and optimal composition against brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dpregret.algorithms.privacy.budget import (
    binomial_delta,
    binomial_epsilon,
    largest_call_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from dpregret.algorithms.privacy.selection import zcdp_epsilon


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

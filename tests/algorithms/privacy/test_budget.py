"""Calibration against closed forms and dp-accounting; laws of noise; the black-box audit against known losses."""

import itertools
import math
from itertools import islice

import dp_accounting
import numpy as np
import pytest
from drawn import generators
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binom

from dpregret.algorithms.online.ftal import printed_scale
from dpregret.algorithms.privacy import (
    Budget,
    Joint,
    NoiseDistribution,
    NoisePlan,
    Release,
    WindowTree,
    calibrate,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    largest_within,
    root_mean_square_norm,
    smallest_epsilon,
    unit_noise,
)
from dpregret.algorithms.privacy.audit import SIGNIFICANCE, audit, largest_probability, least_probability
from dpregret.algorithms.privacy.budget import (
    binomial_delta,
    binomial_epsilon,
    largest_call_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from dpregret.algorithms.privacy.selection import zcdp_epsilon
from dpregret.numerics.sums import vecdot

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


def test_printed_gaussian_scale_is_loose_by_the_stated_factors():
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


def test_edges():
    for distribution in ("gamma", "gaussian"):  # no privacy costs no noise
        assert calibrate(distribution, Budget(math.inf), 2.0, 5) == 0.0
        assert Release(distribution, 0.0, 2.0, 5).epsilon(1e-6) == math.inf
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


@pytest.mark.parametrize("dimension", [1, 4, 32])
def test_gamma_radius_and_direction(dimension):
    noise = unit_noise("gamma", generators(20, 7), 500, dimension).reshape(-1, dimension)
    radius = np.linalg.norm(noise, axis=1)
    assert stats.kstest(radius, stats.gamma(dimension).cdf).pvalue > 1e-3
    share = (noise[:, 0] / radius) ** 2  # Beta(1/2, (d - 1)/2) for a uniform direction
    if dimension > 1:
        assert stats.kstest(share, stats.beta(0.5, (dimension - 1) / 2).cdf).pvalue > 1e-3
    else:
        assert stats.kstest(noise[:, 0], stats.laplace.cdf).pvalue > 1e-3


def plain_noise(distribution, generator, rounds, dimension):
    """What one run draws, and in which order, (rounds, dimension)."""
    if distribution == "gaussian":
        return generator.standard_normal((rounds, dimension))
    if distribution == "gamma":
        direction = generator.standard_normal((rounds, dimension))
        radius = generator.standard_gamma(dimension, rounds)
        return direction * (radius / np.sqrt(vecdot(direction, direction)))[:, None]
    return generator.standard_exponential((rounds, dimension)) - generator.standard_exponential((rounds, dimension))


@pytest.mark.parametrize("dimension", [1, 2, 3, 8, 29])
@pytest.mark.parametrize("distribution", ["gaussian", "gamma", "laplace"])
def test_compiled_draws_are_those_of_the_definition(distribution, dimension):
    """Bits and the state left behind of each run's own generator, over blocks of odd lengths and often enough to meet
    tails of the ziggurats.
    """
    compiled, plain = generators(3, 7), generators(3, 7)
    for rounds in (64, 1, 7, 3001):
        drawn = unit_noise(distribution, compiled, rounds, dimension)
        defined = [plain_noise(distribution, each, rounds, dimension) for each in plain]
        assert np.array_equal(drawn, np.stack(defined, axis=1))
    assert [each.bit_generator.state for each in compiled] == [each.bit_generator.state for each in plain]


@pytest.mark.parametrize("distribution", ["gaussian", "gamma", "laplace"])
def test_root_mean_square_norm(distribution):
    noise = unit_noise(distribution, generators(20, 7), 2000, 5)
    assert np.sqrt(np.vecdot(noise, noise).mean()) == pytest.approx(root_mean_square_norm(distribution, 5), rel=0.02)


@pytest.mark.parametrize("distribution", ["gaussian", "gamma", "laplace"])
def test_a_joint_generator_draws_all_runs_independently(distribution: NoiseDistribution) -> None:
    """Also beyond one draw a round (a window of 16): no two runs share one, and each has the law of its own."""
    runs, dimension = 4001, 3
    plan = NoisePlan(distribution, [WindowTree(16)], [1.0], 1.0, dimension)
    joint = np.concatenate(list(islice(plan.blocks(Joint(np.random.default_rng(5), runs)), 2)))[:, 0]
    separate = np.concatenate(list(islice(plan.blocks([np.random.default_rng([5, run]) for run in range(runs)]), 2)))
    assert joint.shape == (128, runs, dimension)
    squares = np.square(joint).mean(axis=(1, 2)) / np.square(separate[:, 0]).mean(axis=(1, 2))
    assert np.abs(squares - 1).max() < 0.2
    flat = joint.swapaxes(0, 1).reshape(runs, -1)
    together = (flat[:-1] * flat[1:]).mean(axis=0) / np.square(flat).mean(axis=0)
    assert np.abs(together).max() < 0.15
    assert len(np.unique(flat[:, -1])) == runs


RUNS = 40_000


def inputs(
    distribution: str, shift: float, features: int = 1, runs: int = RUNS, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    first, second = (getattr(generator, distribution)(size=(runs, features)) for _ in range(2))
    return first, second + shift


def test_bounds_are_below_the_truth_and_near_it() -> None:
    for mu in (0.5, 1.0, 3.0):
        assert 0.8 * mu - 0.05 <= audit(*inputs("normal", mu)).mu <= mu
    for features in (1, 3):  # two frequencies of 20,000 runs at 4.9 standard errors each; rare events for several
        assert 0.7 * 0.5 * features <= audit(*inputs("laplace", 0.5, features)).epsilon <= 0.5 * features


def test_many_weak_features_are_put_together() -> None:
    first, second = inputs("normal", 0.25, 16)  # |shift| = 1
    assert audit(first, second).mu > 0.8
    assert audit(first[:, :1], second[:, :1]).mu < 0.25


def test_epsilon_is_for_its_delta() -> None:
    first, second = inputs("normal", 2.0)
    for delta in (1e-3, 1e-2, 0.1):
        found = audit(first, second, delta)
        assert found.epsilon > 0
        assert gaussian_delta(found.epsilon, 2.0) > delta  # so (found.epsilon, delta) is really not kept


def test_a_leak_of_probability_delta_is_allowed_at_delta_only() -> None:
    generator = np.random.default_rng(3)
    first = (generator.random((RUNS, 1)) < 0.01).astype(float)
    second = np.zeros((RUNS, 1))
    assert audit(first, second).epsilon > 2
    assert audit(first, second, 0.011).epsilon == 0


def test_inputs_that_are_told_apart_for_certain_prove_what_their_number_allows() -> None:
    found = audit(np.zeros((RUNS, 2)), np.ones((RUNS, 2)))
    assert found.event == found.mu_event == (1.0, 0.0)
    most = math.log((SIGNIFICANCE / 4) ** (2 / RUNS) / (1 - (SIGNIFICANCE / 4) ** (2 / RUNS)))
    assert found.epsilon == pytest.approx(most, rel=1e-9)


@pytest.mark.parametrize("distribution", ["normal", "laplace", "standard_cauchy"])
def test_equal_inputs_prove_nothing(distribution: str) -> None:
    for seed in range(40):
        found = audit(*inputs(distribution, 0.0, 3, 2_000, seed))
        assert found.epsilon == found.mu == 0
    fitted = audit(*inputs(distribution, 0.0, 150, 400, 0))  # its statistic tells the runs apart that it was made of
    assert fitted.epsilon == fitted.mu == 0


def test_lowest_bits_are_not_looked_at() -> None:
    first, second = inputs("normal", 0.0)
    assert audit(np.round(first, 9), np.round(second, 9) + 1e-12).epsilon == 0


@pytest.mark.parametrize("hits", [0, 1, 17, 99, 100])
def test_bounds_are_those_of_clopper_and_pearson(hits: int) -> None:
    exact = stats.binomtest(hits, 100).proportion_ci(0.9, method="exact")
    assert float(least_probability(np.array(hits), 100, 0.05)) == pytest.approx(exact.low, abs=1e-12)
    assert float(largest_probability(np.array(hits), 100, 0.05)) == pytest.approx(exact.high, abs=1e-12)


def test_inputs_must_be_comparable() -> None:
    with pytest.raises(ValueError, match=r"one shape and at least 100 runs are needed, got \(200, 1\), \(200, 2\)"):
        audit(np.zeros((200, 1)), np.zeros((200, 2)))
    with pytest.raises(ValueError, match="at least 100 runs"):
        audit(np.zeros((99, 1)), np.zeros((99, 1)))

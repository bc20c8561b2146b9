"""The black-box audit against mechanisms whose loss is known."""

import math

import numpy as np
import pytest
from scipy import stats

from dpregret.algorithms.privacy import gaussian_delta
from dpregret.algorithms.privacy.audit import SIGNIFICANCE, audit, largest_probability, least_probability

RUNS = 40_000


def inputs(
    distribution: str, shift: float, features: int = 1, runs: int = RUNS, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    first, second = (getattr(generator, distribution)(size=(runs, features)) for _ in range(2))
    return first, second + shift


@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
def test_gaussian_bound_is_below_the_truth_and_near_it(mu: float) -> None:
    found = audit(*inputs("normal", mu)).mu
    assert 0.8 * mu - 0.05 <= found <= mu


@pytest.mark.parametrize("features", [1, 3])
def test_laplace_bound_is_below_the_truth_and_near_it(features: int) -> None:
    found = audit(*inputs("laplace", 0.5, features)).epsilon
    # two frequencies of 20,000 runs at 4.9 standard errors each; rare events for several features
    assert 0.7 * 0.5 * features <= found <= 0.5 * features


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

"""Calibration against closed forms, published anchors and dp-accounting."""

import math

import dp_accounting
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize("nodes", [1, 4])
def test_ledger_is_not_below_a_general_accountant(nodes):
    release = Release("gaussian", 3.0, 1.0, nodes)
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(3.0), nodes)
    assert release.epsilon(1e-5) == pytest.approx(accountant.get_epsilon(1e-5), rel=1e-3)


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
    from dpregret.algorithms.online.noise import printed_scale

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

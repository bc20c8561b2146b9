"""Constants of Algorithm 1 and what they cost; the exponential mechanism on groups."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import Selection, draw_group
from dpregret.algorithms.privacy.switching import CALIBRATIONS, Switching


def plan(variant: str, experts: int = 1024, epsilon: float = 1.0, horizon: int = 2**17, best: float = 0.0) -> Switching:
    return Switching(experts, horizon, best, Budget(epsilon, 1e-6), variant)


def test_constants_of_the_theorem() -> None:
    """d = 2^10, T = 2^17, eps = 1, beta = 0.05, by hand."""
    pure, printed = plan("pure"), plan("printed-pure")
    assert pure.switches == 6 * 10 + 72
    assert pure.eta == pytest.approx(1 / 264)
    log_term = math.log(2 * 2.0**34 / 0.05)
    assert pure.threshold == pytest.approx(4 * 264 + 16 * log_term)
    assert printed.threshold == pytest.approx(4 * 264 + 8 * log_term)
    assert pure.bound() == pytest.approx(133 * (4 * 264 + 32 * log_term + 1))
    assert math.isnan(printed.bound())
    approximate = plan("approximate")
    assert approximate.eta == pytest.approx(1 / (4 * math.sqrt(2 * 132 * math.log(1e6))))
    assert plan("starved-pure").switches == 60
    assert plan("practical-zcdp").switches == 24


@example(variant="practical-zcdp", experts=2, epsilon=6.0, horizon=2)
@given(
    variant=st.sampled_from(sorted(CALIBRATIONS)),
    experts=st.integers(2, 2**20),
    epsilon=st.floats(0.01, 20),
    horizon=st.integers(2, 2**22),
)
def test_no_variant_spends_more_than_its_budget(variant: str, experts: int, epsilon: float, horizon: int) -> None:
    made = plan(variant, experts, epsilon, horizon)
    assert made.delivered_epsilon() <= epsilon * (1 + 1e-9)
    if CALIBRATIONS[variant].accounting != "advanced":
        assert made.delivered_epsilon() == pytest.approx(epsilon, rel=1e-6)


def test_only_pure_variants_work_without_delta() -> None:
    assert Switching(16, 100, 0.0, Budget(1.0), "pure").delivered_epsilon() == pytest.approx(1)
    for variant in ("approximate", "zcdp", "starved-zcdp"):
        with pytest.raises(ValueError, match=f"variant {variant} needs delta > 0"):
            Switching(16, 100, 0.0, Budget(1.0), variant)


def test_without_privacy_there_is_no_slack() -> None:
    free = Switching(16, 100, 7.0, Budget(math.inf), "pure")
    assert (free.threshold, free.draw_scale, free.accuracy) == (7.0, 0.0, 0.0)


def test_draws_have_exact_probabilities() -> None:
    sizes, scores, eta = np.array([5.0, 1.0, 2.0]), np.array([3.0, 0.0, 1.0]), 0.8
    distribution = sizes * np.exp(-eta * scores / 2)
    draws = [draw_group(np.random.default_rng([5, run]), sizes, scores, 2 / eta) for run in range(8_000)]
    counts = np.bincount(draws, minlength=3)
    assert stats.chisquare(counts, distribution / distribution.sum() * len(draws)).pvalue > 1e-4
    fair = [draw_group(np.random.default_rng([6, run]), sizes, np.array([1.0, 0.0, 0.0]), 0.0) for run in range(3000)]
    assert set(fair) == {1, 2}
    assert np.mean(np.array(fair) == 2) == pytest.approx(2 / 3, abs=0.03)


def test_both_conventions_of_the_exponential_mechanism() -> None:
    """Worst log ratio and its range over all neighbouring scores on a grid, P ~ exp(-score / scale)."""
    eta = 0.7
    for scale, convention in ((2 / eta, 1.0), (1 / eta, 2.0)):
        worst = spread = 0.0
        base = np.zeros(3)
        for shift in itertools.product([0.0, 0.5, 1.0], repeat=3):
            for down in itertools.product([0.0, 0.5, 1.0], repeat=3):
                one = np.exp(-(base + shift) / scale)
                other = np.exp(-(base + down) / scale)
                ratio = np.log(one / one.sum()) - np.log(other / other.sum())
                worst, spread = max(worst, float(np.abs(ratio).max())), max(spread, float(np.ptp(ratio)))
        assert worst <= convention * eta + 1e-12
        assert spread == pytest.approx(convention * eta)  # bounded range: what the zCDP price rests on
        ledger = Selection("gumbel", scale, 1.0, 1)
        assert ledger.epsilon(0.0) == pytest.approx(convention * eta)
        assert ledger.rho() == pytest.approx((convention * eta) ** 2 / 8)


def test_only_what_is_proved_has_a_bound() -> None:
    finite = {variant for variant in CALIBRATIONS if math.isfinite(plan(variant).bound())}
    assert finite == {"pure", "approximate", "zcdp"}

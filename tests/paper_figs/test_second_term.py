"""The share of a second term: found where it is known, bounded from above as often as its interval says."""

import numpy as np
import pytest
from scipy import optimize

from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.validation.simulate import own_and_common

STEP = 0.25
AXIS = np.log(2.0 ** np.arange(8, 15))
LAW = 0.5 * AXIS + np.log(AXIS)


def two_terms(share: float, step: float = STEP, axis: np.ndarray = AXIS) -> np.ndarray:
    """Means of a law with a second term that makes this share of the last cell."""
    law = 0.5 * axis + np.log(axis)
    return np.exp(law) * (1 - share + share * np.exp(step * (axis - axis.max())))


def noisy(means: np.ndarray, runs: int, spread: float, seed: int) -> np.ndarray:
    noise = own_and_common(np.random.default_rng(seed), (runs, len(means)))
    return means * np.exp(spread * np.sqrt(0.5) * noise - spread**2 / 2)


@pytest.mark.parametrize("step", [STEP, -STEP])
@pytest.mark.parametrize("share", [0.0, 0.15, 0.6, 1.0])
def test_without_noise_the_share_is_exact(share: float, step: float) -> None:
    found = fits.second_term(np.tile(two_terms(share, step), (4, 1)), AXIS, LAW, step)
    assert found == pytest.approx((share, share, share), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_share_is_that_of_least_squares_without_negative_coefficients(seed: int) -> None:
    """Also where the free coefficients are negative: cells that bend the other way have no second term at all."""
    axis = np.sort(np.random.default_rng(seed).uniform(3, 9, size=6))
    bent = np.exp((seed - 1.5) * 0.05 * (axis - axis.mean()) ** 2)
    responses = noisy(bent, 8, 0.1, seed)
    ratio = responses.mean(axis=0)
    growth = np.exp(STEP * (axis - axis.max()))
    (first, second), _ = optimize.nnls(np.stack([np.ones(6), growth], axis=1) / ratio[:, None], np.ones(6))
    found = fits.second_term(responses, axis, np.zeros(6), STEP)
    assert found.value == pytest.approx(second / (first + second), abs=1e-9)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_the_scale_of_responses_and_the_unit_of_the_variable_do_not_matter() -> None:
    responses = noisy(two_terms(0.3), 8, 0.1, seed=3)
    first = fits.second_term(responses, AXIS, LAW, STEP)
    assert fits.second_term(1e9 * responses, AXIS + 5.0, LAW - 700.0, STEP) == pytest.approx(first)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_the_largest_share_covers_the_true_one(share: float) -> None:
    """An upper end of a 95 % interval is below the truth in 2.5 % of simulations: at most 16 of 300 with 1 in 10^4."""
    ends = [fits.second_term(noisy(two_terms(share), 16, 0.1, seed), AXIS, LAW, STEP).high for seed in range(300)]
    assert sum(end < share - 1e-12 for end in ends) <= 16
    assert np.median(ends) < share + 0.35


def test_a_bootstrap_of_the_whole_fit_agrees() -> None:
    responses = noisy(two_terms(0.4), 12, 0.05, seed=11)
    found = fits.second_term(responses, AXIS, LAW, STEP)
    shares = []
    for counts in fits.resampling_counts(12, 400):
        again = np.repeat(responses, counts.astype(int), axis=0)
        shares.append(fits.second_term(again, AXIS, LAW, STEP).value)
    reach = fits.t_quantile(12) * np.std(shares) * np.sqrt(12 / 11)
    assert found.high - found.value == pytest.approx(reach, rel=0.15)


def test_few_cells_and_negative_means_have_no_share() -> None:
    with pytest.raises(fits.NoExponent, match="four cells"):
        fits.second_term(np.ones((4, 3)), AXIS[:3], LAW[:3], STEP)
    with pytest.raises(fits.NoExponent, match="positive"):
        fits.second_term(-np.ones((4, 7)), AXIS, LAW, STEP)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.validation.simulate import own_and_common

HORIZONS = 2.0 ** np.arange(8, 16)


def noisy(law: np.ndarray, runs: int, spread: float, seed: int, sets: int = 1) -> np.ndarray:
    """(sets, runs, cells) log-normal responses of mean `law`; half of the variance is common to a run's cells."""
    noise = own_and_common(np.random.default_rng(seed), (sets, runs, len(law)))
    return law * np.exp(spread * np.sqrt(0.5) * noise - spread**2 / 2)


def test_without_noise_everything_is_exact() -> None:
    axis, law = np.log(HORIZONS), 2 * HORIZONS**0.5 * np.log(HORIZONS)
    fit = fits.fit_power(np.tile(law, (4, 1)), axis, np.log(axis), 0.5)
    found = fit.log_aware.value, fit.log_aware.high - fit.log_aware.low, *fit.local
    assert found == pytest.approx((0.5, *[0.0] * 8), abs=1e-12)
    assert fit.raw.value == pytest.approx(np.polyfit(axis, np.log(law), 1)[0])


@pytest.mark.parametrize(("runs", "cells", "said"), [(8, 3, "3 usable cells, 4 needed"), (1, 5, "at least two")])
def test_too_few_cells_or_runs_give_no_exponent(runs: int, cells: int, said: str) -> None:
    with pytest.raises(fits.NoExponent, match=said):
        fits.fit_power(np.ones((runs, cells)), np.arange(float(cells)), np.zeros(cells), 0.0)


IRREGULAR = np.array([1.0, 2.0, 2.5, 4.0, 7.0])
RATIO = np.array([0.3, -0.1, 0.4, 0.2, 1.1])


def test_ends_are_the_slopes_without_an_end_cell() -> None:
    fit = fits.fit_power(np.exp(np.tile(RATIO, (3, 1))), IRREGULAR, np.zeros(5), 0.0)
    ends = [np.polyfit(IRREGULAR[1:], RATIO[1:], 1)[0], np.polyfit(IRREGULAR[:-1], RATIO[:-1], 1)[0]]
    assert (fit.end_low, fit.end_high) == pytest.approx((min(ends), max(ends)))


def test_local_slopes_stand_in_the_middle_and_skip_equal_coordinates() -> None:
    coordinate = np.array([1.0, 2.0, 2.0, 5.0])
    middles, slopes = fits.local_slopes(np.array([0.0, 3.0, 4.0, 10.0]), coordinate)
    assert middles.tolist() == [1.5, 3.5]
    assert slopes.tolist() == [3.0, 2.0]


def test_interval_is_that_of_a_plain_bootstrap() -> None:
    responses = noisy(IRREGULAR, 6, 0.2, seed=8)[0]
    law = 0.3 * IRREGULAR**2
    value, low, high = fits.slope_intervals(responses, IRREGULAR, law, replicates=40)
    slopes = []
    for counts in fits.resampling_counts(6, 40):
        chosen = np.repeat(responses, counts.astype(int), axis=0)
        assert len(chosen) == 6
        slopes.append(np.polyfit(IRREGULAR, np.log(chosen.mean(axis=0)), 1)[0])
    reach = stats.t(5).ppf(0.975) * np.std(slopes) * np.sqrt(6 / 5)
    assert float(value) == pytest.approx(np.polyfit(IRREGULAR, np.log(responses.mean(axis=0)) - law, 1)[0])
    assert (float(value - low), float(high - value)) == pytest.approx((reach, reach))


def test_rare_replicates_below_zero_are_left_out_and_many_are_refused() -> None:
    """One run in twelve pulls a cell below zero when it is drawn several times."""
    responses = np.ones((12, 4))
    responses[0, 2] = -1.5
    assert np.isfinite(fits.slope_intervals(responses, np.arange(4.0))).all()
    for least, said in ((-9.0, "not resolved from zero"), (-11.0, "not positive")):
        responses[0, 2] = least
        with pytest.raises(fits.NoExponent, match=said):
            fits.slope_intervals(responses, np.arange(4.0))


def test_data_sets_and_functionals_taken_together_are_found_as_if_alone() -> None:
    """More data sets than one block holds; in the first, some replicates are not positive."""
    responses = noisy(np.ones(4), 12, 0.2, seed=4, sets=fits.IN_CACHE + 3)
    responses[0] = 1.0
    responses[0, 0, 2] = -1.5
    weights = np.stack([fits.slope_weights(np.arange(4.0)), np.full(4, 0.25)])
    for each, together in zip(weights, fits.bootstrap_intervals(responses, weights, 200), strict=True):
        alone = [fits.bootstrap_intervals(own, each[None], 200)[0] for own in responses]
        assert np.transpose(alone) == pytest.approx(np.array(together), rel=1e-12)


def test_means_have_student_intervals() -> None:
    samples = np.array([0.2, 1.5, 0.9, 3.1, 1.1])
    for comparisons in (1, 7):
        found = fits.mean_interval(samples, comparisons)
        known = stats.ttest_1samp(samples, 0.0).confidence_interval(1 - 0.05 / comparisons)
        assert (found.value, found.low, found.high) == pytest.approx((samples.mean(), known.low, known.high))
    assert fits.mean_interval(samples[:2]).value == pytest.approx(0.85)
    with pytest.raises(fits.NoExponent, match=r"^1 run: an interval needs at least two$"):
        fits.mean_interval(samples[:1])


def test_comparison_of_laws_is_that_of_two_least_squares() -> None:
    horizons, means = np.array([4.0, 16.0, 32.0, 256.0]), np.array([0.3, 0.8, 0.7, 1.9])
    logs = np.log(horizons)
    by_log, _ = optimize.curve_fit(lambda _, c, s: (c + s * logs) / means, logs, np.ones(4))
    by_power, _ = optimize.curve_fit(lambda _, c, a: np.exp(c + a * logs) / means, logs, np.ones(4))
    residuals = [
        np.square((by_log[0] + by_log[1] * logs) / means - 1).sum(),
        np.square(np.exp(by_power[0] + by_power[1] * logs) / means - 1).sum(),
    ]
    octave, increments, delta = fits.compare_log_law(horizons, means)
    assert delta == pytest.approx(4 * np.log(residuals[1] / residuals[0]), rel=1e-4)
    assert octave == pytest.approx(by_log[1] * np.log(2), rel=1e-5)
    assert increments == pytest.approx((0.25, -0.1, 0.4))
    for wrong in (means[:3], np.array([0.3, 0.0, 0.7, 1.9])):
        with pytest.raises(fits.NoExponent, match=r"^the comparison of laws needs four cells with positive mean$"):
            fits.compare_log_law(horizons[: len(wrong)], wrong)


def planted_events(probability: float, runs: int, simulations: int = 400) -> np.ndarray:
    """A law T^0.5 in five cells, half of whose mean comes from rare events."""
    generator, shape = np.random.default_rng(5), (simulations, runs, 5)
    happens = generator.random(shape) < probability
    noise = 0.5 + 0.02 * generator.normal(size=shape) + happens * 0.5 / probability
    return np.exp(0.5 * np.log(2.0) * np.arange(5)) * noise


@pytest.mark.parametrize(("probability", "runs", "most"), [(0.02, 32, 0.85), (0.02, 16, 0.88), (0.1, 8, 0.91)])
def test_intervals_of_responses_ruled_by_rare_runs_hold_the_truth(
    monkeypatch: pytest.MonkeyPatch, probability: float, runs: int, most: float
) -> None:
    """By the bootstrap alone they do so in at most the share `most`."""
    responses, axis = planted_events(probability, runs), np.log(2.0) * np.arange(5)

    def coverage() -> float:
        _, low, high = fits.slope_intervals(responses, axis, replicates=300)
        return float(((low <= 0.5) & (high >= 0.5)).mean())

    assert coverage() > 0.92
    monkeypatch.setattr(fits, "RARE", 2.0)
    assert coverage() < most


def test_ordinary_runs_are_not_called_rare_and_keep_their_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    axis = np.log(2.0) * np.arange(6)
    responses = noisy(np.exp(0.5 * axis), 16, 0.42, seed=1, sets=300)
    called = fits.largest_run(responses) > fits.RARE
    assert called.mean() < 0.05
    found = fits.slope_intervals(responses[~called], axis, replicates=100)
    monkeypatch.setattr(fits, "RARE", 2.0)
    assert np.array_equal(found, fits.slope_intervals(responses[~called], axis, replicates=100))


def test_share_of_the_largest_run_is_that_of_its_own_squared_deviations() -> None:
    responses = np.ones((16, 4))
    level = np.linspace(1, 2, 16)[:, None]  # of the run's own in all cells
    assert fits.largest_run(responses) == fits.largest_run(responses * level) == 0.0
    responses[3, 1] = 5.0
    for scale in (1.0, 1e6):
        assert fits.largest_run(scale * responses) == pytest.approx(15 / 16)


def test_level_is_the_mean_logarithm_of_the_means() -> None:
    responses = np.random.default_rng(2).gamma(50.0, size=(20, 3)) * np.array([1.0, 10.0, 100.0])
    found = fits.level(responses)
    assert found.value == pytest.approx(np.log(responses.mean(axis=0)).mean())
    error = (responses / responses.mean(axis=0)).mean(axis=1).std(ddof=1) / np.sqrt(20)  # to first order
    assert found.high - found.value == pytest.approx(stats.t(19).ppf(0.975) * error, rel=0.1)


def test_the_scatter_of_sets_is_the_t_interval_of_least_squares() -> None:
    generator = np.random.default_rng(5)
    axis = np.sort(generator.normal(size=9))
    means = 0.3 * axis + 0.1 * generator.normal(size=9)
    responses = np.exp(means + 1e-8 * generator.normal(size=(6, 9)))
    plain = fits.fit_power(responses, axis, np.zeros(9), 0.0)
    over_sets = fits.fit_power(responses, axis, np.zeros(9), 0.0, scattered=True)
    line = stats.linregress(axis, means)
    half = stats.t.ppf(0.975, 7) * line.stderr
    assert over_sets.raw.value == pytest.approx(line.slope, abs=1e-6)
    assert (over_sets.raw.low, over_sets.raw.high) == pytest.approx((line.slope - half, line.slope + half), rel=1e-6)
    assert plain.raw.high - plain.raw.low < 1e-6
    assert (over_sets.samples, plain.samples) == (9 - 1, 6), "one more than the degrees of freedom"
    wide = np.exp(means + np.linspace(-1, 1, 6)[:, None] * axis)
    assert fits.fit_power(wide, axis, np.zeros(9), 0.0, scattered=True).samples == 6, "the runs differ by more"


def test_halves_share_the_middle_of_an_odd_number_and_need_an_extent() -> None:
    axis = np.arange(5.0)
    responses = np.exp(np.tile(np.array([0.0, 1.0, 2.0, 2.0, 2.0]), (4, 1)))
    fit = fits.fit_power(responses, axis, np.zeros(5), 0.0)
    assert (fit.lower.value, fit.upper.value, fit.bend.value) == pytest.approx((1.0, 0.0, -1.0))
    flat = fits.fit_power(responses[:, :4], np.array([1.0, 1.0, 2.0, 3.0]), np.zeros(4), 0.0)
    assert np.isnan(flat.bend.value)


@settings(max_examples=30)
@given(power=st.floats(-1, 2), log_power=st.floats(0, 2.5), seed=st.integers(0, 2**31))
def test_planted_law_is_recovered_within_two_hundredths(power: float, log_power: float, seed: int) -> None:
    law = 3 * HORIZONS**power * np.log(HORIZONS) ** log_power
    responses = noisy(law, 64, 0.05, seed)[0]
    fit = fits.fit_power(responses, np.log(HORIZONS), log_power * np.log(np.log(HORIZONS)), power)
    assert fit.log_aware.value == pytest.approx(power, abs=0.02)
    assert fit.normalised.value == pytest.approx(0.0, abs=0.02)
    assert fit.end_low <= fit.end_high


# A second term: found where it is known, bounded from above as often as its interval says


STEP = 0.25
AXIS = np.log(2.0 ** np.arange(8, 15))
LAW = 0.5 * AXIS + np.log(AXIS)


def two_terms(share: float, step: float = STEP, axis: np.ndarray = AXIS) -> np.ndarray:
    """Means of a law with a second term that makes this share of the last cell."""
    law = 0.5 * axis + np.log(axis)
    return np.exp(law) * (1 - share + share * np.exp(step * (axis - axis.max())))


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
    responses = noisy(bent, 8, 0.1, seed)[0]
    ratio = responses.mean(axis=0)
    growth = np.exp(STEP * (axis - axis.max()))
    (first, second), _ = optimize.nnls(np.stack([np.ones(6), growth], axis=1) / ratio[:, None], np.ones(6))
    found = fits.second_term(responses, axis, np.zeros(6), STEP)
    assert found.value == pytest.approx(second / (first + second), abs=1e-9)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_the_scale_of_responses_and_the_unit_of_the_variable_do_not_matter() -> None:
    responses = noisy(two_terms(0.3), 8, 0.1, 3)[0]
    first = fits.second_term(responses, AXIS, LAW, STEP)
    assert fits.second_term(1e9 * responses, AXIS + 5.0, LAW - 700.0, STEP) == pytest.approx(first)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_the_largest_share_covers_the_true_one(share: float) -> None:
    """An upper end of a 95 % interval is below the truth in 2.5 % of simulations: at most 16 of 300 with 1 in 10^4."""
    ends = [fits.second_term(noisy(two_terms(share), 16, 0.1, seed)[0], AXIS, LAW, STEP).high for seed in range(300)]
    assert sum(end < share - 1e-12 for end in ends) <= 16
    assert np.median(ends) < share + 0.35


def test_a_bootstrap_of_the_whole_fit_agrees() -> None:
    responses = noisy(two_terms(0.4), 12, 0.05, 11)[0]
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

"""The end of a range: laws that rise into the tolerance, leave it, or have no power; cells that are different sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.verdicts import SETS, Judgement, judge
from dpregret.paper_figs.validation.planted_laws import Sweep, make_claim

MIDDLE = 2.0**11.5


def bent(early: float, late: float) -> Callable[[np.ndarray, float], np.ndarray]:
    """A law of T with one power below the middle of the horizons, and another one above it."""
    return lambda t, value: 1e-3 * np.where(t < MIDDLE, (t / MIDDLE) ** early, (t / MIDDLE) ** late)


def found(early: float, late: float, bounded: bool = False) -> Judgement:
    runs = Sweep(bent(early, late), spread=0.01).frame()
    return judge(runs if bounded else runs.assign(bound=np.nan), make_claim())


@pytest.mark.parametrize(
    ("early", "late", "verdict", "said"),
    [
        (0.5, 0.5, "reproduced", "within +-0.1"),
        (0.3, 0.3, "below bound", "below -0.1"),
        (0.8, 0.8, "steeper", "there is no explicit bound"),
        (0.2, 0.5, "inconclusive", "rises into the tolerance: not below the bound yet"),
        (0.9, 0.5, "inconclusive", "falls into the tolerance: not above the bound yet"),
        (0.6, 1.2, "inconclusive", "no power on this grid"),
        (0.62, 0.38, "inconclusive", "outside the tolerance: not one power on this grid"),
        (0.1, 0.3, "below bound", "the law bends: slope -0.400, then -0.200"),
    ],
)
def test_the_late_half_has_to_agree_with_the_whole(early: float, late: float, verdict: str, said: str) -> None:
    judged = found(early, late)
    assert (judged.verdict, said in judged.reason) == (verdict, True), judged.reason
    assert judged.late == pytest.approx(late - 0.5, abs=0.05)
    assert judged.bend == pytest.approx(late - early, abs=0.08)
    assert judged.interval_over == "runs"


def test_small_budgets_are_the_end_that_a_theorem_in_eps_speaks_of() -> None:
    claim = make_claim(parameter="epsilon", rate="eps^-1", experiment="e")
    grid = tuple(2.0**power for power in range(-3, 4))

    def law(t: np.ndarray, value: float) -> np.ndarray:
        return 1e-3 * t**0.3 * (value**-1.0 if value < 1 else value**-0.5)

    judged = judge(Sweep(law, experiment="e", parameter="epsilon", values=grid, spread=0.01).frame(), claim)
    assert judged.late == pytest.approx(0, abs=0.05), "the half with the small eps"
    assert judged.bend > 0.3


def test_the_scatter_of_sets_is_the_t_interval_of_least_squares() -> None:
    generator = np.random.default_rng(5)
    axis = np.sort(generator.normal(size=9))
    means = 0.3 * axis + 0.1 * generator.normal(size=9)
    responses = np.exp(means + 1e-9 * generator.normal(size=(6, 9)))
    plain = fits.fit_power(responses, axis, np.zeros(9), 0.0)
    over_sets = fits.fit_power(responses, axis, np.zeros(9), 0.0, scattered=True)
    line = stats.linregress(axis, means)
    half = stats.t.ppf(0.975, 7) * line.stderr
    assert over_sets.raw.value == pytest.approx(line.slope, abs=1e-6)
    assert (over_sets.raw.low, over_sets.raw.high) == pytest.approx((line.slope - half, line.slope + half), rel=1e-6)
    assert plain.raw.high - plain.raw.low < 1e-6
    assert "width" in SETS


def test_halves_share_the_middle_of_an_odd_number_and_need_an_extent() -> None:
    axis = np.arange(5.0)
    responses = np.exp(np.tile(np.array([0.0, 1.0, 2.0, 2.0, 2.0]), (4, 1)))
    fit = fits.fit_power(responses, axis, np.zeros(5), 0.0)
    assert (fit.lower.value, fit.upper.value, fit.bend.value) == pytest.approx((1.0, 0.0, -1.0))
    flat = fits.fit_power(responses[:, :4], np.array([1.0, 1.0, 2.0, 3.0]), np.zeros(4), 0.0)
    assert np.isnan(flat.bend.value)

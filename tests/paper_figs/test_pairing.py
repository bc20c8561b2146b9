"""Learners with different numbers of runs in one claim, table or ratio."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpregret.paper_figs import fits
from dpregret.paper_figs.cells import NotRun, collect_cells
from dpregret.paper_figs.claims import Measure
from dpregret.paper_figs.errata import measure
from dpregret.paper_figs.gains import ratio
from dpregret.paper_figs.optima import best_regularisation
from dpregret.paper_figs.pairing import fill_missing
from dpregret.paper_figs.planted import Sweep, make_claim

OVERHEAD = make_claim(response="overhead", counterpart="ftal")


def private(runs: int, **settings: object) -> pd.DataFrame:
    return Sweep(lambda checkpoints, value: 10 * checkpoints**0.5, runs=runs, scatter=0.1, seed=5, **settings).frame()


def free(runs: int, scatter: float) -> pd.DataFrame:
    settings = {"window": 32768, "epsilon": np.inf}
    return Sweep(
        lambda checkpoints, value: 2 * checkpoints**0.5, learner="ftal", variant="plain", runs=runs, scatter=scatter,
        spread=scatter, seed=6, settings=settings,
    ).frame()  # fmt: skip


def responses(*frames: pd.DataFrame) -> np.ndarray:
    return collect_cells(pd.concat(frames, ignore_index=True), OVERHEAD).responses


def test_a_counterpart_whose_runs_are_equal_stands_for_all_of_them() -> None:
    few, many = responses(private(24), free(8, 0.0)), responses(private(24), free(24, 0.0))
    last = responses(free(8, 0.0), private(24))  # wherever their rows stand
    assert (last == few).all()
    assert few.shape == many.shape == (24, 12)
    assert few == pytest.approx(many, rel=1e-12)


def test_a_counterpart_may_have_more_or_fewer_runs() -> None:
    mine = private(9)
    assert responses(mine, free(24, 0.3)).shape == (9, 12)
    assert (responses(mine, free(24, 0.3)) == responses(mine, free(24, 0.3).query("run < 9"))).all()
    assert responses(private(24), free(9, 0.3)).shape == (24, 12)
    pairs = np.array([1.0, 2.0, 4.0, 7.0]), np.array([3.0, 5.0, np.nan, np.nan]), np.zeros(4)
    found = pairs[0] - fill_missing(*pairs)  # too few for a slope: the mean is subtracted
    assert found.mean() == pytest.approx(3.5 - 4.0)
    assert np.isnan(fill_missing(np.ones(3), np.array([1.0, np.nan, np.nan]), np.zeros(3))).sum() == 2


@pytest.mark.parametrize("pairs", [3, 8, 20])
@pytest.mark.parametrize(("correlation", "heavy"), [(0.0, False), (0.9, False), (-0.5, False), (0.9, True)])
def test_the_interval_of_a_difference_of_unequal_numbers_of_runs_holds_the_truth(
    pairs: int, correlation: float, heavy: bool
) -> None:
    generator, held, simulations, runs, found = np.random.default_rng(1), 0, 1500, 40, []
    for _ in range(simulations):
        both = generator.normal(size=(runs, 2))
        own = both[:, 0] if not heavy else np.exp(0.5 * both[:, 0]) - np.exp(0.125)
        other = correlation * own + np.sqrt(1 - correlation**2) * both[:, 1]
        known = np.where(np.arange(runs) < pairs, other, np.nan)
        estimate = fits.mean_interval(own - fill_missing(own, known, np.zeros(runs)))
        held += estimate.low <= 0 <= estimate.high
        found.append(estimate.value)
    assert 0.93 < held / simulations < 0.985, held / simulations
    paired = np.var(own - other) / pairs
    unpaired = 1 / runs + 1 / pairs - 2 * correlation / runs
    if pairs > 3 and not heavy:
        assert np.var(found) < 1.25 * min(paired, unpaired)


def test_a_counterpart_without_a_cell_is_told() -> None:
    with pytest.raises(NotRun, match=r"counterpart ftal\.plain lacks rows"):
        responses(private(6), free(4, 0.1).query("checkpoint < 1024"))


def test_ratios_errata_and_best_regularisations_use_the_runs_that_both_have() -> None:
    first, second = np.arange(2.0, 14.0), np.arange(1.0, 9.0)
    assert ratio(first, second) == ratio(first[:8], second)
    runs = pd.concat([private(12), private(5, variant="printed")], ignore_index=True)
    what = Measure.model_validate(
        {"quantity": "regret_ratio", "learner": "wdp-cocop-gamma", "variant": "printed", "against": "corrected",
         "stream": "norm-kink"}
    )  # fmt: skip
    same = runs.loc[runs["run"] < 5]
    assert measure(runs, what, "horizon") == measure(same, what, "horizon")
    tried = [
        pd.DataFrame({"run": np.arange(many), "regularisation": tuned, "regret": (np.log(tuned) - 0.2) ** 2 + 3})
        for tuned, many in ((0.5, 4), (1.0, 9), (2.0, 6), (4.0, 4))
    ]
    samples, inside = best_regularisation(pd.concat(tried))
    assert inside
    assert len(samples) == 4

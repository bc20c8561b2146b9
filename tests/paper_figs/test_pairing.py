"""Learners with different numbers of runs in one claim, table or ratio."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpregret.paper_figs import fits
from dpregret.paper_figs.cells import NotRun, best_regularisation, collect_cells
from dpregret.paper_figs.claims import Measure
from dpregret.paper_figs.errata import measure
from dpregret.paper_figs.gains import ratio
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
    assert few.shape == many.shape == (24, 12)
    assert few == pytest.approx(many, rel=1e-12)


def test_of_a_counterpart_with_fewer_runs_the_mean_is_subtracted_and_its_own_variance_is_counted() -> None:
    mine, theirs = private(24), free(9, 0.3)
    found = responses(mine, theirs)
    means = [frame.groupby("checkpoint")["regret"].mean() for frame in (mine, theirs)]
    assert found.mean(axis=0) == pytest.approx((means[0] - means[1]).to_numpy(), rel=1e-12)
    assert responses(mine.loc[mine["run"] < 9], theirs).shape == (9, 12)
    more = responses(mine.loc[mine["run"] < 9], free(24, 0.3))  # which has runs that nobody asks for
    assert more.shape == (9, 12)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_the_interval_of_a_difference_of_unequal_numbers_of_runs_holds_the_truth(correlation: float) -> None:
    generator, held, simulations, width = np.random.default_rng(1), 0, 1500, []
    for _ in range(simulations):
        both = generator.normal(size=(40, 2))
        own, other = both[:, 0], correlation * both[:, 0] + np.sqrt(1 - correlation**2) * both[:, 1]
        left = pd.DataFrame({"run": np.arange(40), "cell": 0})
        table = pd.DataFrame({"run": np.arange(10), "cell": 0, "counterpart": other[:10]})
        joined = left.merge(table, on=["run", "cell"], how="left")["counterpart"]
        samples = own - fill_missing(joined, left, ["cell"]).to_numpy()
        estimate = fits.mean_interval(samples)
        assert estimate.value == pytest.approx(own.mean() - other[:10].mean())
        held += estimate.low <= 0 <= estimate.high
        width.append(samples.var(ddof=1) / 40)
    true = 1 / 40 + 1 / 10 - 2 * correlation / 40
    assert true < np.mean(width) < true + ((2.262 / 2.023) ** 2 - 1) / 10 + 0.003  # t quantiles of 10 and of 40 runs
    assert 0.94 < held / simulations < 0.97  # ten runs of the counterpart carry the wider part


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

"""Learners with different numbers of runs in one claim, table or ratio."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpregret.paper_figs.judge.cells import NotRun, best_regularisation, collect_cells
from dpregret.paper_figs.judge.claims import Measure
from dpregret.paper_figs.judge.gains import ratio
from dpregret.paper_figs.tables.errata import measure
from dpregret.paper_figs.validation.planted_laws import Sweep, make_claim

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


def test_a_counterpart_may_have_more_runs_and_no_fewer() -> None:
    mine = private(9)
    assert responses(mine, free(24, 0.3)).shape == (9, 12)
    assert (responses(mine, free(24, 0.3)) == responses(mine, free(24, 0.3).query("run < 9"))).all()
    with pytest.raises(NotRun, match=r"counterpart ftal\.plain lacks rows"):
        responses(private(24), free(9, 0.3))


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

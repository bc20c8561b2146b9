"""Laws that hold always: a row for each learner to which one applies, and the planted mistakes that each must find."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from planted import root
from scipy import stats

from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.universal import counts_in_words, universal_checks
from dpregret.paper_figs.validation.simulate import Sweep, make_claim

LEARNER = "wdp-cocop-gamma.corrected"
BOUND, LEDGER = f"bound.horizon.{LEARNER}", f"ledger.horizon.{LEARNER}"


def file_of(*claims: Claim, **more: Any) -> ClaimsFile:
    fields: dict[str, Any] = {"claims": claims, "tables": (), "privacy_claims": {}, "problem": "online", **more}
    return ClaimsFile.model_construct(**fields)


def checks(runs: pd.DataFrame, *claims: Claim, **more: Any) -> pd.DataFrame:
    return universal_checks(runs, file_of(*claims, **more)).set_index("claim")


def test_every_learner_has_a_row_for_each_law_with_its_largest_share_and_cell() -> None:
    """The share is the largest ratio of means over all cells, by brute force; noise differs from run to run."""
    runs = Sweep(root, scatter=0.2, bound_factor=3.0).frame()
    found = checks(runs)
    assert found.index.tolist() == [BOUND, LEDGER]
    means = runs.groupby("checkpoint")[["regret", "bound"]].mean()
    ratios = means["regret"] / means["bound"]
    assert found.loc[BOUND, "share"] == pytest.approx(ratios.max(), rel=1e-12)
    assert f"T = {ratios.idxmax()}," in found.loc[BOUND, "where"]
    assert found.loc[BOUND, ["verdict", "cells", "runs", "origin"]].tolist() == ["holds", len(ratios), 16, "automatic"]
    assert found.loc[LEDGER, ["verdict", "share", "cells"]].tolist() == ["holds", 1.0, 1]
    assert (
        counts_in_words(found.reset_index().to_dict("records"))
        == f"1 explicit bound in {len(ratios)} cells: holds; 1 ledger in 1 cell: holds"
    )


def test_a_bound_below_the_largest_measured_share_is_found() -> None:
    """In one cell of many: the bound is cut there to 0.99 of the mean, which every run reaches within 0.1 %."""
    runs = Sweep(root, spread=0.001, bound_factor=1.5).frame()
    assert checks(runs).loc[BOUND, "verdict"] == "holds"
    cell = runs["checkpoint"] == 1024
    cut = runs.assign(bound=runs["bound"].where(~cell, 0.99 * runs.loc[cell, "regret"].mean()))
    found = checks(cut).loc[BOUND]
    assert (found["verdict"], found["share"]) == ("fails", pytest.approx(1 / 0.99))
    assert "T = 1024," in found["where"]


def test_a_bound_within_the_interval_of_a_mean_is_undecided() -> None:
    runs = Sweep(root, scatter=0.5, bound_factor=1.001).frame()
    assert checks(runs).loc[BOUND, "verdict"] == "inconclusive"


def test_intervals_hold_jointly_for_all_cells() -> None:
    """A bound fails below the t interval of its cell at 0.95 for all cells together, not for that one alone."""
    runs = Sweep(root, scatter=0.2, bound_factor=3.0).frame()
    cells, cell = runs["checkpoint"].nunique(), runs["checkpoint"] == 1024
    own = runs.loc[cell, "regret"]
    joint = stats.t.isf(0.025 / cells, len(own) - 1)
    assert joint > 1.2 * stats.t.isf(0.025, len(own) - 1)
    for share, verdict in ((0.99, "inconclusive"), (1.01, "fails")):
        cut = own.mean() - share * joint * own.sem()
        assert checks(runs.assign(bound=runs["bound"].where(~cell, cut))).loc[BOUND, "verdict"] == verdict


def test_a_ledger_above_its_budget_in_one_row_is_found() -> None:
    runs = Sweep(root).frame()
    runs.loc[runs.index[100], "delivered_epsilon"] *= 1.01  # a noise scale that is 1 % too small
    found = checks(runs).loc[LEDGER]
    assert (found["verdict"], found["share"]) == ("fails", pytest.approx(1.01))
    assert "privacy_claims" in found["reason"]


def test_a_failed_play_leaves_nothing_that_holds_for_all() -> None:
    runs = Sweep(root, bound_factor=3.0).frame()
    broken = runs.assign(status=np.where(runs["run"] == 0, "failed: left its set", "ok"))
    assert set(checks(broken)["verdict"]) == {"inconclusive"}


@pytest.mark.parametrize(
    ("changes", "law"),
    [
        ({"bound": np.nan}, BOUND),  # the learner states none
        ({"delivered_epsilon": np.inf}, LEDGER),  # the learner has none
        ({"epsilon": np.inf, "delivered_epsilon": np.inf}, LEDGER),  # nothing is promised
    ],
)
def test_a_law_that_does_not_apply_has_no_row(changes: dict[str, Any], law: str) -> None:
    rows = checks(Sweep(root, bound_factor=3.0).frame().assign(**changes))
    assert rows.index.tolist() == [name for name in (BOUND, LEDGER) if name != law]


def test_what_a_claim_judges_is_left_to_it() -> None:
    """A stated inequality on its experiment, and privacy on all of them; a check of the file takes nothing away."""
    runs = pd.concat([Sweep(root).frame(), Sweep(root, experiment="other").frame()], ignore_index=True)
    other = ["bound.other." + LEARNER, "ledger.other." + LEARNER]
    private = {"type": "private", "rate": None}
    stated = {"type": "stated", "bound": "explicit", "rate": None}
    assert checks(runs, make_claim(**stated)).index.tolist() == [other[0], LEDGER, other[1]]
    assert checks(runs, make_claim(**private)).index.tolist() == [BOUND, other[0]]
    assert len(checks(runs, make_claim(check="calibrated", **private))) == 4
    assert checks(runs, privacy_claims={LEARNER: "thm1"}).index.tolist() == [BOUND, other[0]]


def test_calls_are_held_against_their_bound_at_the_end_of_plays() -> None:
    runs = Sweep(root).frame().assign(projections=2.0, linear_oracles=0.5, most_calls=2.5)
    calls = f"calls.horizon.{LEARNER}"
    assert checks(runs).loc[calls, ["verdict", "share"]].tolist() == ["holds", 1.0]
    assert checks(runs.assign(most_calls=2.4)).loc[calls, "verdict"] == "fails"

"""An exact loss decides a claim that its ledger leaves open."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpregret.paper_figs.judge.result_tables import ExactLoss, write_exact_losses
from dpregret.paper_figs.judge.verdicts import judge
from dpregret.paper_figs.validation.planted_laws import Sweep, make_claim


def test_an_exact_loss_above_its_promise_refutes_the_claim_that_names_it() -> None:
    runs = Sweep(lambda checkpoints, value: np.sqrt(checkpoints), delivered=1.5).frame()
    claim = make_claim(type="private", rate=None, accounting="upper", exact="found")
    above, within = ExactLoss(4.0, 4.18, "two data sets"), ExactLoss(4.0, 4.0, "two data sets")
    found = judge(runs, claim, exact={"found": above})
    assert found.verdict == "violated"
    assert found.reason == (
        "loses eps = 4.18 where 4 is claimed, exactly: two data sets; "
        "in the runs the ledger proves at most 1.5 times the claimed eps"
    )
    assert judge(runs, claim, exact={"found": within}).verdict == "inconclusive"
    assert judge(runs, claim, exact={"other": above}).verdict == "inconclusive"
    assert judge(runs, claim).verdict == "inconclusive"
    other = make_claim(type="private", rate=None, accounting="upper")
    assert judge(runs, other, exact={"found": above}).verdict == "inconclusive"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    losses = {"a.b": ExactLoss(4.0, 4.17516, "two data sets, T = 100", 2.7), "c.d": ExactLoss(1.0, 0.5, "x", 0.5)}
    write_exact_losses(losses, tmp_path / "exact.csv")
    assert ExactLoss.read(tmp_path / "exact.csv") == losses

"""Verdicts on what a learner promises about privacy."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.judge.cells import Cells, select_rows
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.exact_losses import ROUNDING, ExactLoss
from dpregret.paper_figs.judge.judgement import Judgement, listed
from dpregret.paper_figs.judge.vocabulary import FAILS, HOLDS, INCONCLUSIVE, REPRODUCED, VIOLATED

FACTOR: Final = "factor of eps"
UPPER_ONLY: Final = "none: the ledger is an upper bound"


def judge_private(runs: pd.DataFrame, claim: Claim, cells: Cells, exact: ExactLoss | None = None) -> Judgement:
    """Delivered against claimed eps, in all rows of the claim.

    An exact ledger above the claim refutes it. One that is only an upper bound shows no violation; but a consistency
    check is about the ledger itself, and fails. `exact`: the exact loss that the claim names; it refutes the claim too.
    """
    rows = select_rows(runs, claim.learner, claim.variant, claim.experiment, claim.stream, claim.where)
    rows = rows.loc[np.isfinite(rows["epsilon"])]  # the same learner without noise promises nothing
    ratio = (rows["delivered_epsilon"] / rows["epsilon"]).to_numpy(dtype=float)
    if not len(ratio) or not np.isfinite(ratio).all():
        return Judgement(
            INCONCLUSIVE, "the runs carry no delivered epsilon", resolution_of="none: no delivered epsilon"
        )
    shown = Judgement(
        "", "", ROUNDING, resolution_of=FACTOR, runs=len(cells.responses), cells_used=listed(cells.values)
    )
    if exact is not None and exact.refutes:
        reason = f"{exact}; in the runs the ledger proves at most {ratio.max():.3g} times the claimed eps"
        return replace(shown, verdict=VIOLATED, reason=reason)
    kept, upper = ratio.max() <= 1 + ROUNDING, claim.accounting == "upper"
    if upper:
        shown = replace(shown, resolution=float("nan"), resolution_of=UPPER_ONLY)
    reason = f"delivers {ratio.min():.3g} to {ratio.max():.3g} times the claimed eps"
    if claim.kind == "check":
        return replace(shown, verdict=HOLDS if kept else FAILS, reason=reason)
    if upper and not kept:
        reason = (
            f"the ledger proves {ratio.max():.3g} times the claimed eps only: an upper bound, no violation is shown"
        )
        return replace(shown, verdict=INCONCLUSIVE, reason=reason)
    return replace(shown, verdict=REPRODUCED if kept else VIOLATED, reason=reason)

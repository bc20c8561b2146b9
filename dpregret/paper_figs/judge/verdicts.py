"""Verdicts: what the runs say about each line of a claims file, as rows of claims.csv and checks.csv."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Final

import pandas as pd

from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.bounds import judge_below, judge_stated
from dpregret.paper_figs.judge.cells import Cells, NotRun, collect_cells
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.exact_losses import NOTHING, ExactLosses
from dpregret.paper_figs.judge.judgement import Judgement
from dpregret.paper_figs.judge.privacy import judge_private
from dpregret.paper_figs.judge.runs import by_experiment
from dpregret.paper_figs.judge.slopes import judge_exponent, rate_of
from dpregret.paper_figs.judge.vocabulary import (  # fmt: skip
    CHECKS,
    FAILS,
    HOLDS,
    INCONCLUSIVE,
    NOT_RUN,
    REPRODUCED,
    SEEN_HERE,
    UP_TO_LOGS,
)

AS_CHECK: Final = {REPRODUCED: HOLDS, UP_TO_LOGS: HOLDS, SEEN_HERE: HOLDS, **{word: word for word in CHECKS}}
"""Verdict on a slope -> verdict of a consistency check, which has to match exactly: anything else fails."""


def judge_claims(
    runs: pd.DataFrame,
    claims: ClaimsFile,
    experiments: Collection[str] | None = None,
    exact: ExactLosses = NOTHING,
) -> pd.DataFrame:
    """One row per line of the claims file, in file order, claims and checks told apart by the column `kind`.

    `experiments` are those of the profile (None: whatever has rows), `exact` the losses that claims name.
    """
    parts = by_experiment(runs)
    return pd.DataFrame([
        _row(claim, judge(parts.get(claim.experiment, runs), claim, experiments, exact)) for claim in claims.claims
    ])  # fmt: skip


def judge(
    runs: pd.DataFrame, claim: Claim, experiments: Collection[str] | None = None, exact: ExactLosses = NOTHING
) -> Judgement:
    """Verdict on one line; raises ClaimsError when it does not determine its rows."""
    try:
        if experiments is not None and claim.experiment not in experiments:
            raise NotRun(f"experiment {claim.experiment} is not in this profile")
        cells = collect_cells(runs, claim)
    except NotRun as missing:
        return Judgement(NOT_RUN, str(missing), resolution_of="none: not run")
    return judge_cells(runs, claim, cells, exact)


def judge_cells(runs: pd.DataFrame, claim: Claim, cells: Cells, exact: ExactLosses = NOTHING) -> Judgement:
    """The same of a line whose cells are there."""
    if claim.type == "private":
        return judge_private(runs, claim, cells, exact.get(claim.exact))
    if claim.type in ("below", "stated"):
        return _with_level((judge_below if claim.type == "below" else judge_stated)(claim, cells), cells)
    found = _with_level(judge_exponent(runs, claim, cells), cells)
    if claim.undecided and found.verdict == INCONCLUSIVE:
        found = replace(found, reason=f"{found.reason}; {claim.undecided}")
    return replace(found, verdict=AS_CHECK.get(found.verdict, FAILS)) if claim.kind == "check" else found


def _with_level(found: Judgement, cells: Cells) -> Judgement:
    """The judgement with the level of the response, where all means are positive."""
    if not math.isnan(found.log_level):  # the fit has found it
        return found
    try:
        level = fits.level((cells.fitted() if cells.used.any() else cells).responses)
    except fits.NoExponent:
        return found
    return replace(found, log_level=level.value, log_level_low=level.low, log_level_high=level.high)


def rate_text(claim: Claim) -> str:
    """The claimed rate in plain text, such as `T^0.5 ln(T/delta)^2`, or what else is claimed."""
    if claim.type in ("below", "stated"):
        return ">= explicit bound" if claim.side == "lower" else "<= explicit bound"
    if claim.type == "private":
        return "delivered eps <= eps"
    return f"{'>= ' if claim.side == 'lower' else ''}{rate_of(claim)}"


def _row(claim: Claim, judgement: Judgement) -> dict[str, object]:
    found = {
        key: round(value, 9) + 0.0 if isinstance(value, float) else value for key, value in asdict(judgement).items()
    }  # below 1e-9 there is rounding only
    return {
        "kind": claim.kind,
        "claim": claim.id, "source": claim.source, "origin": claim.origin, "type": claim.type,
        "learner": claim.learner, "variant": claim.variant, "experiment": claim.experiment,
        "stream": claim.stream, "parameter": claim.parameter, "response": claim.response,
        "rate": rate_text(claim), "tolerance": claim.tol, **found,
        "errata": " ".join(claim.errata), "statement": claim.statement,
        "why": claim.check or ("an explicit bound" if claim.type == "below" else ""),
    }  # fmt: skip

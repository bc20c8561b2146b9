"""Verdicts by explicit bounds: held, crossed, and how far a response stays away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import FAILED, Cells, NotRun, collect_cells, coordinate, direction
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.judgement import Judgement, undecided
from dpregret.paper_figs.judge.vocabulary import FAILS, HOLDS, INCONCLUSIVE, REPRODUCED, VIOLATED
from dpregret.paper_figs.text.formats import significant

OF_ITS_SIZE: Final = 0.5
"""A response of at least this share of the bound is of the bound's size."""
FACTOR_STATED: Final = "factor of the stated bound"
ROUNDING: Final = 1e-9
"""Relative slack of quantities that are equal except for rounding."""
NO_BOUND: Final = "none: a bound is held or it is not"


@dataclass(frozen=True)
class Standing:
    """How the means of a sweep stand to an explicit bound, by intervals that hold jointly with 95 %.

    `ratios` (cells,) are mean / bound, for a lower bound bound / mean; `crossed` the values of the parameter where the
    bound is broken, `held` whether it is kept in every cell.
    """

    ratios: Array
    crossed: tuple[str, ...]
    held: bool


def standing(cells: Cells, lower: bool = False) -> Standing:
    """Compare every cell with its bound."""
    count = len(cells.values)
    means = [fits.mean_interval(cells.responses[:, cell], count) for cell in range(count)]
    values = np.array([mean.value for mean in means])
    low, high = np.array([mean.low for mean in means]), np.array([mean.high for mean in means])
    broken = high < cells.bounds if lower else low > cells.bounds
    kept = low >= cells.bounds if lower else high <= cells.bounds
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = cells.bounds / values if lower else values / cells.bounds
    return Standing(
        np.asarray(ratios, dtype=np.float64),
        tuple(f"{value:g}" for value in cells.values[broken]),
        FAILED not in cells.status and bool(kept.all()),
    )


def judge_below(claim: Claim, cells: Cells) -> Judgement:
    """Below an explicit upper bound in every cell, or above an explicit lower one in every asymptotic cell."""
    shown, lower = replace(undecided(cells), resolution_of=NO_BOUND), claim.side == "lower"
    if not np.isfinite(cells.bounds).all():
        return Judgement(shown.verdict, "the runs carry no explicit bound", resolution_of=NO_BOUND)
    cells = cells.fitted() if lower else cells
    if not len(cells.values):
        return replace(shown, reason="no cell is asymptotic")
    found = standing(cells, lower)
    noun = {"excess": "excess", "noise": "noise", "calls": "number of calls"}.get(claim.response, "regret")
    if found.crossed:
        side = "below" if lower else "above"
        return replace(shown, verdict=FAILS, reason=f"mean {noun} {side} the bound at {'; '.join(found.crossed)}")
    if found.held:
        most = f"at least {1 / found.ratios.max():.4g}" if lower else f"at most {found.ratios.max():.3g}"
        return replace(shown, verdict=HOLDS, reason=f"{most} of the bound in {len(cells.values)} cells")
    return replace(shown, reason=f"an interval of the mean {noun} contains the bound, or runs failed")


def judge_stated(claim: Claim, cells: Cells) -> Judgement:
    """A paper's own inequality, with its constants, in every cell.

    The resolution is the smallest factor by which the stated side could shrink and be seen to fail.
    """
    found = replace(judge_below(claim, cells), verdict=INCONCLUSIVE, resolution_of=FACTOR_STATED)
    if not np.isfinite(cells.bounds).all():
        return found
    held = standing(replace(cells, bounds=cells.bounds * (1 + ROUNDING)))
    most = f"up to {significant(float(held.ratios.max()), 3)} times the stated value"
    if held.crossed:
        return replace(found, verdict=VIOLATED, reason=f"{most}; exceeded at {'; '.join(held.crossed)}",
                       resolution=ROUNDING)  # fmt: skip
    if held.held:
        reason = f"{most}, in {len(cells.values)} cells"
        return replace(found, verdict=REPRODUCED, reason=reason, resolution=1 - float(held.ratios.max()))
    return found


@dataclass(frozen=True)
class Evidence:
    """The evidence of an explicit bound on a slope that exceeds its rate: `crossed` as in `Standing`; `ratio` is the
    largest share of the bound that the response has in a fitted cell."""

    crossed: tuple[str, ...]
    held: bool
    ratio: float


def evidence(runs: pd.DataFrame, claim: Claim, cells: Cells, law: Array) -> Evidence | None:
    """Compare a response that outgrows its rate with the runs' explicit bound; None where there is none to compare.

    The bound is that of the total regret (or excess risk), of which an overhead is a part; for a lower bound, the
    stream's. A bound that grows faster than the claimed law (`law`: its logarithm in the fitted cells) by more than the
    tolerance is another statement's.
    """
    lower = claim.side == "lower"
    if lower and claim.response != "noise":
        if "lower_bound" not in runs.columns:
            return None
        runs = runs.assign(bound=runs["lower_bound"])
        cells = collect_cells(runs, claim)
    totals = _totals(runs, claim, cells)
    fitted = cells.fitted()
    bounds = fitted.bounds
    if totals is None or not (np.isfinite(bounds) & (bounds > 0)).all() or not np.isfinite(totals.bounds).all():
        return None
    axis = coordinate(claim, fitted.values)
    weights = fits.slope_weights(axis)
    if direction(claim) * float((np.log(bounds) - law) @ weights) > claim.tol:
        return None
    size = fitted.regrets if claim.response == "log_slope" else fitted.responses.mean(axis=0)
    gap = np.log(bounds / size) if not lower else np.log(size / bounds)
    found = standing(totals.fitted() if lower else totals, lower)
    return Evidence(found.crossed, found.held, float(np.exp(-gap.min())))


def _totals(runs: pd.DataFrame, claim: Claim, cells: Cells) -> Cells | None:
    """The sweep of what the explicit bound is about, all cells."""
    if claim.response == "noise":
        return cells if claim.bound == "explicit" else None
    if claim.response in ("calls", "draws", "optimum"):
        return None
    response = "excess" if claim.response == "excess" else "regret"
    if claim.response == response and claim.counterpart is None and claim.side == "upper":
        return cells  # no mark but a failure matters
    whole = claim.model_copy(update={"response": response, "counterpart": None, "type": "below"})
    try:
        return collect_cells(runs, whole)
    except NotRun:
        return None

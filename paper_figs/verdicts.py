"""Verdicts: what the runs say about each claim, as rows of claims.csv."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from dpregret.core.arrays import Array
from dpregret.paper_figs import fits
from dpregret.paper_figs.cells import (
    CAPPED,
    EARLY,
    EDGE,
    FAILED,
    LENGTHS,
    SATURATED,
    Cells,
    NotRun,
    collect_cells,
    coordinate,
    direction,
    log_factor,
)  # fmt: skip
from dpregret.paper_figs.claims import Claim, ClaimsFile
from dpregret.paper_figs.formats import number
from dpregret.paper_figs.labels import labels_of
from dpregret.paper_figs.rates import Rate

REPRODUCED, BELOW, ABOVE, VIOLATED = "reproduced", "below bound", "above bound", "violated"
INCONCLUSIVE, NOT_RUN = "inconclusive", "not run"
ORDER: Final = (REPRODUCED, BELOW, ABOVE, INCONCLUSIVE, VIOLATED, NOT_RUN)
"""Verdicts as readers are told of them."""
LINEAR: Final = Rate("T", power=1.0)
FLAT: Final = Rate()
NAN = float("nan")
STATES: Final = (SATURATED, EARLY, FAILED, CAPPED, EDGE)
"""Why a cell is not fitted."""
ROUNDING: Final = 1e-6
"""Relative slack of privacy comparisons: the accountant inverts delta(eps) to about this accuracy."""


@dataclass(frozen=True)
class Judgement:
    """What was found for one claim. Numbers are NaN where there is none."""

    verdict: str
    reason: str
    fitted: float = NAN
    fitted_low: float = NAN
    fitted_high: float = NAN
    log_aware: float = NAN
    log_aware_low: float = NAN
    log_aware_high: float = NAN
    normalised: float = NAN
    normalised_low: float = NAN
    normalised_high: float = NAN
    end_low: float = NAN
    end_high: float = NAN
    local_slopes: str = ""
    per_octave: float = NAN
    increments: str = ""
    delta_aic: float = NAN
    runs: int = 0
    cells_used: str = ""
    cells_excluded: str = ""


def judge_claims(runs: pd.DataFrame, claims: ClaimsFile, experiments: Collection[str] | None = None) -> pd.DataFrame:
    """One row per claim, in file order. `experiments` are those of the profile (None: whatever has rows)."""
    return pd.DataFrame([_row(claim, judge(runs, claim, experiments)) for claim in claims.claims])


def judge(runs: pd.DataFrame, claim: Claim, experiments: Collection[str] | None = None) -> Judgement:
    """Verdict on one claim; raises ClaimsError when the claim does not determine its rows."""
    if experiments is not None and claim.experiment not in experiments:
        return Judgement(NOT_RUN, f"experiment {claim.experiment} is not in this profile")
    try:
        cells = collect_cells(runs, claim)
    except NotRun as missing:
        return Judgement(NOT_RUN, str(missing))
    if claim.type == "below":
        return _judge_below(claim, cells)
    if claim.type == "private":
        return _judge_private(runs, claim, cells)
    return _judge_exponent(claim, cells)


def _judge_exponent(claim: Claim, cells: Cells) -> Judgement:
    rate = _rate(claim)
    used = cells.used
    shown = _shown_cells(cells)
    if used.sum() < fits.MINIMUM_CELLS:
        return replace(shown, reason=_too_few(claim, cells))
    if claim.bound == "explicit" and not (cells.bounds[used] > 0).all():
        return replace(shown, reason="the runs carry no explicit bound")
    responses = cells.responses[:, used]
    axis = coordinate(claim, cells.values)
    factor = log_factor(claim, rate, cells.fitted())
    try:
        fit = fits.fit_power(responses, axis[used], factor, rate.power)
    except fits.NoExponent as nothing:
        return replace(shown, reason=f"no exponent: {nothing}")
    side = direction(claim)
    growth = fit.normalised if side > 0 else fit.normalised.reflected()
    conclusive = cells.tight or claim.scope == "instance"
    verdict, reason = decide(growth, claim.tol, conclusive, len(responses), lower=claim.side == "lower")
    low, high = sorted((side * fit.end_low, side * fit.end_high))
    if verdict == REPRODUCED and (low < -claim.tol or high > claim.tol):
        verdict = INCONCLUSIVE
        reason = (
            f"{reason}, but not without an end cell: [{number(low, 3)}, {number(high, 3)}], not one power on this grid"
        )
    judgement = replace(
        shown, verdict=verdict, reason=reason,
        fitted=fit.raw.value, fitted_low=fit.raw.low, fitted_high=fit.raw.high,
        log_aware=fit.log_aware.value, log_aware_low=fit.log_aware.low, log_aware_high=fit.log_aware.high,
        normalised=growth.value, normalised_low=growth.low, normalised_high=growth.high,
        end_low=low, end_high=high, local_slopes=_listed([side * slope for slope in fit.local]),
    )  # fmt: skip
    law = _log_law(claim, rate, cells)
    if law is None:
        return judgement
    return replace(judgement, per_octave=law.per_octave, increments=_listed(law.increments), delta_aic=law.delta_aic)


def decide(
    growth: fits.Estimate, tolerance: float, conclusive: bool, runs: int, lower: bool = False
) -> tuple[str, str]:
    """Verdict from the bound-normalised slope `growth`, oriented so that positive means 'breaks the bound'.

    `conclusive`: the stream is tight, or the claim is about this very stream; elsewhere a match is no proof. An upper
    bound is broken by growth, a `lower` one by decline, of response / bound.
    """
    interval = f"[{number(growth.low, 3)}, {number(growth.high, 3)}]"
    breaking, keeping, kept = ("falls", "grows", ABOVE) if lower else ("grows", "falls", BELOW)
    if growth.low > tolerance:
        return VIOLATED, f"response / bound {breaking}: {interval} above +{tolerance:g}"
    if growth.high < -tolerance:
        return kept, f"response / bound {keeping}: {interval} below -{tolerance:g}"
    if growth.low >= -tolerance and growth.high <= tolerance:
        if conclusive:
            return REPRODUCED, f"{interval} within +-{tolerance:g}"
        return INCONCLUSIVE, f"{interval} within +-{tolerance:g}, but the stream is not tight"
    half = (growth.high - growth.low) / 2
    if half > tolerance:
        more = int(np.ceil(runs * (half / tolerance) ** 2))
        return INCONCLUSIVE, f"interval too wide: {interval}; about {more} runs would decide"
    return INCONCLUSIVE, f"{interval} straddles {'+' if growth.value > 0 else '-'}{tolerance:g}"


def _judge_below(claim: Claim, cells: Cells) -> Judgement:
    """Below an explicit upper bound in every cell, or above an explicit lower one in every asymptotic cell."""
    if not np.isfinite(cells.bounds).all():
        return Judgement(INCONCLUSIVE, "the runs carry no explicit bound")
    shown, lower = _shown_cells(cells), claim.side == "lower"
    cells = cells.fitted() if lower else cells
    count = len(cells.values)
    if not count:
        return replace(shown, reason="no cell is asymptotic")
    means = [fits.mean_interval(cells.responses[:, cell], count) for cell in range(count)]
    ratios = np.array([estimate.value for estimate in means]) / cells.bounds
    noun = {"excess": "excess", "noise": "noise"}.get(claim.response, "regret")
    breaks = [mean.high < bound if lower else mean.low > bound for mean, bound in zip(means, cells.bounds, strict=True)]
    keeps = [
        mean.low >= bound if lower else mean.high <= bound for mean, bound in zip(means, cells.bounds, strict=True)
    ]
    broken = [f"{value:g}" for value, breaking in zip(cells.values, breaks, strict=True) if breaking]
    if broken:
        side = "below" if lower else "above"
        return replace(shown, verdict=VIOLATED, reason=f"mean {noun} {side} the bound at {'; '.join(broken)}")
    if FAILED not in cells.status and all(keeps):
        most = f"at least {ratios.min():.4g}" if lower else f"at most {ratios.max():.3g}"
        return replace(shown, verdict=REPRODUCED, reason=f"{most} of the bound in {count} cells")
    return replace(shown, reason=f"an interval of the mean {noun} contains the bound, or runs failed")


def _judge_private(runs: pd.DataFrame, claim: Claim, cells: Cells) -> Judgement:
    rows = runs.loc[
        (runs["experiment"] == claim.experiment) & (runs["learner"] == claim.learner)
        & (runs["variant"] == claim.variant) & (runs["stream"] == claim.stream)
    ]  # fmt: skip
    rows = rows.loc[np.isfinite(rows["epsilon"])]  # the same learner without noise promises nothing
    ratio = (rows["delivered_epsilon"] / rows["epsilon"]).to_numpy(dtype=float)
    shown = f"delivers {ratio.min():.3g} to {ratio.max():.3g} times the claimed eps"
    if not np.isfinite(ratio).all():
        return Judgement(INCONCLUSIVE, "the runs carry no delivered epsilon")
    verdict = VIOLATED if ratio.max() > 1 + ROUNDING else REPRODUCED
    if verdict == VIOLATED and claim.accounting == "upper":
        verdict = INCONCLUSIVE
        shown = f"the ledger proves {ratio.max():.3g} times the claimed eps only: an upper bound, no violation is shown"
    return Judgement(verdict, shown, runs=len(cells.responses), cells_used=_listed(cells.values))


def _rate(claim: Claim) -> Rate:
    """The claimed rate; no progress is total regret like T, or an excess risk that does not fall."""
    return claim.rate or (FLAT if claim.response == "excess" else LINEAR)


def _log_law(claim: Claim, rate: Rate, cells: Cells) -> fits.LogLaw | None:
    """Increments per octave and comparison of laws, for claims of ln T regret."""
    if claim.parameter != "horizon" or rate.power != 0 or claim.response == "noise":
        return None
    try:
        return fits.compare_log_law(cells.values[cells.used], cells.regrets[cells.used])
    except fits.NoExponent:
        return None


def _too_few(claim: Claim, cells: Cells) -> str:
    counts = [(state, sum(mark == state for mark in cells.status)) for state in STATES]
    lost = ", ".join(f"{count} {state}" for state, count in counts if count)
    text = f"no exponent: {int(cells.used.sum())} of {len(cells.values)} cells usable"
    text += f" ({lost})" if lost else ""
    if len(cells.values) < fits.MINIMUM_CELLS:
        return text
    if claim.parameter in LENGTHS:  # four cells, as far apart as these, must lie above the threshold
        first = float(cells.values[cells.used][0]) if cells.used.any() else float(cells.needed[-1])
        step = (cells.values[-1] / cells.values[0]) ** (1 / (len(cells.values) - 1))
        rounds = first * step ** (fits.MINIMUM_CELLS - 1)
    else:
        rounds = float(np.sort(cells.needed)[fits.MINIMUM_CELLS - 1])
    return (
        f"{text}; it would take {labels_of(claim.response).length} of about 2^{int(np.ceil(np.log2(max(rounds, 2))))}"
    )


def _shown_cells(cells: Cells) -> Judgement:
    """An undecided judgement that says which cells there are."""
    excluded = []
    for state in STATES:
        values = [value for value, mark in zip(cells.values, cells.status, strict=True) if mark == state]
        if values:
            excluded.append(f"{state}: {_listed(values)}")
    return Judgement(
        INCONCLUSIVE, "", runs=len(cells.responses),
        cells_used=_listed(cells.values[cells.used]), cells_excluded=" | ".join(excluded),
    )  # fmt: skip


def _listed(values: Sequence[float] | Array) -> str:
    rounded = (round(float(value), 9) + 0.0 for value in values)
    return "; ".join(f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}" for value in rounded)


def rate_text(claim: Claim) -> str:
    """The claimed rate in plain text, such as `T^0.5 ln(T/delta)^2`, or what else is claimed."""
    if claim.type == "below":
        return ">= explicit bound" if claim.side == "lower" else "<= explicit bound"
    if claim.type == "private":
        return "delivered eps <= eps"
    rate = _rate(claim)
    return f"{'>= ' if claim.side == 'lower' else ''}{rate}"


def _row(claim: Claim, judgement: Judgement) -> dict[str, object]:
    found = {
        key: round(value, 9) + 0.0 if isinstance(value, float) else value for key, value in asdict(judgement).items()
    }  # below 1e-9 there is rounding only
    return {
        "claim": claim.id, "source": claim.source, "origin": claim.origin, "type": claim.type,
        "learner": claim.learner, "variant": claim.variant, "experiment": claim.experiment,
        "stream": claim.stream, "parameter": claim.parameter, "response": claim.response,
        "rate": rate_text(claim), "tolerance": claim.tol, **found,
        "errata": " ".join(claim.errata), "statement": claim.statement,
    }  # fmt: skip

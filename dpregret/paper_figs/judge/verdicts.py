"""Verdicts: what the runs say about each line of a claims file, as rows of claims.csv and checks.csv."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import (
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
    select_rows,
)
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.rates import Rate
from dpregret.paper_figs.judge.resolution import Resolution, resolution
from dpregret.paper_figs.judge.result_tables import NOTHING, PRIVACY_ROUNDING, ExactLoss, ExactLosses
from dpregret.paper_figs.judge.runs import by_experiment
from dpregret.paper_figs.judge.vocabulary import (  # fmt: skip
    ABOVE,
    BELOW,
    CHECKS,
    FAILS,
    HOLDS,
    INCONCLUSIVE,
    NOT_RUN,
    REPRODUCED,
    SEEN_HERE,
    STEEPER,
    STEEPER_HELD,
    UP_TO_LOGS,
    VIOLATED,
    labels_of,
)  # fmt: skip
from dpregret.paper_figs.text.formats import number, significant

NAN: Final = float("nan")
STATES: Final = (SATURATED, EARLY, FAILED, CAPPED, EDGE)
"""Why a cell is not fitted."""
POWER: Final = "power"
"""The quantity that the resolution of a fitted claim measures."""
NO_EXPONENT: Final = "none: no exponent was fitted"


@dataclass(frozen=True)
class Judgement:
    """The judgement of one claim. Numbers are NaN where there is none.

    `resolution` is the smallest change of the predicted law, in either direction, that would have been detected,
    `resolution_log` the same in powers of the logarithm; `resolution_of` says what of: `power`, `factor of eps`, or why
    there is none. `interval_over` says over what intervals are: `runs`, or the `sets` that cells are. `late` is the
    slope of response / bound over the half of the cells at the end that the theorem speaks of, `bend` that slope minus
    the one over the other half. `largest_run` is the share of one run in a cell's spread (`fits.largest_run`),
    `log_level` the mean logarithm of the response over the fitted cells (over all, where none is).
    """

    verdict: str
    reason: str
    resolution: float = NAN
    resolution_log: float = NAN
    resolution_of: str = NO_EXPONENT
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
    interval_over: str = ""
    late: float = NAN
    late_low: float = NAN
    late_high: float = NAN
    bend: float = NAN
    bend_low: float = NAN
    bend_high: float = NAN
    largest_run: float = NAN
    log_level: float = NAN
    log_level_low: float = NAN
    log_level_high: float = NAN
    local_slopes: str = ""
    per_octave: float = NAN
    increments: str = ""
    delta_aic: float = NAN
    runs: int = 0
    cells_used: str = ""
    cells_excluded: str = ""


def undecided(cells: Cells) -> Judgement:
    """An undecided judgement that says which cells there are."""
    excluded = []
    for state in STATES:
        values = [value for value, mark in zip(cells.values, cells.status, strict=True) if mark == state]
        if values:
            excluded.append(f"{state}: {listed(values)}")
    return Judgement(
        INCONCLUSIVE, "", runs=len(cells.responses),
        cells_used=listed(cells.values[cells.used]), cells_excluded=" | ".join(excluded),
    )  # fmt: skip


def listed(values: Sequence[float] | Array) -> str:
    """Numbers in one cell of a table."""
    rounded = (round(float(value), 9) + 0.0 for value in values)
    return "; ".join(f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}" for value in rounded)


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
        "", "", PRIVACY_ROUNDING, resolution_of=FACTOR, runs=len(cells.responses), cells_used=listed(cells.values)
    )
    if exact is not None and exact.refutes:
        reason = f"{exact}; in the runs the ledger proves at most {ratio.max():.3g} times the claimed eps"
        return replace(shown, verdict=VIOLATED, reason=reason)
    kept, upper = ratio.max() <= 1 + PRIVACY_ROUNDING, claim.accounting == "upper"
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


Side = Literal["outgrows", "keeps", "matches", "open"]
SETS: Final = ("width",)
"""Parameters whose values are different sets: there the scatter of the cells is the error."""
LINEAR: Final = Rate("T", power=1.0)
FLAT: Final = Rate()


def judge_exponent(runs: pd.DataFrame, claim: Claim, cells: Cells) -> Judgement:
    """Fit the sweep and judge the slope of response / bound."""
    rate = rate_of(claim)
    shown = undecided(cells)
    if cells.used.sum() < fits.MINIMUM_CELLS:
        return replace(shown, reason=_too_few(claim, cells))
    fitted = cells.fitted()
    if claim.bound == "explicit" and not (fitted.bounds > 0).all():
        return replace(shown, reason="the runs carry no explicit bound")
    axis = coordinate(claim, fitted.values)
    factor = log_factor(claim, rate, fitted)
    over_sets = claim.parameter in SETS
    try:
        fit = fits.fit_power(fitted.responses, axis, factor, rate.power, over_sets)
    except fits.NoExponent as nothing:
        return replace(shown, reason=f"no exponent: {nothing}")
    sign = direction(claim)
    growth = fit.normalised if sign > 0 else fit.normalised.reflected()
    low, high = sorted((sign * fit.end_low, sign * fit.end_high))
    late, bend = _towards_the_end(claim, fit)
    resolved = resolution(claim, rate, fitted, growth)
    side, reason = decide(growth, claim.tol, len(fitted.responses), lower=claim.side == "lower")
    bent = _bent(side, claim.tol, late, bend) if not over_sets else ""
    verdict = INCONCLUSIVE
    if side == "keeps":
        verdict = INCONCLUSIVE if bent else ABOVE if claim.side == "lower" else BELOW
    elif side == "outgrows":
        verdict, more = _outgrown(runs, claim, cells, factor + rate.power * axis)
        verdict = INCONCLUSIVE if bent and verdict == STEEPER else verdict
        reason += f"; {more}"
    elif side == "matches" and (low < -claim.tol or high > claim.tol):
        ends = f"[{number(low, 3)}, {number(high, 3)}]"
        reason = f"{reason}, but not without an end cell: {ends}, not one power on this grid"
    elif side == "matches" and not bent:
        verdict, reason = _matched(claim, rate, cells.tight, resolved, reason)
    if bent:
        reason += f"; {bent}"
    elif min(abs(bend.low), abs(bend.high)) > claim.tol and bend.low * bend.high > 0:
        reason += f"; the law bends: slope {number(late.value - bend.value, 3)}, then {number(late.value, 3)}"
    if fit.largest_run > fits.RARE:
        reason += f"; ruled by rare runs: one makes {fit.largest_run:.0%} of a cell's spread, more may move all"
    judgement = replace(
        shown, verdict=verdict, reason=reason, largest_run=fit.largest_run,
        resolution=resolved.power, resolution_log=resolved.log_power, resolution_of=POWER,
        fitted=fit.raw.value, fitted_low=fit.raw.low, fitted_high=fit.raw.high,
        log_aware=fit.log_aware.value, log_aware_low=fit.log_aware.low, log_aware_high=fit.log_aware.high,
        normalised=growth.value, normalised_low=growth.low, normalised_high=growth.high,
        log_level=fit.level.value, log_level_low=fit.level.low, log_level_high=fit.level.high,
        end_low=low, end_high=high, interval_over="sets" if over_sets else "runs",
        late=late.value, late_low=late.low, late_high=late.high,
        bend=bend.value, bend_low=bend.low, bend_high=bend.high,
        local_slopes=listed([sign * slope for slope in fit.local]),
    )  # fmt: skip
    law = _log_law(claim, rate, cells)
    if law is None:
        return judgement
    return replace(judgement, per_octave=law.per_octave, increments=listed(law.increments), delta_aic=law.delta_aic)


def decide(growth: fits.Estimate, tolerance: float, runs: int, lower: bool = False) -> tuple[Side, str]:
    """Where the bound-normalised slope `growth` lies, oriented so that positive means 'outgrows the bound', and why.

    An upper bound is outgrown by growth, a `lower` one by decline, of response / bound.
    """
    interval = f"[{number(growth.low, 3)}, {number(growth.high, 3)}]"
    breaking, keeping = ("falls", "grows") if lower else ("grows", "falls")
    if growth.low > tolerance:
        return "outgrows", f"response / bound {breaking}: {interval} above +{tolerance:g}"
    if growth.high < -tolerance:
        return "keeps", f"response / bound {keeping}: {interval} below -{tolerance:g}"
    if growth.low >= -tolerance and growth.high <= tolerance:
        return "matches", f"{interval} within +-{tolerance:g}"
    half = (growth.high - growth.low) / 2
    if half > tolerance:
        more = int(np.ceil(runs * (half / tolerance) ** 2))
        return "open", f"interval too wide: {interval}; about {more} runs would decide"
    return "open", f"{interval} straddles {'+' if growth.value > 0 else '-'}{tolerance:g}"


def _towards_the_end(claim: Claim, fit: fits.PowerFit) -> tuple[fits.Estimate, fits.Estimate]:
    """Slope over the half of the cells at the end that the theorem speaks of, minus that over the other half: `late`,
    `bend`; positive means 'outgrows the bound'."""
    sign = direction(claim)
    towards = sign if claim.side == "upper" else -sign
    late = fit.upper if towards > 0 else fit.lower
    bend = fit.bend if towards > 0 else fit.bend.reflected()
    return (late, bend) if sign > 0 else (late.reflected(), bend.reflected())


def _bent(side: Side, tolerance: float, late: fits.Estimate, bend: fits.Estimate) -> str:
    """Why the end of the range takes back what the whole range says; empty where it does not.

    A match must not end wholly outside the tolerance, and what lies outside must not end wholly inside it. A response
    that outgrows its law without an explicit bound must have one power.
    """
    shown = f"slope {number(late.value, 3)} in the late half"
    if side == "matches" and (late.low > tolerance or late.high < -tolerance):
        return f"{shown}, outside the tolerance: not one power on this grid"
    if side == "keeps" and late.low >= -tolerance:
        return f"{shown}, which rises into the tolerance: not below the bound yet"
    if side == "outgrows" and late.high <= tolerance:
        return f"{shown}, which falls into the tolerance: not above the bound yet"
    if side == "outgrows" and bend.low > tolerance:
        return f"{shown}, {number(bend.value, 3)} more than in the other: no power on this grid"
    return ""


def _matched(claim: Claim, rate: Rate, tight: bool, resolved: Resolution, reason: str) -> tuple[str, str]:
    """A slope that agrees with its law: how much that proves."""
    verdict = REPRODUCED
    if rate.log_power and resolved.log_power > 1:
        verdict = UP_TO_LOGS
        power = str(replace(rate, log_power=0.0)) if rate.power else f"{rate.symbol or 'T'}^0"
        reason = f"{power}, log power not resolved (+- {number(resolved.log_power, 1)} powers): {reason}"
    if not (tight or about_this_stream(claim)):
        verdict, reason = SEEN_HERE, f"{reason}; the stream is not tight"
    return verdict, reason


def about_this_stream(claim: Claim) -> bool:
    """Whether a match is a proof on any stream: the noise does not depend on the stream, linear regret on one stream is
    linear regret, and a sentence of ours may be about this very stream. A theorem of a paper is about all streams."""
    ours = claim.scope == "instance" and claim.origin != "paper"
    return ours or claim.response == "noise" or claim.type == "linear"


def _outgrown(runs: pd.DataFrame, claim: Claim, cells: Cells, law: Array) -> tuple[str, str]:
    """A slope beyond its law: refuted, or still far from the bound."""
    found = evidence(runs, claim, cells, law)
    if found is None:
        return STEEPER, "there is no explicit bound to compare with"
    if found.crossed:
        return VIOLATED, f"the explicit bound is crossed at {'; '.join(found.crossed)}"
    share = f"{found.ratio:.2g} of the explicit bound"
    if found.ratio >= OF_ITS_SIZE or not found.held:
        return VIOLATED, f"at up to {share}"
    return STEEPER_HELD, f"at most {share}"


def rate_of(claim: Claim) -> Rate:
    """The claimed rate; no progress is total regret like T, or an excess risk that does not fall."""
    return claim.rate or (FLAT if claim.response == "excess" else LINEAR)


def _log_law(claim: Claim, rate: Rate, cells: Cells) -> fits.LogLaw | None:
    """Increments per octave and comparison of laws, for claims of ln T regret."""
    if claim.parameter != "horizon" or rate.power != 0 or claim.response in ("noise", "calls", "draws"):
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
    if not np.isfinite(rounds):  # whatever is played, a cell is saturated
        return text
    return (
        f"{text}; it would take {labels_of(claim.response).length} of about 2^{int(np.ceil(np.log2(max(rounds, 2))))}"
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

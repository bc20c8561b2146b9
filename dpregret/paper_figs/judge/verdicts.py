"""Verdicts: what the runs say about each line of a claims file, as rows of claims.csv and checks.csv.

A line goes through `judge`: `collect_cells` finds its cells, and `judge_exponent` (a rate, or no progress at all),
`judge_bounded` (explicit bounds) or `judge_private` (the accounted epsilon) has the rules of its
type.

How small a change of a predicted law would have been noticed is the resolution of a claim. The interval of a slope is
v +- t s', where s' estimates the standard error on nu degrees of freedom and t is the 97.5 % quantile: nu = runs - 1,
or cells - 2 where the interval is over the scatter of the cells about their line. A response whose true slope is off
by `change` is judged definitely otherwise when the interval lies beyond the tolerance. A slope that sits at an offset
inside the tolerance has further to go to the other side. The resolution is the change, in either direction, for which
a repetition of the experiment with other random numbers would be judged so with probability 0.95: tol + |v| + c s,
where c solves

    P( c S + Z + Z' - t S' > 0 ) = 0.97,   Z, Z' standard normal, S^2 and S'^2 chi-squared / nu, all independent,

because the v and the s that are known here, and the s' of the repetition, are estimates. |v| counts up to the
tolerance: beyond it the claim has been judged otherwise. For many runs c is 1.96 + 1.88 sqrt(2). The two hundredths
beyond 0.95 are for skewed responses, whose s varies more than the formula assumes: the validation simulates it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import cells as cell
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge import vocabulary as word
from dpregret.paper_figs.judge.cells import LENGTHS, Cells, NotRun, collect_cells, coordinate, direction, log_factor
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.result_tables import NOTHING, PRIVACY_ROUNDING, ExactLoss, ExactLosses
from dpregret.paper_figs.judge.runs import by_experiment
from dpregret.paper_figs.judge.vocabulary import Rate
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import format_number, several, significant

NOTICED: Final = 0.95
"""Probability with which a change of the size of the resolution is noticed, ..."""
AIM: Final = 0.97
"""... and the one that is aimed at for normal responses."""
NODES: Final = 200
"""Number of quantiles that represent each chi distribution."""
WITH_LOGARITHM: Final = (*LENGTHS, "dimension")
"""Parameters whose laws could have a logarithm that they do not state; that of experts and windows is the parameter
itself, and so is ln(1/beta), but not ln(d/beta)."""


@lru_cache(maxsize=64)
def critical_value(samples: int) -> float:
    """c above for nu = samples - 1: how many standard errors beyond the tolerance a slope must lie to be noticed."""
    from scipy import optimize, special  # late: printing a table needs neither; scipy.stats takes a second

    freedom = samples - 1
    levels = (np.arange(NODES) + 0.5) / NODES
    scales = np.sqrt(2.0 * special.gammaincinv(freedom / 2.0, levels) / freedom)
    half = fits.t_quantile(samples) * scales

    def shortfall(times: float) -> float:
        return float(special.ndtr((times * scales[:, None] - half) / np.sqrt(2.0)).mean()) - AIM

    return float(optimize.brentq(shortfall, 0.0, 1e4))


def resolution(claim: Claim, rate: Rate, cells: Cells, growth: fits.Estimate, samples: int) -> tuple[float, float]:
    """Smallest noticed change, in powers of the parameter and of the logarithm (NaN: the law can have none).

    `cells` are those of the fit, `growth` its slope with the interval, which is over `samples` (see `fits.PowerFit`).
    """
    half = np.asarray((growth.high - growth.low) / 2)
    change = float(noticed(np.asarray(growth.value), half, claim.tol, samples))
    leverage = log_leverage(claim, rate, cells)
    return change, change / abs(leverage) if leverage else float("nan")


def noticed(offset: Array, half: Array, tolerance: float, samples: int) -> Array:
    """tol + |v| + c s: the change that is noticed in both directions at an offset whose interval is +- `half`.

    `samples` is one more than the degrees of freedom of that interval.
    """
    beyond = critical_value(samples) * half / fits.t_quantile(samples)
    return np.asarray(tolerance + np.minimum(np.abs(offset), tolerance) + beyond, dtype=np.float64)


def log_leverage(claim: Claim, rate: Rate, cells: Cells) -> float:
    """Slope that one more power of the logarithm would add on these cells; 0 where the law can have no logarithm."""
    if claim.parameter not in WITH_LOGARITHM and not rate.log_power:
        return 0.0
    law = claim.model_copy(update={"bound": "rate"})
    log: Literal["ln", "log2"] = "log2" if claim.parameter == "dimension" and rate.log_argument == "parameter" else "ln"
    with np.errstate(divide="ignore", invalid="ignore"):
        laws = [log_factor(law, replace(rate, log_power=rate.log_power + more, log=log), cells) for more in (0.0, 1.0)]
    weights = fits.slope_weights(coordinate(claim, cells.values))
    added = float((laws[1] - laws[0]) @ weights)
    return added if np.isfinite(added) else 0.0


NAN: Final = float("nan")
POWER: Final = "power"
"""The quantity that the resolution of a fitted claim measures."""
FACTOR: Final = "factor of eps"
"""The same of a claim about privacy."""
NO_EXPONENT: Final = "none: no exponent was fitted"
NO_BOUND: Final = "none: a bound is held or it is not"
ROUNDING: Final = 1e-9
"""Relative slack of quantities that are equal except for rounding."""
UNCOMPARED: Final = (word.STEEPER, "there is no explicit bound to compare with")
SECOND_STEP: Final = 0.25
"""Powers by which a second term is higher or lower than the law."""
SETS: Final = ("width",)
"""Parameters whose values are different sets: there the scatter of the cells is the error."""
LINEAR: Final = Rate("T", power=1.0)
FLAT: Final = Rate()
AS_CHECK: Final = {
    **dict.fromkeys((word.REPRODUCED, word.UP_TO_LOGS, word.SEEN_HERE), word.HOLDS),
    **{verdict: verdict for verdict in word.CHECKS},
}
"""Verdict -> verdict of a consistency check, which has to match exactly: anything else fails."""
COPIED: Final = (
    "source", "origin", "type", "learner", "variant", "experiment", "stream", "parameter", "response",
)  # fmt: skip
"""Keys of a claim that are columns."""
Side = Literal["outgrows", "keeps", "matches", "open"]


@dataclass(frozen=True)
class Judgement:
    """The judgement of one claim. Numbers are NaN where there is none; an estimate is three columns of a table.

    `resolution` is the smallest change of the predicted law, in either direction, that would have been detected,
    `resolution_log` the same in powers of the logarithm; `resolution_of` says what of: `power`, `factor of eps`, or why
    there is none. `interval_over` says over what intervals are: `runs`, the `sets` that cells are, or the `cells` about
    their line where runs do not differ. `late` is the slope of response / bound over the half of the cells at the end
    that the theorem speaks of, `bend` that slope minus the one over the other half. `largest_run` is the share of one
    run in a cell's spread (`fits.largest_run`), `log_level` the mean logarithm of the response over the fitted cells
    (over all, where none is). `share_higher` and `share_lower`: the largest share of the response in the last cell that
    a second term, a quarter of a power higher or lower than the law, may have without being excluded by the cells
    (`fits.second_term`).
    """

    verdict: str
    reason: str
    resolution: float = NAN
    resolution_log: float = NAN
    resolution_of: str = NO_EXPONENT
    fitted: fits.Estimate = fits.UNKNOWN
    log_aware: fits.Estimate = fits.UNKNOWN
    normalised: fits.Estimate = fits.UNKNOWN
    end_low: float = NAN
    end_high: float = NAN
    interval_over: str = ""
    late: fits.Estimate = fits.UNKNOWN
    bend: fits.Estimate = fits.UNKNOWN
    largest_run: float = NAN
    share_higher: float = NAN
    share_lower: float = NAN
    log_level: fits.Estimate = fits.UNKNOWN
    local_slopes: str = ""
    per_octave: float = NAN
    increments: str = ""
    delta_aic: float = NAN
    runs: int = 0
    cells_used: str = ""
    cells_excluded: str = ""


COPIED_ROW: Final = ("kind", "claim", *COPIED, "rate", "tolerance")
TEXTS: Final = ("errata", "statement", "why")
"""Columns of a row before and after the numbers of its judgement."""


def judge_claims(
    runs: pd.DataFrame, claims: ClaimsFile, experiments: Collection[str] | None = None, exact: ExactLosses = NOTHING
) -> pd.DataFrame:
    """One row per line of the claims file, in file order, claims and checks told apart by the column `kind`.

    `experiments` are those of the profile (None: whatever has rows), `exact` the losses that claims name.
    """
    parts = by_experiment(runs)
    rows = [_row(claim, judge(parts.get(claim.experiment, runs), claim, experiments, exact)) for claim in claims.claims]
    return pd.DataFrame(rows, columns=None if rows else [*COPIED_ROW, *columns_of(Judgement("", "")), *TEXTS])


def columns_of(judgement: Judgement) -> dict[str, object]:
    """Columns of a judgement."""
    numbers: dict[str, object] = {}
    for name, value in vars(judgement).items():
        columns = value.columns(name) if isinstance(value, fits.Estimate) else {name: value}
        # below 1e-9 there is rounding only
        numbers |= {key: round(entry, 9) + 0.0 if isinstance(entry, float) else entry for key, entry in columns.items()}
    return numbers


def _row(claim: Claim, judgement: Judgement) -> dict[str, object]:
    return {
        "kind": claim.kind,
        "claim": claim.id,
        **{name: getattr(claim, name) for name in COPIED},
        "rate": rate_text(claim),
        "tolerance": claim.tol,
        **columns_of(judgement),
        "errata": " ".join(claim.errata),
        "statement": claim.statement,
        "why": claim.check or ("an explicit bound" if claim.type == "below" else ""),
    }


def judge(
    runs: pd.DataFrame, claim: Claim, experiments: Collection[str] | None = None, exact: ExactLosses = NOTHING
) -> Judgement:
    """Verdict on one line; raises ClaimsError when it does not determine its rows.

    An exact loss needs no runs: it refutes a claim whose experiment is not in the profile, too.
    """
    try:
        if experiments is not None and claim.experiment not in experiments:
            raise NotRun(f"experiment {claim.experiment} is not in this profile")
        cells = collect_cells(runs, claim)
    except NotRun as missing:
        loss = exact.get(claim.exact) if claim.type == "private" else None
        if loss is None or not loss.refutes:
            return Judgement(word.NOT_RUN, str(missing), resolution_of="none: not run")
        reason = f"{loss}; in the runs nothing: {missing}"
        return Judgement(word.VIOLATED, reason, resolution=PRIVACY_ROUNDING, resolution_of=FACTOR)
    return judge_cells(runs, claim, cells, exact)


def judge_cells(runs: pd.DataFrame, claim: Claim, cells: Cells, exact: ExactLosses = NOTHING) -> Judgement:
    """The same for a line whose cells are collected."""
    if claim.type == "private":
        return judge_private(runs, claim, cells, exact.get(claim.exact))
    judged = judge_bounded(claim, cells) if claim.type in ("below", "stated") else judge_exponent(runs, claim, cells)
    judged = replace(judged, log_level=_level(cells))
    if claim.undecided and judged.verdict == word.INCONCLUSIVE:
        judged = replace(judged, reason=f"{judged.reason}; {claim.undecided}")
    return replace(judged, verdict=AS_CHECK.get(judged.verdict, word.FAILS)) if claim.kind == "check" else judged


def _level(cells: Cells) -> fits.Estimate:
    """The level of the response, where all means are positive."""
    try:
        return fits.level((cells.fitted() if cells.used.any() else cells).responses)
    except fits.NoExponent:
        return fits.UNKNOWN


def rate_of(claim: Claim) -> Rate:
    """The claimed rate; no progress is total regret like T, or an excess risk that does not fall."""
    return claim.rate or (FLAT if claim.response == "excess" else LINEAR)


def rate_text(claim: Claim) -> str:
    """The claimed rate in plain text, such as `T^0.5 ln(T/delta)^2`, or what else is claimed."""
    if claim.type in ("below", "stated"):
        return ">= explicit bound" if claim.side == "lower" else "<= explicit bound"
    if claim.type == "private":
        return "accounted eps <= eps"
    return in_their_letters(claim, f"{'>= ' if claim.side == 'lower' else ''}{rate_of(claim)}")


def in_their_letters(claim: Claim, text: str) -> str:
    """Text about the swept values, with the paper's letter of a failure probability."""
    return text.replace("delta", claim.failure) if claim.parameter == "delta" else text


def _undecided(cells: Cells, reason: str = "", **more: Any) -> Judgement:
    """An inconclusive judgement that lists the used and the excluded cells."""
    lost = {state: cells.values[np.array(cells.status) == state] for state in cell.STATES}
    excluded = " | ".join(f"{state}: {listed(values)}" for state, values in lost.items() if len(values))
    used, count = listed(cells.values[cells.used]), len(cells.responses)
    return Judgement(word.INCONCLUSIVE, reason, runs=count, cells_used=used, cells_excluded=excluded, **more)


def listed(values: Sequence[float] | Array) -> str:
    """Numbers in one cell of a table: large ones in full, or short where another one cannot be in full."""
    rounded = [round(float(value), 9) + 0.0 for value in values]
    in_full = max(map(abs, rounded), default=0.0) < 1e15

    def written(value: float) -> str:
        short = f"{value:.4g}"
        exact = 1e4 <= abs(value) < 1e15 and (in_full or not math.isclose(float(short), value))
        return f"{value:.0f}" if exact else short

    return "; ".join(map(written, rounded))


def delivered_of(rows: pd.DataFrame, claim: Claim) -> pd.Series[float]:
    """The accounted epsilon of what the claim protects: a round, or a record in all its rounds (NaN: not known)."""
    delivered = rows["delivered_epsilon"]
    if claim.unit == "round" or "participations" not in rows:
        return delivered
    return rows["record_epsilon"].fillna(delivered.where(~(rows["participations"] > 1)))


def least_of(rows: pd.DataFrame, claim: Claim) -> pd.Series[float]:
    """The epsilon below which no loss of what the claim protects lies, where the ledger of a round is exact."""
    delivered = rows["delivered_epsilon"]
    return rows["record_least"].fillna(delivered) if claim.unit == "record" and "record_least" in rows else delivered


def _span(numbers: Array) -> str:
    """Least to largest; one number where both are written the same."""
    return " to ".join(dict.fromkeys(f"{end:.3g}" for end in (numbers.min(), numbers.max())))


def judge_private(runs: pd.DataFrame, claim: Claim, cells: Cells, exact: ExactLoss | None = None) -> Judgement:
    """Accounted against claimed eps, in all rows of the claim.

    An exact ledger above the claim refutes it. One that is only an upper bound shows no violation, nor does the epsilon
    of a record by group privacy, unless the least that a record loses is above the claim; but a consistency check is
    about the ledger itself, and fails. `exact`: the exact loss that the claim names; it refutes the claim too.
    """
    rows = cell.select_rows(runs, claim.learner, claim.variant, claim.experiment, claim.stream, claim.where)
    rows = rows.loc[np.isfinite(rows["epsilon"])]  # the same learner without noise promises nothing
    delivered = delivered_of(rows, claim)
    ratio = (delivered / rows["epsilon"]).to_numpy(dtype=float)
    if not len(ratio) or not np.isfinite(ratio).all():
        missing = "the runs carry no accounted epsilon"
        return Judgement(word.INCONCLUSIVE, missing, resolution_of="none: no accounted epsilon")
    repeated = rows["participations"].max() if "participations" in rows else 1
    holds = ratio.max() <= 1 + PRIVACY_ROUNDING
    at_least = (least_of(rows, claim) / rows["epsilon"]).max()  # equal to the largest ratio where that is exact
    upper = claim.accounting == "upper" or at_least < ratio.max() * (1 - PRIVACY_ROUNDING)
    refuted = claim.accounting == "exact" and at_least > 1 + PRIVACY_ROUNDING
    verdict = word.REPRODUCED if holds else word.VIOLATED if refuted else word.INCONCLUSIVE
    reason = f"accounted eps is {_span(ratio)} times the claimed eps"
    if repeated > 1:
        most = (rows["record_epsilon"] / rows["epsilon"]).max()
        reason += f" of a {claim.unit}; a record in {repeated:.0f} rounds: at most {most:.3g} times"
        reason += f", at least {at_least:.3g} times" if refuted and upper else ""
    resolved: dict[str, Any] = {"resolution": PRIVACY_ROUNDING, "resolution_of": FACTOR}
    if exact is not None and exact.refutes:
        verdict, upper = word.VIOLATED, False
        reason = f"{exact}; in the runs the accounted eps is at most {ratio.max():.3g} times the claimed eps"
    elif claim.kind == "check":
        verdict = word.HOLDS if holds else word.FAILS
    elif verdict == word.INCONCLUSIVE:
        proved = f"the accounted eps is {ratio.max():.3g} times the claimed eps"
        reason = f"{proved}: an upper bound, no violation is shown"
    if upper and not refuted:
        resolved = {"resolution_of": "none: the ledger is an upper bound"}
    return Judgement(verdict, reason, runs=len(cells.responses), cells_used=listed(cells.values), **resolved)


@dataclass(frozen=True)
class Standing:
    """The means of a sweep compared with an explicit bound, by joint 95 % intervals.

    `ratios` (cells,) are mean / bound, for a lower bound bound / mean; `crossed` the values of the parameter where the
    bound is broken, as text, `holds` whether it is kept in every cell.
    """

    ratios: Array
    crossed: str
    holds: bool


def standing(cells: Cells, lower: bool = False) -> Standing:
    """Compare every cell with its bound."""
    values, low, high = np.array([fits.mean_interval(sample, len(cells.values)) for sample in cells.responses.T]).T
    broken = high < cells.bounds if lower else low > cells.bounds
    within = low >= cells.bounds if lower else high <= cells.bounds
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.asarray(cells.bounds / values if lower else values / cells.bounds, dtype=np.float64)
    crossed = listed(cells.values[broken])
    return Standing(ratios, crossed, cell.FAILED not in cells.status and bool(within.all()))


def judge_bounded(claim: Claim, cells: Cells) -> Judgement:
    """Below an explicit upper bound in every cell, or above an explicit lower one in every asymptotic cell.

    type stated: the bound is a paper's own inequality, with its constants. The resolution is the smallest factor by
    which the stated side could shrink and be seen to fail.
    """
    stated, lower = claim.type == "stated", claim.side == "lower"
    swept = in_their_letters(claim, word.swept_symbol(claim.parameter, claim.response))
    resolved: dict[str, Any] = {"resolution_of": "factor of the stated bound" if stated else NO_BOUND}
    if not np.isfinite(cells.bounds).all():
        return Judgement(word.INCONCLUSIVE, "the runs carry no explicit bound", **resolved)
    undecided = _undecided(cells, **resolved)
    cells = cells.fitted() if lower else cells
    if not len(cells.values):
        return replace(undecided, reason="no cell is asymptotic")
    means = standing(replace(cells, bounds=cells.bounds * (1 + ROUNDING)) if stated else cells, lower)
    noun = {"excess": "excess", "noise": "noise", "calls": "number of calls"}.get(claim.response, "regret")
    largest = float(means.ratios.max())
    extent = f"up to {significant(largest, 3)} times the stated value"
    if means.crossed and stated:
        reason = f"{extent}; exceeded at {swept} = {means.crossed}"
        return replace(undecided, verdict=word.VIOLATED, reason=reason, resolution=ROUNDING)
    if means.crossed:
        side = "below" if lower else "above"
        return replace(
            undecided, verdict=word.FAILS, reason=f"mean {noun} {side} the bound at {swept} = {means.crossed}"
        )
    if means.holds and stated:
        reason = f"{extent}, in {several(len(cells.values), 'cell')}"
        return replace(undecided, verdict=word.REPRODUCED, reason=reason, resolution=1 - largest)
    if means.holds:
        extent = f"at least {1 / largest:.4g}" if lower else f"at most {largest:.3g}"
        return replace(
            undecided, verdict=word.HOLDS, reason=f"{extent} of the bound in {several(len(cells.values), 'cell')}"
        )
    return replace(undecided, reason=f"an interval of the mean {noun} contains the bound, or runs failed")


def judge_exponent(runs: pd.DataFrame, claim: Claim, cells: Cells) -> Judgement:
    """Fit the sweep and judge the slope of response / bound."""
    if cells.used.sum() < fits.MINIMUM_CELLS:
        return _undecided(cells, _too_few(claim, cells))
    rate, fitted = rate_of(claim), cells.fitted()
    if claim.bound == "explicit" and not (fitted.bounds > 0).all():
        return _undecided(cells, "the runs carry no explicit bound")
    axis, factor = coordinate(claim, fitted.values), log_factor(claim, rate, fitted)
    law = factor + rate.power * axis
    over_sets, lower = claim.parameter in SETS, claim.side == "lower"
    try:
        fit = fits.fit_power(fitted.responses, axis, factor, rate.power, over_sets)
    except fits.NoExponent as fault:
        return _undecided(cells, f"no exponent: {fault}")
    sign = direction(claim)  # positive slopes outgrow the bound from here on
    growth, bend = fit.normalised.signed(sign), fit.bend.signed(-1 if lower else 1)
    late = (fit.upper if (sign > 0) != lower else fit.lower).signed(sign)
    low, high = sorted((sign * fit.end_low, sign * fit.end_high))
    power, log_power = resolution(claim, rate, fitted, growth, fit.samples)
    over = "sets" if over_sets else "cells" if fit.exact else "runs"
    side, reason = decide(growth, claim.tol, len(fitted.responses), over, lower)
    bent = "" if over_sets else _bent(side, claim.tol, late, bend)
    verdict = word.INCONCLUSIVE
    if side == "keeps" and not bent:
        verdict = word.ABOVE if lower else word.BELOW
    elif side == "outgrows":
        verdict, more = _outgrown(runs, claim, cells, law)
        if bent and (verdict == word.STEEPER or (verdict == word.STEEPER_HELD and late.value <= claim.tol)):
            verdict = word.INCONCLUSIVE
        reason += f"; {more}"
    elif side == "matches" and (low < -claim.tol or high > claim.tol):
        ends = formats.ends(low, high)
        reason = f"{reason}, but not without an end cell: {ends}, not one power on this grid"
    elif side == "matches" and not bent:
        verdict, reason = _matched(claim, rate, cells.tight, log_power, reason)
    if bent:
        reason += f"; {bent}"
    elif min(abs(bend.low), abs(bend.high)) > claim.tol and bend.low * bend.high > 0:
        reason += (
            f"; the law bends: slope {format_number(late.value - bend.value, 3)}, then {format_number(late.value, 3)}"
        )
    if fit.largest_run > fits.RARE:
        reason += f"; ruled by rare runs: one makes {fit.largest_run:.0%} of a cell's spread, more may move all"
    return replace(
        _undecided(cells, reason),
        verdict=verdict,
        resolution=power,
        resolution_log=log_power,
        resolution_of=POWER,
        fitted=fit.raw,
        log_aware=fit.log_aware,
        normalised=growth,
        end_low=low,
        end_high=high,
        interval_over=over,
        late=late,
        bend=bend,
        largest_run=fit.largest_run,
        share_higher=_second_share(claim, fitted, axis, law, SECOND_STEP, over),
        share_lower=_second_share(claim, fitted, axis, law, -SECOND_STEP, over),
        local_slopes=listed([sign * slope for slope in fit.local]),
        **_log_law(claim, rate, cells),
    )


def decide(
    growth: fits.Estimate, tolerance: float, runs: int, over: str = "runs", lower: bool = False
) -> tuple[Side, str]:
    """Where the bound-normalised slope `growth` lies, oriented so that positive means 'outgrows the bound', and why.

    An upper bound is outgrown by growth, a `lower` one by decline, of response / bound. over: what intervals are over.
    """
    interval = formats.ends(growth.low, growth.high)
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
        needed = f"about {more} runs would decide" if over == "runs" else f"the {over} scatter about the line"
        return "open", f"interval too wide: {interval}; {needed}"
    return "open", f"{interval} straddles {'+' if growth.value > 0 else '-'}{tolerance:g}"


def _second_share(claim: Claim, fitted: Cells, axis: Array, law: Array, step: float, over: str) -> float:
    """The largest share of a second term in the last cell that the cells do not exclude; NaN where it is unknown."""
    towards = direction(claim.model_copy(update={"side": "upper"}))
    try:
        found = fits.second_term(fitted.responses, towards * axis, law, step, over != "runs")
    except fits.NoExponent:
        return NAN
    return found.high


def _bent(side: Side, tolerance: float, late: fits.Estimate, bend: fits.Estimate) -> str:
    """Why the late half of the range contradicts the slope of the whole range; empty if it does not.

    The estimate of the late half decides on all four sides: a match must not leave the tolerance there, and what lies
    outside must not enter it. A response that outgrows its law without an explicit bound must have one power.
    """
    slope = f"slope {format_number(late.value, 3)} in the late half"
    if side == "matches" and abs(late.value) > tolerance:
        return f"{slope}, outside the tolerance: not one power on this grid"
    through = "into" if abs(late.value) <= tolerance else "through"  # and out of it on the other side
    if side == "keeps" and late.value >= -tolerance:
        return f"{slope}, which rises {through} the tolerance: not below the bound yet"
    if side == "outgrows" and late.value <= tolerance:
        return f"{slope}, which falls {through} the tolerance: not above the bound yet"
    if side == "outgrows" and bend.low > tolerance:
        return f"{slope}, {format_number(bend.value, 3)} more than in the other: no power on this grid"
    return ""


def _matched(claim: Claim, rate: Rate, tight: bool, resolved: float, reason: str) -> tuple[str, str]:
    """A slope that agrees with its law, and how much that proves; resolved: powers of the logarithm.

    It is a proof on any stream where the stream does not matter: of the noise, of linear regret (that on one stream is
    linear regret), and of a sentence of ours about this very stream. A theorem of a paper is about all streams.
    """
    verdict = word.REPRODUCED
    if rate.log_power and resolved > 1:
        verdict = word.UP_TO_LOGS
        power = str(replace(rate, log_power=0.0)) if rate.power else f"{rate.symbol or 'T'}^0"
        reason = f"{power}, log power not resolved (+- {format_number(resolved, 1)} powers): {reason}"
    ours = claim.scope == "instance" and claim.origin != "paper"
    if not (tight or ours or claim.response == "noise" or claim.type == "linear"):
        verdict, reason = word.SEEN_HERE, f"{reason}; the stream is not tight"
    return verdict, reason


def _outgrown(runs: pd.DataFrame, claim: Claim, cells: Cells, law: Array) -> tuple[str, str]:
    """A slope beyond its law: the runs' explicit bound is crossed, or holds in every cell, or neither is shown.

    The bound is that of the total regret (or excess risk), of which the cost of privacy is a part; for a lower bound,
    the stream's. A bound that grows faster than the claimed law (`law`: its logarithm in the fitted cells) by more than
    the tolerance is another statement's.
    """
    lower = claim.side == "lower"
    if lower and claim.response != "noise":
        if "lower_bound" not in runs.columns:
            return UNCOMPARED
        runs = runs.assign(bound=runs["lower_bound"])
        cells = collect_cells(runs, claim)
    totals, fitted = _totals(runs, claim, cells), cells.fitted()
    bounds = fitted.bounds
    if totals is None or not (np.isfinite(bounds) & (bounds > 0)).all() or not np.isfinite(totals.bounds).all():
        return UNCOMPARED
    weights = fits.slope_weights(coordinate(claim, fitted.values))
    if direction(claim) * float((np.log(bounds) - law) @ weights) > claim.tol:
        return UNCOMPARED
    size = fitted.regrets if claim.response == "log_slope" else fitted.responses.mean(axis=0)
    gap = np.log(size / bounds) if lower else np.log(bounds / size)
    means = standing(totals.fitted() if lower else totals, lower)
    if means.crossed:
        swept = in_their_letters(claim, word.swept_symbol(claim.parameter, claim.response))
        return word.VIOLATED, f"the explicit bound is crossed at {swept} = {means.crossed}"
    ratio = float(np.exp(-gap.min()))
    share = f"{ratio:.2g} of the explicit bound"
    if not means.holds:
        return word.STEEPER, f"at up to {share}, which an interval contains"
    return word.STEEPER_HELD, f"at most {share}"


def _totals(runs: pd.DataFrame, claim: Claim, cells: Cells) -> Cells | None:
    """All cells of the quantity that the explicit bound limits; None if there is none: a bound on the mean limits no
    quantile."""
    if claim.response == "noise":
        return cells if claim.bound == "explicit" else None
    if claim.response in ("calls", "draws", "optimum") or claim.parameter == "beta":
        return None
    response = "excess" if claim.response == "excess" else "regret"
    if claim.response == response and claim.counterpart is None and claim.side == "upper":
        return cells  # of all statuses only a failure matters
    total_claim = claim.model_copy(update={"response": response, "counterpart": None, "type": "below"})
    try:
        return collect_cells(runs, total_claim)
    except NotRun:
        return None


def _log_law(claim: Claim, rate: Rate, cells: Cells) -> dict[str, Any]:
    """Increments per octave and comparison of laws, for claims of ln T regret."""
    if claim.parameter != "horizon" or rate.power != 0 or claim.response in ("noise", "calls", "draws"):
        return {}
    try:
        octave, steps, delta = fits.compare_log_law(cells.values[cells.used], cells.regrets[cells.used])
    except fits.NoExponent:
        return {}
    return {"per_octave": octave, "increments": listed(steps), "delta_aic": delta}


def _too_few(claim: Claim, cells: Cells) -> str:
    lost = ", ".join(f"{cells.status.count(state)} {state}" for state in cell.STATES if state in cells.status)
    text = f"no exponent: {int(cells.used.sum())} of {len(cells.values)} cells usable"
    text += f" ({lost})" if lost else ""
    if len(cells.values) < fits.MINIMUM_CELLS:
        return text
    if claim.parameter in cell.LENGTHS:  # four cells, as far apart as these, must lie above the threshold
        first = float(cells.values[cells.used][0]) if cells.used.any() else float(cells.needed[-1])
        step = (cells.values[-1] / cells.values[0]) ** (1 / (len(cells.values) - 1))
        rounds = first * step ** (fits.MINIMUM_CELLS - 1)
    else:
        rounds = float(np.sort(cells.needed)[fits.MINIMUM_CELLS - 1])
    if not math.isfinite(rounds):  # at any length some cell is saturated
        return text
    length = word.labels_of(claim.response).length
    return f"{text}; it would need {length} of about 2^{math.ceil(np.log2(max(rounds, 2)))}"

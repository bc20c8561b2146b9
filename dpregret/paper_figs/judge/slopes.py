"""Verdicts on exponents: what the bound-normalised slope of a sweep says."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.bounds import OF_ITS_SIZE, evidence
from dpregret.paper_figs.judge.cells import LENGTHS, Cells, coordinate, direction, log_factor
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.judgement import POWER, STATES, Judgement, listed, undecided
from dpregret.paper_figs.judge.labels import labels_of
from dpregret.paper_figs.judge.rates import Rate
from dpregret.paper_figs.judge.resolution import Resolution, resolution
from dpregret.paper_figs.judge.vocabulary import (
    ABOVE,
    BELOW,
    INCONCLUSIVE,
    REPRODUCED,
    SEEN_HERE,
    STEEPER,
    STEEPER_HELD,
    UP_TO_LOGS,
    VIOLATED,
)  # fmt: skip
from dpregret.paper_figs.text.formats import number

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

"""The fits of a figure: claims with their cells and verdicts, and sentences that follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures.symbols import SPOKEN, interval, rate_math
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import Cells, NotRun, collect_cells, coordinate, log_factor
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.rates import Rate
from dpregret.paper_figs.judge.verdicts import Judgement, judge_cells
from dpregret.paper_figs.judge.vocabulary import (
    ABOVE,
    BELOW,
    FAILS,
    HOLDS,
    INCONCLUSIVE,
    REPRODUCED,
    SEEN_HERE,
    STEEPER,
    STEEPER_HELD,
    UP_TO_LOGS,
    VIOLATED,
    Parameter,
)  # fmt: skip

AGREES: Final = (REPRODUCED, UP_TO_LOGS, SEEN_HERE, HOLDS)
FOLLOWS: Final = "follows"
SAID: Final = {
    BELOW: "stays below", ABOVE: "stays above", STEEPER: "outgrows", STEEPER_HELD: "outgrows", VIOLATED: "outgrows",
    INCONCLUSIVE: "is undecided about", FAILS: "does not match",
}  # fmt: skip
"""Verdict on a fit -> what it says of the response and its law."""


@dataclass(frozen=True)
class Fitted:
    """A claim of a power, its cells, and what was found."""

    claim: Claim
    cells: Cells
    found: Judgement

    @property
    def variable(self) -> Array:
        """The coordinate of the fit, not its logarithm."""
        return np.asarray(np.exp(coordinate(self.claim, self.cells.values)))

    @property
    def rate(self) -> Rate:
        """The predicted law."""
        return self.claim.rate or Rate()

    @property
    def law(self) -> Array:
        """Logarithm of the predicted law at the cells, up to a constant."""
        with np.errstate(invalid="ignore", divide="ignore"):
            axis = coordinate(self.claim, self.cells.values)
            return np.asarray(log_factor(self.claim, self.rate, self.cells) + self.rate.power * axis)

    @property
    def exponent(self) -> str:
        """`0.51 [0.50, 0.52]`; empty where nothing was fitted."""
        if np.isnan(self.found.fitted):
            return ""
        return interval(self.found.fitted, self.found.fitted_low, self.found.fitted_high)


def fitted(
    runs: pd.DataFrame,
    claims: ClaimsFile,
    experiment: str,
    parameter: Parameter,
    responses: Collection[str],
) -> list[Fitted]:
    """Claims of powers of a parameter with rows in an experiment; one per learner, variant, stream and setting."""
    chosen: dict[tuple[str, ...], Claim] = {}
    for claim in claims.claims:
        if (claim.parameter, claim.type, claim.experiment) == (parameter, "exponent", experiment):
            key = (claim.learner, claim.variant, claim.stream, claim.response, str(claim.where))
            if claim.response in responses:
                chosen.setdefault(key, claim)
    found = [_fitted(runs, claim) for claim in chosen.values()]
    return [each for each in found if each is not None]


def _fitted(runs: pd.DataFrame, claim: Claim) -> Fitted | None:
    try:
        cells = collect_cells(runs, claim)
    except NotRun:
        return None
    return Fitted(claim, cells, judge_cells(runs, claim, cells))


def verdict_sentence(found: Sequence[Fitted]) -> str:
    """How sweeps compare with their laws; empty where nothing was fitted.

    Where they agree with each other, with the range of their exponents; else how many follow the law.
    """
    decided = [each for each in found if each.exponent]
    if not decided:
        return ""
    claim, powers = decided[0].claim, "fitted power"
    spoken = " and ".join(dict.fromkeys(SPOKEN[each.claim.response] for each in decided))
    if claim.response == "log_slope" and claim.parameter == "horizon":  # its law is that of the regret
        spoken, powers = SPOKEN["regret"], r"$dR/d\ln T$ has power"
    spoken = spoken[:1].upper() + spoken[1:]
    verdicts = Counter(_word(each) for each in decided)
    if len(decided) == 1:
        return f"{spoken} {next(iter(verdicts))} {_laws(decided)}: {powers} {decided[0].exponent}"
    values = spread([each.found.fitted for each in decided])
    if len(verdicts) == 1:
        told, count = f"{next(iter(verdicts))} {_laws(decided)}", len(decided)
        return f"{spoken} {told} in {count} of {count} fits: {powers}s {values}"
    word = FOLLOWS if FOLLOWS in verdicts else max(sorted(verdicts), key=verdicts.__getitem__)
    laws = _laws([each for each in decided if _word(each) == word])
    return f"{spoken} {word} {laws} in {verdicts[word]} of {len(decided)} fits"


def _word(each: Fitted) -> str:
    return FOLLOWS if each.found.verdict in AGREES else SAID.get(each.found.verdict, each.found.verdict)


def _laws(found: Sequence[Fitted]) -> str:
    if any(each.claim.bound == "explicit" for each in found):
        return "its explicit bound"
    rates = {rate_math(each.rate) for each in found}
    return f"${next(iter(rates))}$" if len(rates) == 1 else "its law"


def spread(values: Sequence[float]) -> str:
    """The range of some numbers."""
    low, high = (f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}") for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def local_slopes(each: Fitted) -> tuple[Array, Array]:
    """Coordinates and slopes of response / law between neighbouring fitted cells."""
    means = each.cells.responses.mean(axis=0)
    used = each.cells.used & (means > 0)
    ratio = (np.log(np.where(means > 0, means, 1.0)) - each.law)[used]
    middle, slopes = fits.local_slopes(ratio, np.log(each.variable)[used])
    return np.exp(middle), slopes

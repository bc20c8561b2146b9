"""What figures are drawn from: the learners of an experiment, their means with intervals, and the fits of claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures.layout import MOST, Curve, Mask, Page, Panel
from dpregret.paper_figs.figures.style import GUIDE, Look
from dpregret.paper_figs.figures.symbols import SPOKEN, interval, rate_math
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge import vocabulary as words
from dpregret.paper_figs.judge.cells import (
    SATURATED_DISPLACEMENT,
    SATURATED_SHARE,
    Cells,
    NotRun,
    collect_cells,
    coordinate,
    log_factor,
)
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.rates import Rate
from dpregret.paper_figs.judge.verdicts import Judgement, judge_cells
from dpregret.paper_figs.judge.vocabulary import Parameter

FIRST_ROUND: Final = 64
"""Curves against T start here."""
FREE: Final = "without noise"
"""Variant of a private learner's plays at an infinite budget, where a figure shows both."""
FOLLOWS: Final = "follows"
SAID: Final = {
    **dict.fromkeys((words.REPRODUCED, words.UP_TO_LOGS, words.SEEN_HERE, words.HOLDS), FOLLOWS),
    **dict.fromkeys((words.STEEPER, words.STEEPER_HELD, words.VIOLATED), "outgrows"),
    words.BELOW: "stays below",
    words.ABOVE: "stays above",
    words.INCONCLUSIVE: "is undecided about",
    words.FAILS: "does not match",
}
"""Verdict on a fit -> what it says of the response and its law."""


@dataclass(frozen=True)
class Series:
    """A learner to draw: learner.variant, at one window where the experiment has several."""

    learner: str
    variant: str
    window: int | None = None
    private: bool = True

    @property
    def free(self) -> bool:
        """Whether it is a private learner without noise."""
        return self.variant == FREE

    def name(self, page: Page) -> str:
        """Text of the legend."""
        text = f"{page.name(self.learner)}, {FREE}" if self.free else page.name(f"{self.learner}.{self.variant}")
        return text + (f", $W = {self.window}$" if self.window else "")

    def look(self, page: Page) -> Look:
        """How it is drawn."""
        look = page.looks.of(self.learner, self.variant, self.private)
        return look.without_noise() if self.free else look


def series_of(rows: pd.DataFrame) -> list[Series]:
    """All learners of some rows, private ones first; a windowed learner at its median window."""
    found = []
    for (learner, variant), group in rows.groupby(["learner", "variant"], sort=True):
        windows = sorted(set(group["window"])) if group["anytime"].all() else []
        window = int(windows[len(windows) // 2]) if len(windows) > 1 else None
        private = bool(np.isfinite(group["epsilon"]).all())
        found.append(Series(str(learner), str(variant), window, private))
    return sorted(found, key=lambda each: not each.private)


def rows_of(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Finished rows of an experiment; raises NotRun."""
    rows = runs.loc[(runs["experiment"] == experiment) & (runs["status"] == "ok")]
    if rows.empty:
        raise NotRun(f"no rows of {experiment}")
    return rows


def of_learner(rows: pd.DataFrame, series: Series) -> pd.DataFrame:
    """The rows of a learner in its variant."""
    return rows.loc[(rows["learner"] == series.learner) & (rows["variant"] == series.variant)]


def curve(rows: pd.DataFrame, series: Series, column: str = "checkpoint") -> Curve:
    """The curve of a learner from the finished rows of an experiment; raises NotRun."""
    own = of_learner(rows, series)
    if series.window is not None:
        own = own.loc[own["window"] == series.window]
    ends = own["checkpoint"] == own["horizon"]
    own = own.loc[np.where(own["anytime"], own["horizon"] == own["horizon"].max(), ends)]
    if column == "checkpoint":
        own = own.loc[own["checkpoint"] >= FIRST_ROUND]
    if own.empty:
        raise NotRun(f"{series.learner}.{series.variant} has no rows")
    return means_by(own, column)._replace(hollow=saturated(own, column, series.private))


def saturated(rows: pd.DataFrame, column: str, private: bool = True) -> Mask:
    """Which cells carry no information on a law, (cells,): regret near the trivial one, or noise larger than the
    set."""
    means = rows.groupby(column, sort=True)[["regret", "trivial_regret", "displacement"]].mean()
    near = means["regret"] > SATURATED_SHARE * means["trivial_regret"]
    return np.asarray((near | (means["displacement"] > SATURATED_DISPLACEMENT)) & private)


def by_run(rows: pd.DataFrame, column: str, response: str = "regret") -> pd.DataFrame:
    """A response by run (rows) and value of a column (columns)."""
    return rows.pivot_table(index="run", columns=column, values=response, aggfunc="mean")


def means_by(rows: pd.DataFrame, column: str) -> Curve:
    """Mean regret at every value of a column."""
    table = by_run(rows, column)
    return means_of(table.columns, table.to_numpy(dtype=float))


def means_of(values: Iterable[Any], responses: Array, hollow: Mask | None = None) -> Curve:
    """Means of (runs, cells) over runs, with half widths of their 95 % intervals."""
    intervals = [fits.mean_interval(column[~np.isnan(column)]) for column in responses.T]
    means = np.array([estimate.value for estimate in intervals])
    reach = np.array([estimate.high - estimate.value for estimate in intervals])
    return Curve(np.array(values, dtype=float), means, reach, hollow)


def panels_of(series: Sequence[Series], most: int = MOST) -> list[list[Series]]:
    """Series in panels of at most `most`, variants of a learner together, private ones first."""
    groups: dict[tuple[bool, str], list[Series]] = {}
    for each in series:
        groups.setdefault((not each.private and not each.free, each.learner), []).append(each)
    parts: list[list[Series]] = []
    for _, own in sorted(groups.items(), key=lambda item: item[0][0]):
        parts += [own[start : start + most] for start in range(0, len(own), most)]
    count = len(_filled(parts, most))
    even = next(cap for cap in range(max(map(len, parts)), most + 1) if len(_filled(parts, cap)) <= count)
    return _filled(parts, even)


def _filled(parts: Sequence[Sequence[Series]], most: int) -> list[list[Series]]:
    """Groups in their order, as many to a panel as fit."""
    panels: list[list[Series]] = [[]]
    for part in parts:
        if panels[-1] and len(panels[-1]) + len(part) > most:
            panels.append([])
        panels[-1] += part
    return panels


@dataclass(frozen=True)
class Fitted:
    """A claim of a power, its cells, and what was found."""

    claim: Claim
    cells: Cells
    found: Judgement

    @property
    def series(self) -> Series:
        """The learner of the claim."""
        return Series(self.claim.learner, self.claim.variant)

    @property
    def means(self) -> Array:
        """Means of the cells."""
        return np.asarray(self.cells.responses.mean(axis=0))

    @property
    def used(self) -> Mask:
        """Fitted cells with a positive mean."""
        return np.asarray(self.cells.used & (self.means > 0))

    @property
    def curve(self) -> Curve:
        """Means against the coordinate of the fit; cells that are not fitted are hollow."""
        return means_of(self.variable, self.cells.responses, ~self.cells.used)

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

    @property
    def said(self) -> str:
        """What the verdict says of response and law, in a word or two."""
        return SAID.get(self.found.verdict, self.found.verdict)

    def of(self, series: Sequence[Series]) -> bool:
        """Whether it is the fit of one of some learners, in its window where it has one."""
        claim = self.claim
        return any(
            (each.learner, each.variant) == (claim.learner, claim.variant)
            and each.window in (None, claim.where.get("window", each.window))
            for each in series
        )


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


def legend(page: Page, series: Series, found: Sequence[Fitted]) -> str:
    """The name of a learner, with its exponent where it has one fit."""
    own = [each.exponent for each in found if each.exponent and each.of([series])]
    return f"{series.name(page)}: {own[0]}" if len(own) == 1 else series.name(page)


def draw_law(panel: Panel, each: Fitted, values: Array, above: float, below: bool = False) -> None:
    """The predicted law as a dashed slope with its exponent, `above` times the fitted cells."""
    used, law = each.used, each.law[each.used]
    guide = np.exp(law - law.mean() + np.log(each.means[used]).mean()) * above
    text = f"$\\propto {rate_math(each.rate)}$"
    panel.line("predicted law", values[used], guide, f"law {each.rate}, scaled", text, below, color=GUIDE)


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
    verdicts = Counter(each.said for each in decided)
    word = FOLLOWS if FOLLOWS in verdicts else max(sorted(verdicts), key=verdicts.__getitem__)
    agree = [each for each in decided if each.said == word]
    rates = {rate_math(each.rate) for each in agree}
    law = f"${next(iter(rates))}$" if len(rates) == 1 else "its law"
    if any(each.claim.bound == "explicit" for each in agree):
        law = "its explicit bound"
    if len(decided) == 1:
        return f"{spoken} {word} {law}: {powers} {decided[0].exponent}"
    sentence = f"{spoken} {word} {law} in {len(agree)} of {len(decided)} fits"
    return sentence + (f": {powers}s {spread(agree)}" if len(verdicts) == 1 else "")


def spread(found: Sequence[Fitted]) -> str:
    """The range of the exponents of some fits."""
    powers = [each.found.fitted for each in found]
    low, high = (f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}") for value in (min(powers), max(powers)))
    return low if low == high else f"{low} to {high}"


def local_slopes(each: Fitted) -> Curve:
    """Slopes of response / law between neighbouring fitted cells."""
    ratio = np.log(each.means[each.used]) - each.law[each.used]
    middle, slopes = fits.local_slopes(ratio, np.log(each.variable)[each.used])
    return Curve(np.exp(middle), slopes)

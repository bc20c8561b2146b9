"""Curves of one experiment: regret against T, what is printed beside what is right, sweeps of a parameter, their fits
with local slopes, and measured regret between its bounds; first what they are drawn from: learners, means, fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.layout import FULL, MOST, Curve, Mask, Page, Panel, Plate, Style
from dpregret.paper_figs.figures.style import Look
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge import vocabulary as words
from dpregret.paper_figs.judge.cells import (
    LENGTHS,
    SATURATED_DISPLACEMENT,
    SATURATED_SHARE,
    Cells,
    NotRun,
    collect_cells,
    coordinate,
    log_factor,
)
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile, FigureEntry
from dpregret.paper_figs.judge.verdicts import Judgement, judge_cells
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN, Parameter, Rate, Response

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
        return style.interval(self.found.fitted, self.found.fitted_low, self.found.fitted_high)

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
    text = f"$\\propto {style.rate_math(each.rate)}$"
    panel.line("predicted law", values[used], guide, f"law {each.rate}, scaled", text, below, color=style.GUIDE)


def verdict_sentence(found: Sequence[Fitted]) -> str:
    """How sweeps compare with their laws; empty where nothing was fitted.

    Where they agree with each other, with the range of their exponents; else how many follow the law.
    """
    decided = [each for each in found if each.exponent]
    if not decided:
        return ""
    claim, powers = decided[0].claim, "fitted power"
    spoken = " and ".join(dict.fromkeys(style.SPOKEN[each.claim.response] for each in decided))
    if claim.response == "log_slope" and claim.parameter == "horizon":  # its law is that of the regret
        spoken, powers = style.SPOKEN["regret"], r"$dR/d\ln T$ has power"
    spoken = spoken[:1].upper() + spoken[1:]
    verdicts = Counter(each.said for each in decided)
    word = FOLLOWS if FOLLOWS in verdicts else max(sorted(verdicts), key=verdicts.__getitem__)
    agree = [each for each in decided if each.said == word]
    rates = {style.rate_math(each.rate) for each in agree}
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


TRIVIAL: Final = {"regret": "constant point", "excess": "trivial point"}
"""The dotted line of a figure, by response."""
ABOVE: Final = 2.6
"""How far above a curve its predicted law is drawn, and one law above the other: a factor."""
BELOW: Final = 2.2
"""How far below a curve."""
Curves = dict[str, Curve]


def regret(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Mean regret against T, a pair of panels for at most six curves; raises NotRun.

    Left: a linear axis, where ln T is a straight line (dashed, fitted to the later half). Right: a logarithmic one,
    where powers are straight. Learners without privacy are grey.
    """
    rows = rows_of(runs, entry.experiment)
    series = [each for each in series_of(rows) if each.variant != "printed"]
    if not any(each.private for each in series):
        raise NotRun("no learner with privacy")
    streams = sorted(set(rows["stream"]))
    parts = [(stream, part) for stream in streams for part in panels_of(series)]
    plate = page.plate(2 * len(parts), 2, height=1.95)
    every = {stream: {each: curve(rows.loc[rows["stream"] == stream], each) for each in series} for stream in streams}
    found = [each for each in fitted(runs, claims, entry.experiment, "horizon", ("log_slope",)) if each.exponent]
    for (stream, part), linear, powers in zip(parts, plate.panels[::2], plate.panels[1::2], strict=True):
        leading = [each for each in part if each.private] or part
        top = _robust_top([every[stream][each].means[-1] for each in leading])
        for panel in (linear, powers):
            _rounds_axis(panel, log=panel is powers)
            for each in part:
                panel.curve(each.name(page), every[stream][each], each.look(page), legend=legend(page, each, found))
        for each in part:
            _log_law(linear, every[stream][each], top)
        if len(streams) > 1:
            linear.axis.set_title(page.name(f"stream:{stream}"))
        linear.axis.set_ylim(0, top)
    plate.same_heights(plate.panels[1::2])
    shown = [each for each in found if each.of(series)]
    plate.finding = _growth(shown) if shown else _cost(page, every[streams[0]])
    exponents = " Legend: exponent [95 %] of $dR/d\\ln T$ in $T$, 0 for $\\ln T$." if shown else ""
    how = f", bands 95 %; dashed: $c + s\\,\\ln T$, fitted to the later half; hollow: saturated.{exponents}"
    plate.setting = page.setting(rows, how, ("horizon",))
    return plate


def _rounds_axis(panel: Panel, log: bool) -> None:
    style.log_axis(panel.axis, "x", base=2)
    panel.axis.set(yscale="log" if log else "linear", xlabel=style.AXES["horizon"], ylabel=style.RESPONSES["regret"])


def _robust_top(lasts: Sequence[float]) -> float:
    """Top of a linear axis: curves of linear regret must not flatten all others."""
    return float(1.15 * max(sorted(lasts)[int(0.7 * (len(lasts) - 1))], 1e-9))


def _log_law(panel: Panel, drawn: Curve, top: float) -> None:
    late = drawn.values >= np.sqrt(drawn.values.min() * drawn.values.max())
    if late.sum() < 2 or drawn.means[-1] > top:
        return
    logs = np.log(drawn.values[late])
    constant, slope = np.polynomial.polynomial.polyfit(logs, drawn.means[late], 1)
    panel.line("c + s ln T", drawn.values[late], constant + slope * logs, "fit of the later half")


def _growth(found: Sequence[Fitted]) -> str:
    """How many curves grow like ln T, where that is what most do."""
    agree = [each for each in found if each.said == FOLLOWS and not each.rate.power and each.rate.log_power == 1]
    if len(agree) < len(found):
        return verdict_sentence(found)
    law = f"$dR/d\\ln T \\propto T^a$ with $a$ = {spread(agree)}"
    return f"{len(agree)} of {len(found)} fitted curves grow like $\\ln T$: {law}"


def _cost(page: Page, curves: Mapping[Series, Curve]) -> str:
    """The private learner of least regret beside the best without privacy, at the largest T."""
    ends = {each: float(drawn.means[-1]) for each, drawn in curves.items() if drawn.means[-1] > 0}
    private, free = ([each for each in ends if each.private == wanted] for wanted in (True, False))
    if not private or not free:
        return ""
    best, other = min(private, key=ends.__getitem__), min(free, key=ends.__getitem__)
    last = style.count(float(max(curves[best].values)))
    times = f"{style.share(ends[best] / ends[other])} times that of {other.name(page)}"
    return f"Least private regret at $T =$ {last}: {best.name(page)}, {times}"


def printed(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Regret against T of printed and corrected variants, one panel a learner, with a line of slope one."""
    rows = rows_of(runs, entry.experiment)
    every = series_of(rows)
    faulty = {each.learner for each in every if each.variant.startswith("printed")}
    series = [each for each in every if each.learner in faulty]
    if not series:
        raise NotRun(f"no printed variant in {entry.experiment}")
    learners, streams = list(dict.fromkeys(each.learner for each in series)), sorted(set(rows["stream"]))
    parts = [(learner, stream) for stream in streams for learner in learners]
    plate = page.plate(len(parts), 2, height=2.1)
    factors = []
    for panel, (learner, stream) in zip(plate.panels, parts, strict=True):
        _rounds_axis(panel, log=True)
        own = f", {page.name(f'stream:{stream}')}" if len(streams) > 1 else ""
        panel.axis.set_title(page.name(learner) + own)
        wrong: list[float] = []
        right: list[float] = []
        for each in (each for each in series if each.learner == learner):
            drawn = curve(rows.loc[rows["stream"] == stream], each)
            label = each.name(page) if len(learners) > 1 else page.name(f".{each.variant}")
            panel.curve(each.name(page), drawn, each.look(page), legend=label)
            (wrong if each.variant.startswith("printed") else right).append(float(drawn.means[-1]))
            if each.variant == "printed" and drawn.means[-1] > 0:
                guide = 1.6 * drawn.means[-1] * drawn.values / drawn.values[-1]
                half = drawn.values >= np.sqrt(drawn.values[0] * drawn.values[-1])
                panel.line("slope one", drawn.values[half], guide[half], "slope one", r"$\propto T$", color=style.GUIDE)
        right = [value for value in right if value > 0]
        if wrong and right:
            factors.append(max(wrong) / min(right))
        style.readable_log(panel.axis)
    last = style.count(float(rows["checkpoint"].max()))
    if factors:
        least, most = (style.share(end(factors)) for end in (min, max))
        times = least if len(factors) == 1 else f"{least} to {most}"
        plate.finding = f"As printed the regret at $T =$ {last} is {times} times the best of the other variants"
    plate.setting = page.setting(rows, ", bands 95 %; hollow: saturated.", ("horizon",))
    return plate


def sweep(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Response against the swept parameter, panels by stream and at most six curves each; raises NotRun.

    The dotted line is the trivial point. Where the entry names two learners, a vertical line marks where their curves
    cross; where it has a power `scaled`, everything is divided by that power of the parameter.
    """
    parameter, response = entry.parameter or "horizon", claims.response
    rows = at(rows_of(runs, entry.experiment), entry)
    column, symbol = VALUE_COLUMN[parameter], style.symbol_of(parameter, response)
    found = fitted(runs, claims, entry.experiment, parameter, (response,))
    parts = [(str(name), part) for name, own in rows.groupby("stream", sort=True) for part in panels_of(series_of(own))]
    across = 2 if sum(len(part) for _, part in parts) > FULL else 3
    plate = page.plate(len(parts), across, height=2.3 if len(parts) == 1 else 1.95)
    curves: dict[str, Curves] = {}
    over = f" / ${symbol}^{{{style.power_text(entry.scaled)}}}$" if entry.scaled else ""
    for panel, (stream, part) in zip(plate.panels, parts, strict=True):
        own = rows.loc[rows["stream"] == stream]
        shown = curves.setdefault(stream, {})
        here = [each for each in found if each.claim.stream == stream and _same(each, entry)]
        value_axis(panel.axis, parameter, rows[column].to_numpy(dtype=float))
        panel.axis.set(yscale="linear" if entry.scaled else "log", xlabel=style.axis_label(parameter, response))
        panel.axis.set_ylabel(style.RESPONSES[response] + over)
        first = np.inf
        for each in part:
            drawn = curve(own, each, column).scaled(entry.scaled)
            first = min(first, float(drawn.values[0]))
            shown |= {f"{each.learner}.{each.variant}": drawn} | ({} if each.free else {each.learner: drawn})
            panel.curve(each.name(page), drawn, each.look(page), legend=legend(page, each, here))
        trivial = own.groupby(column)["trivial_regret"].mean()
        trivial = trivial.loc[trivial.index >= first]
        level = trivial / trivial.index**entry.scaled
        panel.line(TRIVIAL[response], trivial.index, level, "trivial point", key=TRIVIAL[response], linestyle=":")
        if len({name for name, _ in parts}) > 1:
            panel.axis.set_title(page.name(f"stream:{stream}"))
        if entry.scaled:  # small differences are what such a figure is for
            panel.axis.set_ylim(0.0, 1.15 * max(float(each.means.max()) for each in shown.values()))
            continue
        laws = [each for each in here if each.of(part) and each.exponent and each.rate.symbol]
        if laws and parameter not in style.COORDINATES:
            low = min(laws, key=lambda each: float(np.exp(each.found.log_level)))
            draw_law(panel, low, low.cells.values, 1 / BELOW, below=True)
        style.readable_log(panel.axis)
    _compared(plate)
    private = {f"{each.learner}.{each.variant}" for _, part in parts for each in part if each.private and not each.free}
    plate.finding = (
        _crossed(plate, page, entry, curves, [stream for stream, _ in parts], symbol)
        or verdict_sentence([each for each in found if _same(each, entry)])
        or _least(page, curves, symbol, response, private)
    )
    fit = " Numbers in the legend: fitted exponent [95 %]." if any(each.exponent for each in found) else ""
    but = (parameter, "stream") if len(curves) > 1 else (parameter,)
    plate.setting = page.setting(rows, f", bands 95 %; hollow: saturated.{fit}", but)
    return plate


def at(rows: pd.DataFrame, entry: FigureEntry) -> pd.DataFrame:
    """Rows at the settings of the entry of private learners that vary them, all rows of others, and its counterpart."""
    learners = rows.groupby(["learner", "variant"])
    private = learners["epsilon"].transform(lambda epsilons: np.isfinite(epsilons).any()).to_numpy(dtype=bool)
    kept = np.ones(len(rows), dtype=bool)
    for key, value in entry.where.items():
        varied = learners[key].transform("nunique").to_numpy() > 1  # one without a window has that of its horizon
        kept &= np.isclose(rows[key].astype(float), value) | ~(private & varied)
    chosen: pd.DataFrame = rows.loc[kept]
    if entry.counterpart is None:
        return chosen
    learner, variant = entry.counterpart.split(".", 1)
    free = of_learner(rows, Series(learner, variant))
    free = free.loc[np.isinf(free["epsilon"])].assign(variant=FREE)
    return pd.concat([chosen, free], ignore_index=True)


def value_axis(axis: Axes, parameter: str, values: Array) -> None:
    """The axis of a swept parameter; one that starts at zero is linear there."""
    if (values <= 0).any():
        first = float(values[values > 0].min())
        axis.set_xscale("symlog", linthresh=first)
        axis.set_xlim(-0.2 * first, 1.3 * float(values.max()))  # no decades below zero
    elif parameter in (*LENGTHS, "dimension", "experts", "window", "length"):
        style.log_axis(axis, "x", base=2)
    else:
        style.log_axis(axis, "x", values)


def _same(each: Fitted, entry: FigureEntry) -> bool:
    """Whether a claim speaks of the settings that the figure shows."""
    where = {key: value for key, value in each.claim.where.items() if not isinstance(value, str)}
    return all(entry.where.get(key, value) == value for key, value in where.items())


def _compared(plate: Plate) -> None:
    """The same heights for all panels."""
    if len(plate.panels) < 2:
        return
    plate.same_heights(plate.panels)
    for panel in plate.panels:
        if panel.axis.get_yscale() == "log":
            style.readable_log(panel.axis)


def _crossed(
    plate: Plate, page: Page, entry: FigureEntry, curves: Mapping[str, Curves], streams: Sequence[str], symbol: str
) -> str:
    """Mark where the two curves of the entry cross, and say it."""
    if entry.crossing is None:
        return ""
    said, pair = "", entry.crossing
    for stream, found in curves.items():
        if not set(pair) <= set(found):
            continue
        one, other = (found[name] for name in pair)
        for value in crossings(one, other):
            later = one.values[one.values >= value][:1]
            ahead = one.means[one.values >= value][:1] < np.interp(later, other.values, other.means)
            wins, loses = pair if ahead.all() else pair[::-1]
            where = f"${symbol} \\approx$ {style.rounded(value)}"
            said = said or f"{page.spoken(wins)} overtakes {page.spoken(loses)} at {where}"
            for panel in (panel for panel, name in zip(plate.panels, streams, strict=True) if name == stream):
                panel.axis.axvline(value, color=style.GUIDE, linewidth=0.8, linestyle=style.DASHED)
                panel.text((value, panel.axis.get_ylim()[1]), style.rounded(value), "left", "top")
                panel.keep("crossing", [value], [np.nan], what="where the curves cross")
    return said


def crossings(first: Curve, second: Curve) -> Array:
    """Where two curves cross, interpolated in logarithms between neighbouring common positive values."""
    common, at_first, at_second = np.intersect1d(first.values, second.values, return_indices=True)
    positive = (common > 0) & (first.means[at_first] > 0) & (second.means[at_second] > 0)
    ratio = np.log(first.means[at_first][positive] / second.means[at_second][positive])
    change = np.flatnonzero(np.sign(ratio[:-1]) * np.sign(ratio[1:]) < 0)
    place = ratio[change] / (ratio[change] - ratio[change + 1])
    logs = np.log(common[positive])
    return np.asarray(np.exp(logs[change] + place * (logs[change + 1] - logs[change])), dtype=np.float64)


def _least(page: Page, curves: Mapping[str, Curves], symbol: str, response: Response, private: Collection[str]) -> str:
    """Which private learner has the least response at the last value that all have, and by what factor."""
    found = {key: each for own in curves.values() for key, each in own.items() if key in private}
    if len(curves) != 1 or not found:
        return ""
    last = min(float(each.values.max()) for each in found.values())
    ends = {key: float(each.means[each.values == last][0]) for key, each in found.items() if last in each.values}
    ranked = sorted((value, key) for key, value in ends.items() if value > 0)
    if len(ranked) < 2:
        return ""
    (least, best), (more, other) = ranked[:2]
    factor = f"{style.share(more / least)} times less than {page.spoken(other)}"
    return f"At ${symbol} =$ {style.count(last)} {page.spoken(best)} has the least {style.SPOKEN[response]}, {factor}"


def exponent(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Above (or left): means, fitted powers and the predicted law; below: local slopes of response over law.

    Hollow cells are not fitted. Claims of several streams, settings or responses have panels of their own. Raises
    NotRun when no claim on the parameter has rows.
    """
    parameter = entry.parameter or "horizon"
    found = fitted(runs, claims, entry.experiment, parameter, entry.responses)
    if not found:
        raise NotRun(f"no claim on {parameter} has rows in {entry.experiment}")
    groups: dict[tuple[str, str, str], list[Fitted]] = {}
    for each in found:
        claim = each.claim
        groups.setdefault((claim.response, claim.stream, str(sorted(claim.where.items()))), []).append(each)
    parts = [own[start : start + MOST] for own in groups.values() for start in range(0, len(own), MOST)]
    several, across = len(parts) > 1, min(3, len(parts))
    plate = page.plate(2 * across * -(-len(parts) // across), across if several else 2)
    for panel in plate.panels:
        panel.axis.set_visible(False)
    for number, part in enumerate(parts):
        first = 2 * across * (number // across) + number % across
        _fits(plate.panels[first], plate.panels[first + across], page, part, several)
    plate.finding = verdict_sentence(found)
    rows, beside = runs.loc[runs["experiment"] == entry.experiment], "beside it" if several else "in the legend"
    how = (
        f", 95 % intervals. Solid: fitted power, its exponent [95 %] {beside}; dashed: predicted law; "
        f"hollow: saturated or too early, not fitted. Local slope of response over law: 0 is the law."
    )
    plate.setting = page.setting(rows, how, (parameter,))
    return plate


def _fits(top: Panel, bottom: Panel, page: Page, part: list[Fitted], titled: bool) -> None:
    """Cells with their laws above, local slopes below; exponents are in the legend, or beside curves of a panel
    `titled`."""
    claim = part[0].claim
    for panel in (top, bottom):
        panel.axis.set_visible(True)
        if claim.parameter in (*LENGTHS, "dimension"):
            style.log_axis(panel.axis, "x", base=2)
        else:
            style.log_axis(panel.axis, "x", np.round(np.concatenate([each.variable for each in part]), 3))
        panel.axis.set_xlabel(style.axis_label(claim.parameter, claim.response, fitted=True))
    style.log_axis(top.axis, "y")
    top.axis.set_ylabel(style.RESPONSES[claim.response])
    bottom.axis.set_ylabel("local slope, response / law")
    if titled:
        where = [_worded(key, value) for key, value in claim.where.items()]
        top.axis.set_title(", ".join([page.name(f"stream:{claim.stream}"), *where]))
    bottom.axis.axhline(0.0, color=style.GUIDE, linewidth=0.7)
    laws: set[str] = set()
    for each in sorted(part, key=lambda each: -float(each.cells.responses.mean())):
        look, name = each.series.look(page), each.series.name(page)
        label = name if titled else legend(page, each.series, [each])
        top.curve(name, each.curve, replace(look, dash="none"), band=False, legend=label)
        if each.used.sum() < 2:
            continue
        axis, logs = np.log(each.variable[each.used]), np.log(each.means[each.used])
        line = np.exp(logs.mean() + float(logs @ fits.slope_weights(axis)) * (axis - axis.mean()))
        shown: Style = {"color": look.colour, "linestyle": look.dash, "linewidth": 1.0}
        top.line(name, each.variable[each.used], line, "fitted power", **shown)
        if style.rate_math(each.rate) not in laws:
            draw_law(top, each, each.variable, ABOVE ** (1 + len(laws)))
        laws.add(style.rate_math(each.rate))
        bottom.curve(name, local_slopes(each), look, "local slope of response over law", legend="")
    style.readable_log(top.axis)
    bottom.axis.set_xlim(top.axis.get_xlim())
    if titled:
        join = "\n" if len(part) <= MOST - 2 else " "
        labels = [(each.exponent.replace(" ", join, 1), each) for each in part if each.exponent]
        top.beside(
            [(float(each.means[each.cells.used][-1]), text, each.series.look(page).colour) for text, each in labels]
        )
    low, high = bottom.axis.get_ylim()
    bottom.axis.set_ylim(min(low, -0.15), max(high, 0.15))


def _worded(key: str, value: float | str) -> str:
    """A setting of a claim, for a title."""
    symbols = {"epsilon": r"$\varepsilon =$ ", "window": "$W =$ ", "dimension": "$d =$ ", "horizon": "$T =$ "}
    return symbols.get(key, f"{key} = ") + (value if isinstance(value, str) else style.count(value))


def bounds(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Measured response between its bounds, one panel a learner that has an explicit upper bound; raises NotRun.

    Dashed above: the learner's own explicit bound; dotted below: the lower bound of the stream, where it has one.
    """
    parameter, response = entry.parameter or "horizon", claims.response
    rows, column = rows_of(runs, entry.experiment), VALUE_COLUMN[parameter]
    learners = [(series, of_learner(rows, series)) for series in series_of(rows) if series.private]
    bounded = [(series, own) for series, own in learners if own["bound"].notna().all()]
    if not bounded:
        raise NotRun(f"no learner with an explicit bound in {entry.experiment}")
    plate = page.plate(len(bounded), 3 if len(bounded) != 4 else 2, height=2.0)
    shares, lower = [], ""
    for panel, (series, own) in zip(plate.panels, bounded, strict=True):
        name = series.name(page)
        value_axis(panel.axis, parameter, rows[column].to_numpy(dtype=float))
        panel.axis.set(yscale="log", xlabel=style.axis_label(parameter, response), ylabel=style.RESPONSES[response])
        panel.axis.set_title(name, fontsize=style.SMALL)
        for stream, part in own.groupby("stream", sort=True):
            drawn = means_by(part, column)._replace(hollow=saturated(part, column))
            above = part.groupby(column)["bound"].mean()
            panel.curve(name, drawn, series.look(page), f"mean on {stream}", legend="")
            panel.line(f"bound of {name}", above.index, above, "explicit bound", key="explicit bound")
            shares.append(float((drawn.means / above.to_numpy()).max()))
            if "lower_bound" in part.columns and part["lower_bound"].notna().all():
                below = part.groupby(column)["lower_bound"].mean()
                panel.line("lower bound", below.index, below, "lower bound", key="lower bound", linestyle=":")
                lower = " Dotted: lower bound of the instance."
        style.readable_log(panel.axis)
    plate.key("measured", color=style.GUIDE, marker="o", linestyle="-")
    _compared(plate)
    how = "stays below" if max(shares) <= 1 else "crosses"
    plate.finding = f"Measured {style.SPOKEN[response]} {how} the explicit bound: at most {max(shares):.2f} of it"
    plate.setting = page.setting(rows, f", bands 95 %; hollow: saturated.{lower}", (parameter,))
    return plate

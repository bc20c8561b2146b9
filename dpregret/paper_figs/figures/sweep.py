"""Curves of one experiment: regret against T, what is printed beside what is right, sweeps of a parameter, their fits
with local slopes, and measured regret between its bounds; first what they are drawn from: learners, means, fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.style import FULL, MOST, Curve, Look, Mask, Page, Panel, Plate
from dpregret.paper_figs.judge import cells as rules
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import LENGTHS, Cells, NotRun, collect_cells, coordinate, log_factor
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile, FigureEntry
from dpregret.paper_figs.judge.verdicts import Judgement, judge_cells
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN, Parameter, Rate

FIRST_ROUND: Final = 64
"""Curves against T start here."""
FREE: Final = "without noise"
"""Variant of a private learner's plays at an infinite budget, where a figure shows both."""


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
        whole = self.free or "*" in self.variant  # the learner without noise, or the best of its variants
        text = page.name(self.learner if whole else f"{self.learner}.{self.variant}") + f", {FREE}" * self.free
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
    """Which cells are hollow, (cells,): those of a private learner that carry no information on a law."""
    means = rows.groupby(column, sort=True)[["regret", "trivial_regret", "displacement"]].mean()
    return np.asarray(rules.saturated(means) & private)


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
    means, _, high = np.array(intervals, dtype=float).reshape(-1, 3).T
    return Curve(np.array(values, dtype=float), means, high - means, hollow)


def panels_of(series: Sequence[Series]) -> list[list[Series]]:
    """Series in panels of at most `MOST`, variants of a learner together, private ones first."""
    groups: dict[tuple[bool, str], list[Series]] = {}
    for each in series:
        groups.setdefault((not each.private and not each.free, each.learner), []).append(each)
    parts = [
        own[start : start + MOST]
        for _, own in sorted(groups.items(), key=lambda item: item[0][0])
        for start in range(0, len(own), MOST)
    ]

    def packed(most: int) -> list[list[Series]]:
        panels: list[list[Series]] = [[]]
        for part in parts:
            if panels[-1] and len(panels[-1]) + len(part) > most:
                panels.append([])
            panels[-1] += part
        return panels

    return min((packed(most) for most in range(max(map(len, parts)), MOST + 1)), key=len)  # the most even of the fewest


class Fitted(NamedTuple):
    """A claim of a power with its cells, and what was found.

    `means` are those of the cells; `used` are fitted cells with a positive mean; `variable` is the coordinate of the
    fit, not its logarithm; `law` the logarithm of the predicted law at the cells, up to a constant; `exponent` is
    written `0.51 [0.50, 0.52]`, empty where nothing was fitted.
    """

    claim: Claim
    cells: Cells
    found: Judgement
    means: Array
    used: Mask
    variable: Array
    rate: Rate
    law: Array
    exponent: str

    def of(self, series: Sequence[Series]) -> bool:
        """Whether it is the fit of one of some learners, in its window where it has one."""
        claim = self.claim
        return any(
            (each.learner, each.variant) == (claim.learner, claim.variant)
            and each.window in (None, claim.where.get("window", each.window))
            for each in series
        )


def fitted(
    runs: pd.DataFrame, claims: ClaimsFile, experiment: str, parameter: Parameter, responses: Collection[str]
) -> list[Fitted]:
    """Claims of powers of a parameter with rows in an experiment; one per learner, variant, stream and setting."""
    chosen: dict[tuple[str, ...], Claim] = {}
    for claim in claims.claims:
        wanted = claim.type == "exponent" and claim.response in responses
        if wanted and (claim.parameter, claim.experiment) == (parameter, experiment):
            key = (claim.learner, claim.variant, claim.stream, claim.response, str(claim.where))
            chosen.setdefault(key, claim)
    found = []
    for claim in chosen.values():
        try:
            cells = collect_cells(runs, claim)
        except NotRun:
            continue
        judged, means = judge_cells(runs, claim, cells), np.asarray(cells.responses.mean(axis=0))
        rate, axis = claim.rate or Rate(), coordinate(claim, cells.values)
        with np.errstate(invalid="ignore", divide="ignore"):
            law = np.asarray(log_factor(claim, rate, cells) + rate.power * axis)
        exponent = "" if np.isnan(judged.fitted.value) else style.interval(judged.fitted)
        found.append(Fitted(claim, cells, judged, means, cells.used & (means > 0), np.exp(axis), rate, law, exponent))
    return found


def legend(page: Page, series: Series, found: Sequence[Fitted]) -> str:
    """The name of a learner, with its exponent where it has one fit."""
    own = [each.exponent for each in found if each.exponent and each.of([series])]
    return f"{series.name(page)}: {own[0]}" if len(own) == 1 else series.name(page)


def draw_law(panel: Panel, each: Fitted, values: Array, above: float) -> None:
    """The predicted law as a dashed slope with its exponent, `above` times the fitted cells."""
    used, law = each.used, each.law[each.used]
    guide = np.exp(law - law.mean() + np.log(each.means[used]).mean()) * above
    what, text, up = f"law {each.rate}, scaled", f"$\\propto {each.rate.latex()}$", "top" if above < 1 else "bottom"
    panel.line("predicted law", values[used], guide, what, text, up=up, color=style.GUIDE)


def verdict_sentence(found: Sequence[Fitted]) -> str:
    """The law, the verdicts on it, and the range of the fitted powers; empty where nothing was fitted."""
    decided = [each for each in found if each.exponent]
    if not decided:
        return ""
    laws = dict.fromkeys(f"${each.rate.latex()}$" for each in decided)
    counts = Counter(each.found.verdict for each in decided).most_common()
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts)
    if len(counts) == 1:
        verdicts = f"all {verdicts}" if len(decided) > 1 else counts[0][0]
    spoken = " and ".join(dict.fromkeys(style.RESPONSES[each.claim.response] for each in decided))
    powers = sorted({round(each.found.fitted.value, 2) + 0.0 for each in decided})
    spread = " to ".join(f"{power:.2f}" for power in dict.fromkeys((powers[0], powers[-1])))
    power = decided[0].exponent if len(decided) == 1 else spread.replace("-", "\N{MINUS SIGN}")
    return f"Law {' or '.join(laws)}: {verdicts}; fitted power of {spoken} {power}"


def least(page: Page, curves: Mapping[Series, Curve], symbol: str, response: str) -> str:
    """Which private learner has the least response at the last value that all have, and by what factor."""
    private = {series: drawn for series, drawn in curves.items() if series.private and not series.free}
    last = min((float(drawn.values.max()) for drawn in private.values()), default=0.0)
    ends = [
        (float(drawn.means[drawn.values == last][0]), series.name(page))
        for series, drawn in private.items()
        if last in drawn.values
    ]
    ranked = sorted(end for end in ends if end[0] > 0)
    if len(ranked) < 2:
        return ""
    (value, best), (more, other) = ranked[:2]
    factor = f"{style.number(more / value)} times less than {other}"
    return f"At ${symbol} =$ {style.number(last)} {best} has the least {response}, {factor}"


def local_slopes(each: Fitted) -> Curve:
    """Slopes of response / law between neighbouring fitted cells."""
    ratio = np.log(each.means[each.used]) - each.law[each.used]
    middle, slopes = fits.local_slopes(ratio, np.log(each.variable)[each.used])
    return Curve(np.exp(middle), slopes)


TRIVIAL: Final = {"regret": "constant point", "excess": "trivial point"}
"""The dotted line of a figure, by response."""
ABOVE: Final = 2.6
"""How far above a curve its predicted law is drawn, and one law above the other: a factor."""


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
    plate = Plate(2 * len(parts), 2, height=1.95)
    found = [each for each in fitted(runs, claims, entry.experiment, "horizon", ("log_slope",)) if each.exponent]
    first: dict[Series, Curve] = {}
    for (stream, part), linear, powers in zip(parts, plate.panels[::2], plate.panels[1::2], strict=True):
        drawn = {each: curve(rows.loc[rows["stream"] == stream], each) for each in part}
        first = drawn | first
        lasts = sorted(drawn[each].means[-1] for each in [each for each in part if each.private] or part)
        top = 1.15 * max(lasts[int(0.7 * (len(lasts) - 1))], 1e-9)  # curves of linear regret do not flatten all others
        for panel in (linear, powers):
            _rounds_axis(panel, "log" if panel is powers else "linear")
            for each in part:
                panel.curve(each.name(page), drawn[each], each.look(page), legend=legend(page, each, found))
        for values, means, *_ in drawn.values():
            late = values >= np.sqrt(values.min() * values.max())
            if late.sum() > 1 and means[-1] <= top:
                logs = np.log(values[late])
                constant, slope = np.polynomial.polynomial.polyfit(logs, means[late], 1)
                linear.line("c + s ln T", values[late], constant + slope * logs, "fit of the later half")
        linear.axis.set_title(page.name(f"stream:{stream}") if len(streams) > 1 else "")
        linear.axis.set_ylim(0, top)
    plate.same_heights(plate.panels[1::2])
    shown = [each for each in found if each.of(series)]
    plate.finding = verdict_sentence(shown) or least(page, first, "T", "regret")
    exponents = " Legend: exponent [95 %] of $dR/d\\ln T$ in $T$, 0 for $\\ln T$." if shown else ""
    how = f", bands 95 %; dashed: $c + s\\,\\ln T$, fitted to the later half; hollow: saturated.{exponents}"
    plate.setting = page.setting(rows, how, ("horizon",))
    return plate


def _rounds_axis(panel: Panel, scale: str) -> None:
    style.log_axis(panel.axis, "x", base=2)
    panel.axis.set(yscale=scale, xlabel=style.AXES["horizon"], ylabel=style.RESPONSES["regret"])


def printed(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Regret against T of printed and corrected variants, one panel a learner, with a line of slope one."""
    rows = rows_of(runs, entry.experiment)
    every = series_of(rows)
    faulty = {each.learner for each in every if each.variant.startswith("printed")}
    learners = list(dict.fromkeys(each.learner for each in every if each.learner in faulty))
    if not learners:
        raise NotRun(f"no printed variant in {entry.experiment}")
    streams = sorted(set(rows["stream"]))
    parts = [(learner, stream) for stream in streams for learner in learners]
    plate = Plate(len(parts), 2, height=2.1)
    factors = []
    for panel, (learner, stream) in zip(plate.panels, parts, strict=True):
        _rounds_axis(panel, "log")
        panel.axis.set_title(page.name(learner) + (f", {page.name(f'stream:{stream}')}" if len(streams) > 1 else ""))
        ends: dict[bool, list[float]] = {True: [], False: []}
        for each in (each for each in every if each.learner == learner):
            drawn = curve(rows.loc[rows["stream"] == stream], each)
            label = each.name(page) if len(learners) > 1 else page.name(f".{each.variant}")
            panel.curve(each.name(page), drawn, each.look(page), legend=label)
            last = float(drawn.means[-1])
            if last > 0:
                ends[each.variant.startswith("printed")].append(last)
            if each.variant == "printed" and last > 0:
                half = drawn.values >= np.sqrt(drawn.values[0] * drawn.values[-1])
                guide = 1.6 * last * drawn.values[half] / drawn.values[-1]
                panel.line("slope one", drawn.values[half], guide, "slope one", r"$\propto T$", color=style.GUIDE)
        if ends[True] and ends[False]:
            factors.append(max(ends[True]) / min(ends[False]))
    if factors:
        where = f"$T =$ {style.number(float(rows['checkpoint'].max()))}"
        times = " to ".join(dict.fromkeys(style.number(end(factors)) for end in (min, max)))
        plate.finding = f"As printed the regret at {where} is {times} times the best of the other variants"
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
    found = [each for each in fitted(runs, claims, entry.experiment, parameter, (response,)) if _same(each, entry)]
    parts = [(str(name), part) for name, own in rows.groupby("stream", sort=True) for part in panels_of(series_of(own))]
    across = 2 if sum(len(part) for _, part in parts) > FULL else 3
    plate = Plate(len(parts), across, height=2.3 if len(parts) == 1 else 1.95)
    curves: dict[str, dict[Series, Curve]] = {stream: {} for stream, _ in parts}
    over = f" / ${Rate(symbol, entry.scaled).latex()}$" if entry.scaled else ""
    for panel, (stream, part) in zip(plate.panels, parts, strict=True):
        own = rows.loc[rows["stream"] == stream]
        here = [each for each in found if each.claim.stream == stream]
        value_axis(panel.axis, parameter, rows[column].to_numpy(dtype=float))
        panel.axis.set(yscale="linear" if entry.scaled else "log", xlabel=style.axis_label(parameter, response))
        panel.axis.set_ylabel(style.RESPONSES[response] + over)
        shown = {each: curve(own, each, column).scaled(entry.scaled) for each in part}
        curves[stream] |= shown
        for each, drawn in shown.items():
            panel.curve(each.name(page), drawn, each.look(page), legend=legend(page, each, here))
        trivial = own.groupby(column)["trivial_regret"].mean()
        trivial = trivial.loc[trivial.index >= min(float(drawn.values[0]) for drawn in shown.values())]
        level = trivial / trivial.index**entry.scaled
        panel.line(TRIVIAL[response], trivial.index, level, "trivial point", key=TRIVIAL[response], linestyle=":")
        panel.axis.set_title(page.name(f"stream:{stream}") if len(curves) > 1 else "")
        if entry.scaled:  # small differences are what such a figure is for
            panel.axis.set_ylim(0.0, 1.15 * max(float(drawn.means.max()) for drawn in curves[stream].values()))
            continue
        laws = [each for each in here if each.of(part) and each.exponent and each.rate.symbol]
        if laws and parameter not in style.COORDINATES:
            low = min(laws, key=lambda each: float(np.exp(each.found.log_level.value)))
            draw_law(panel, low, low.cells.values, 1 / 2.2)
    plate.same_heights(plate.panels)
    if entry.crossing:
        panels = [(panel, curves[stream]) for panel, (stream, _) in zip(plate.panels, parts, strict=True)]
        said = [_crossed(page, panel, drawn, entry.crossing, symbol) for panel, drawn in panels]
        plate.finding = next(filter(None, said), "")
    plate.finding = plate.finding or verdict_sentence(found)
    if not plate.finding and len(curves) == 1:
        plate.finding = least(page, next(iter(curves.values())), symbol, style.RESPONSES[response])
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


def _crossed(page: Page, panel: Panel, shown: Mapping[Series, Curve], pair: tuple[str, str], symbol: str) -> str:
    """Mark where the curves of two learners cross, and say it; empty where they do not, or one is not shown."""
    named = {f"{each.learner}.{each.variant}": each for each in shown}
    named |= {each.learner: each for each in shown if not each.free}
    if not set(pair) <= set(named):
        return ""
    one, other = (named[name] for name in pair)
    places = crossings(shown[one], shown[other])
    for value in places:
        panel.axis.axvline(value, color=style.GUIDE, linewidth=0.8, linestyle=style.DASHED)
        panel.text((value, panel.axis.get_ylim()[1]), style.number(value), "left", "top")
        panel.keep("crossing", [value], [np.nan], what="where the curves cross")
    said = f"{one.name(page)} and {other.name(page)} cross at ${symbol} \\approx$ "
    return said + style.number(places[0]) if len(places) else ""


def crossings(first: Curve, second: Curve) -> Array:
    """Where two curves cross, interpolated in logarithms between neighbouring common positive values."""
    common, at_first, at_second = np.intersect1d(first.values, second.values, return_indices=True)
    positive = (common > 0) & (first.means[at_first] > 0) & (second.means[at_second] > 0)
    ratio = np.log(first.means[at_first][positive] / second.means[at_second][positive])
    change = np.flatnonzero(np.sign(ratio[:-1]) * np.sign(ratio[1:]) < 0)
    place = ratio[change] / (ratio[change] - ratio[change + 1])
    logs = np.log(common[positive])
    return np.asarray(np.exp(logs[change] + place * (logs[change + 1] - logs[change])), dtype=np.float64)


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
    plate = Plate(2 * across * -(-len(parts) // across), across if several else 2)
    for number, part in enumerate(parts):
        first = 2 * across * (number // across) + number % across
        _fits(plate.panels[first], plate.panels[first + across], page, part, several)
    plate.finding = verdict_sentence(found)
    how = (
        ", 95 % intervals. Solid: fitted power, its exponent [95 %] in the legend; dashed: predicted law; hollow: "
        "saturated or too early, not fitted. Local slope of response over law: 0 is the law."
    )
    plate.setting = page.setting(runs.loc[runs["experiment"] == entry.experiment], how, (parameter,))
    return plate


def _fits(top: Panel, bottom: Panel, page: Page, part: list[Fitted], titled: bool) -> None:
    """Cells with their laws above, local slopes below."""
    claim = part[0].claim
    for panel in (top, bottom):
        if claim.parameter in (*LENGTHS, "dimension"):
            style.log_axis(panel.axis, "x", base=2)
        else:
            style.log_axis(panel.axis, "x", np.round(np.concatenate([each.variable for each in part]), 3))
        panel.axis.set_xlabel(style.axis_label(claim.parameter, claim.response, fitted=True))
    top.axis.set(yscale="log", ylabel=style.RESPONSES[claim.response])
    bottom.axis.set_ylabel("local slope, response / law")
    if titled:
        where = [style.fixed(key, value) for key, value in claim.where.items()]
        top.axis.set_title(", ".join([page.name(f"stream:{claim.stream}"), *where]))
    bottom.axis.axhline(0.0, color=style.GUIDE, linewidth=0.7)
    laws: set[str] = set()
    for each in sorted(part, key=lambda each: -float(each.cells.responses.mean())):
        series = Series(each.claim.learner, each.claim.variant)
        look, name = series.look(page), series.name(page)
        drawn = means_of(each.variable, each.cells.responses, ~each.cells.used)
        top.curve(name, drawn, replace(look, dash="none"), band=False, legend=legend(page, series, [each]))
        if each.used.sum() < 2:
            continue
        axis, logs = np.log(each.variable[each.used]), np.log(each.means[each.used])
        line = np.exp(logs.mean() + float(logs @ fits.slope_weights(axis)) * (axis - axis.mean()))
        shown: dict[str, Any] = {"color": look.colour, "linestyle": look.dash, "linewidth": 1.0}
        top.line(name, each.variable[each.used], line, "fitted power", **shown)
        if each.rate.latex() not in laws:
            draw_law(top, each, each.variable, ABOVE ** (1 + len(laws)))
        laws.add(each.rate.latex())
        bottom.curve(name, local_slopes(each), look, "local slope of response over law", legend="")
    bottom.axis.set_xlim(top.axis.get_xlim())
    low, high = bottom.axis.get_ylim()
    bottom.axis.set_ylim(min(low, -0.15), max(high, 0.15))


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
    plate = Plate(len(bounded), 3 if len(bounded) != 4 else 2, height=2.0)
    shares = []
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
                shown = {"key": "lower bound of the instance", "linestyle": ":"}
                panel.line("lower bound", below.index, below, "lower bound", **shown)
    plate.key("measured", color=style.GUIDE, marker="o", linestyle="-")
    plate.same_heights(plate.panels)
    how = "stays below" if max(shares) <= 1 else "crosses"
    plate.finding = f"The {style.RESPONSES[response]} {how} the explicit bound: at most {max(shares):.2f} of it"
    plate.setting = page.setting(rows, ", bands 95 %; hollow: saturated.", (parameter,))
    return plate

"""Curves of one experiment: regret against T, printed beside corrected variants, sweeps of a parameter, their fits with
local slopes, and measured regret between its bounds. First the data that they draw: learners, means, fits."""

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
from dpregret.paper_figs.figures.style import FULL, MOST, Curve, CurveStyle, Mask, Panel, PanelFigure, Theme
from dpregret.paper_figs.judge import cells as rules
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import (
    LENGTHS,
    Cells,
    NotRun,
    collect_cells,
    coordinate,
    log_factor,
    with_inverse,
)  # fmt: skip
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
    def noiseless(self) -> bool:
        """Whether it is a private learner that was run without noise."""
        return self.variant == FREE

    def name(self, theme: Theme) -> str:
        """Text of the legend."""
        short = self.noiseless or "*" in self.variant  # the learner without noise, or the best of its variants
        text = theme.name(self.learner if short else f"{self.learner}.{self.variant}") + f", {FREE}" * self.noiseless
        return text + (f", $W = {self.window}$" if self.window else "")

    def style(self, theme: Theme) -> CurveStyle:
        """The style of its curve."""
        curve_style = theme.styles.of(self.learner, self.variant, self.private)
        return curve_style.without_noise() if self.noiseless else curve_style


def series_of(rows: pd.DataFrame) -> list[Series]:
    """All learners of some rows, private ones first; a windowed learner at its median window."""
    entries = []
    for (learner, variant), group in rows.groupby(["learner", "variant"], sort=True):
        windows = sorted(set(group["window"])) if group["anytime"].all() else []
        window = int(windows[len(windows) // 2]) if len(windows) > 1 else None
        private = bool(np.isfinite(group["epsilon"]).all())
        entries.append(Series(str(learner), str(variant), window, private))
    return sorted(entries, key=lambda series: not series.private)


def rows_of(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Finished rows of an experiment; raises NotRun."""
    rows = runs.loc[(runs["experiment"] == experiment) & (runs["status"] == "ok")]
    if rows.empty:
        raise NotRun(f"no rows of {experiment}")
    return rows


def of_learner(rows: pd.DataFrame, series: Series) -> pd.DataFrame:
    """The rows of a learner in its variant."""
    return rows.loc[(rows["learner"] == series.learner) & (rows["variant"] == series.variant)]


def curve_of(rows: pd.DataFrame, series: Series, column: str = "checkpoint") -> Curve:
    """The curve of a learner from the finished rows of an experiment; raises NotRun."""
    group = of_learner(rows, series)
    if series.window is not None:
        group = group.loc[group["window"] == series.window]
    ends = group["checkpoint"] == group["horizon"]
    group = group.loc[np.where(group["anytime"], group["horizon"] == group["horizon"].max(), ends)]
    if column == "checkpoint":
        group = group.loc[group["checkpoint"] >= FIRST_ROUND]
    if group.empty:
        raise NotRun(f"{series.learner}.{series.variant} has no rows")
    return means_by(group, column)._replace(hollow=saturated(group, column, series.private))


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


def panels_of(entries: Sequence[Series]) -> list[list[Series]]:
    """Series in panels of at most `MOST`, variants of a learner together, private ones first."""
    groups: dict[tuple[bool, str], list[Series]] = {}
    for series in entries:
        groups.setdefault((not series.private and not series.noiseless, series.learner), []).append(series)
    parts = [
        group[start : start + MOST]
        for _, group in sorted(groups.items(), key=lambda item: item[0][0])
        for start in range(0, len(group), MOST)
    ]

    def packed(size: int) -> list[list[Series]]:
        panels: list[list[Series]] = [[]]
        for part in parts:
            if panels[-1] and len(panels[-1]) + len(part) > size:
                panels.append([])
            panels[-1] += part
        return panels

    return min((packed(size) for size in range(max(map(len, parts)), MOST + 1)), key=len)  # the most even of the fewest


class FittedClaim(NamedTuple):
    """A claim of a power with its cells and its judgement.

    `means` are those of the cells; `used` are fitted cells with a positive mean; `variable` is the coordinate of the
    fit, not its logarithm; `law` the logarithm of the predicted law at the cells, up to a constant; `exponent` is
    written `0.51 [0.50, 0.52]`, empty where nothing was fitted.
    """

    claim: Claim
    cells: Cells
    judgement: Judgement
    means: Array
    used: Mask
    variable: Array
    rate: Rate
    law: Array
    exponent: str

    def of(self, entries: Sequence[Series]) -> bool:
        """Whether it is the fit of one of these learners, in its window where it has one."""
        claim = self.claim
        return any(
            (series.learner, series.variant) == (claim.learner, claim.variant)
            and series.window in (None, claim.where.get("window", series.window))
            for series in entries
        )


def fit_claims(
    runs: pd.DataFrame, claims: ClaimsFile, experiment: str, parameter: Parameter, responses: Collection[str]
) -> list[FittedClaim]:
    """Claims of powers of a parameter with rows in an experiment; one per learner, variant, stream and setting."""
    chosen: dict[tuple[str, ...], Claim] = {}
    for claim in claims.claims:
        matches = claim.type == "exponent" and claim.response in responses
        if matches and (claim.parameter, claim.experiment) == (parameter, experiment):
            key = (claim.learner, claim.variant, claim.stream, claim.response, str(claim.where))
            chosen.setdefault(key, claim)
    fitted = []
    for claim in chosen.values():
        try:
            cells = collect_cells(runs, claim)
        except NotRun:
            continue
        judged, means = judge_cells(runs, claim, cells), np.asarray(cells.responses.mean(axis=0))
        rate, axis, used = claim.rate or Rate(), coordinate(claim, cells.values), cells.used & (means > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            law = np.asarray(log_factor(claim, rate, cells) + rate.power * axis)
        exponent = "" if np.isnan(judged.fitted.value) else style.interval(judged.fitted)
        fitted.append(FittedClaim(claim, cells, judged, means, used, np.exp(axis), rate, law, exponent))
    return fitted


def legend(theme: Theme, series: Series, fitted: Sequence[FittedClaim]) -> str:
    """The name of a learner, with its exponent where it has one fit."""
    exponents = [fit.exponent for fit in fitted if fit.exponent and fit.of([series])]
    return f"{series.name(theme)}: {exponents[0]}" if len(exponents) == 1 else series.name(theme)


def draw_law(panel: Panel, fit: FittedClaim, values: Array, above: float) -> None:
    """The predicted law as a dashed slope with its exponent, `above` times the fitted cells."""
    used, law = fit.used, fit.law[fit.used]
    guide = np.exp(law - law.mean() + np.log(fit.means[used]).mean()) * above
    what, text, up = f"law {fit.rate}, scaled", f"$\\propto {fit.rate.latex()}$", "top" if above < 1 else "bottom"
    panel.line("predicted law", values[used], guide, what, text, up=up, color=style.GUIDE)


def verdict_sentence(fitted: Sequence[FittedClaim]) -> str:
    """The law, the verdicts on it, and the range of the fitted powers; empty where nothing was fitted."""
    decided = [fit for fit in fitted if fit.exponent]
    if not decided:
        return ""
    laws = dict.fromkeys(f"${fit.rate.latex()}$" for fit in decided)
    counts = Counter(fit.judgement.verdict for fit in decided).most_common()
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts)
    if len(counts) == 1:
        verdicts = f"all {verdicts}" if len(decided) > 1 else counts[0][0]
    responses = " and ".join(dict.fromkeys(style.RESPONSES[fit.claim.response] for fit in decided))
    powers = sorted({round(fit.judgement.fitted.value, 2) + 0.0 for fit in decided})
    spread = " to ".join(f"{power:.2f}" for power in dict.fromkeys((powers[0], powers[-1])))
    power = decided[0].exponent if len(decided) == 1 else spread.replace("-", "\N{MINUS SIGN}")
    return f"Law {' or '.join(laws)}: {verdicts}; fitted power of {responses} {power}"


def least(theme: Theme, curves: Mapping[Series, Curve], symbol: str, response: str) -> str:
    """Which private learner has the least response at the last value that all have, and by what factor."""
    private = {series: curve for series, curve in curves.items() if series.private and not series.noiseless}
    last = min((float(curve.values.max()) for curve in private.values()), default=0.0)
    ends = [
        (float(curve.means[curve.values == last][0]), series.name(theme))
        for series, curve in private.items()
        if last in curve.values
    ]
    ranked = sorted(end for end in ends if end[0] > 0)
    if len(ranked) < 2:
        return ""
    (value, best), (more, second) = ranked[:2]
    factor = f"{style.number(more / value)} times less than {second}"
    return f"At ${symbol} =$ {style.number(last)} {best} has the least {response}, {factor}"


def local_slopes(fit: FittedClaim) -> Curve:
    """Slopes of response / law between neighbouring fitted cells."""
    ratio = np.log(fit.means[fit.used]) - fit.law[fit.used]
    middle, slopes = fits.local_slopes(ratio, np.log(fit.variable)[fit.used])
    return Curve(np.exp(middle), slopes)


TRIVIAL: Final = {"regret": "fixed-point baseline", "excess": "fixed-point baseline"}
"""The dotted line of a figure, by response."""
ABOVE: Final = 2.6
"""How far above a curve its predicted law is drawn, and one law above the other: a factor."""


def regret(theme: Theme, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> PanelFigure:
    """Mean regret against T, a pair of panels for at most six curves; raises NotRun.

    Left: a linear axis, where ln T is a straight line (dashed, fitted to the later half). Right: a logarithmic one,
    where powers are straight. Learners without privacy are grey.
    """
    rows = rows_of(runs, entry.experiment)
    entries = [series for series in series_of(rows) if series.variant != "printed"]
    if not any(series.private for series in entries):
        raise NotRun("no learner with privacy")
    streams = sorted(set(rows["stream"]))
    parts = [(stream, part) for stream in streams for part in panels_of(entries)]
    figure = PanelFigure(2 * len(parts), 2, height=1.95)
    fitted = [fit for fit in fit_claims(runs, claims, entry.experiment, "horizon", ("log_slope",)) if fit.exponent]
    first: dict[Series, Curve] = {}
    for (stream, part), linear, powers in zip(parts, figure.panels[::2], figure.panels[1::2], strict=True):
        curves = {series: curve_of(rows.loc[rows["stream"] == stream], series) for series in part}
        first = curves | first
        lasts = sorted(curves[series].means[-1] for series in [series for series in part if series.private] or part)
        top = 1.15 * max(lasts[int(0.7 * (len(lasts) - 1))], 1e-9)  # curves of linear regret do not flatten all others
        for panel in (linear, powers):
            _rounds_axis(panel, "log" if panel is powers else "linear")
            for series in part:
                panel.curve(series.name(theme), curves[series], series.style(theme), key=legend(theme, series, fitted))
        for values, means, *_ in curves.values():
            late = values >= np.sqrt(values.min() * values.max())
            if late.sum() > 1 and means[-1] <= top:
                logs = np.log(values[late])
                constant, slope = np.polynomial.polynomial.polyfit(logs, means[late], 1)
                linear.line("c + s ln T", values[late], constant + slope * logs, "fit of the later half")
        linear.axis.set_title(theme.name(f"stream:{stream}") if len(streams) > 1 else "")
        linear.axis.set_ylim(0, top)
    figure.same_heights(figure.panels[1::2])
    shown_fits = [fit for fit in fitted if fit.of(entries)]
    figure.finding = verdict_sentence(shown_fits) or least(theme, first, "T", "regret")
    exponents = " Legend: exponent [95 %] of $dR/d\\ln T$ in $T$, 0 for $\\ln T$." if shown_fits else ""
    how = f", bands 95 %; dashed: $c + s\\,\\ln T$, fitted to the later half; hollow: saturated.{exponents}"
    figure.setting = theme.small_print(rows, how, ("horizon",))
    return figure


def _rounds_axis(panel: Panel, scale: str) -> None:
    style.log_axis(panel.axis, "x", base=2)
    panel.axis.set(yscale=scale, xlabel=style.AXES["horizon"], ylabel=style.RESPONSES["regret"])


def printed(theme: Theme, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> PanelFigure:
    """Regret against T of printed and corrected variants, one panel per learner, with a line of slope one."""
    rows = rows_of(runs, entry.experiment)
    entries = series_of(rows)
    faulty = {series.learner for series in entries if series.variant.startswith("printed")}
    learners = list(dict.fromkeys(series.learner for series in entries if series.learner in faulty))
    if not learners:
        raise NotRun(f"no printed variant in {entry.experiment}")
    streams = sorted(set(rows["stream"]))
    parts = [(learner, stream) for stream in streams for learner in learners]
    figure = PanelFigure(len(parts), 2, height=2.1)
    factors = []
    for panel, (learner, stream) in zip(figure.panels, parts, strict=True):
        _rounds_axis(panel, "log")
        panel.axis.set_title(theme.name(learner) + (f", {theme.name(f'stream:{stream}')}" if len(streams) > 1 else ""))
        ends: dict[bool, list[float]] = {True: [], False: []}
        for series in (series for series in entries if series.learner == learner):
            curve = curve_of(rows.loc[rows["stream"] == stream], series)
            label = series.name(theme) if len(learners) > 1 else theme.name(f".{series.variant}")
            panel.curve(series.name(theme), curve, series.style(theme), key=label)
            last = float(curve.means[-1])
            if last > 0:
                ends[series.variant.startswith("printed")].append(last)
            if series.variant == "printed" and last > 0:
                half = curve.values >= np.sqrt(curve.values[0] * curve.values[-1])
                guide = 1.6 * last * curve.values[half] / curve.values[-1]
                panel.line("slope one", curve.values[half], guide, "slope one", r"$\propto T$", color=style.GUIDE)
        if ends[True] and ends[False]:
            factors.append(max(ends[True]) / min(ends[False]))
    if factors:
        where = f"$T =$ {style.number(float(rows['checkpoint'].max()))}"
        times = " to ".join(dict.fromkeys(style.number(end(factors)) for end in (min, max)))
        figure.finding = f"As printed the regret at {where} is {times} times the best of the other variants"
    figure.setting = theme.small_print(rows, ", bands 95 %; hollow: saturated.", ("horizon",))
    return figure


def sweep(theme: Theme, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> PanelFigure:
    """Response against the swept parameter, panels by stream and at most six curves each; raises NotRun.

    The dotted line is the fixed-point baseline. If the entry names two learners, a vertical line marks where their
    curves cross; if it has a power `scaled`, everything is divided by that power of the parameter.
    """
    parameter, response = entry.parameter or "horizon", claims.response
    rows = with_inverse(at(rows_of(runs, entry.experiment), entry), parameter)
    column, symbol = VALUE_COLUMN[parameter], style.symbol_of(parameter, response)
    fitted = [fit for fit in fit_claims(runs, claims, entry.experiment, parameter, (response,)) if _same(fit, entry)]
    parts = [(str(key), part) for key, data in rows.groupby("stream", sort=True) for part in panels_of(series_of(data))]
    across = 2 if sum(len(part) for _, part in parts) > FULL else 3
    figure = PanelFigure(len(parts), across, height=2.3 if len(parts) == 1 else 1.95)
    curves: dict[str, dict[Series, Curve]] = {stream: {} for stream, _ in parts}
    over = f" / ${Rate(symbol, entry.scaled).latex()}$" if entry.scaled else ""
    for panel, (stream, part) in zip(figure.panels, parts, strict=True):
        data = rows.loc[rows["stream"] == stream]
        panel_fits = [fit for fit in fitted if fit.claim.stream == stream]
        value_axis(panel.axis, parameter, rows[column].to_numpy(dtype=float))
        panel.axis.set(yscale="linear" if entry.scaled else "log", xlabel=style.axis_label(parameter, response))
        panel.axis.set_ylabel(style.RESPONSES[response] + over)
        shown_curves = {series: curve_of(data, series, column).scaled(entry.scaled) for series in part}
        curves[stream] |= shown_curves
        for series, curve in shown_curves.items():
            panel.curve(series.name(theme), curve, series.style(theme), key=legend(theme, series, panel_fits))
        trivial = data.groupby(column)["trivial_regret"].mean()
        trivial = trivial.loc[trivial.index >= min(float(curve.values[0]) for curve in shown_curves.values())]
        level = trivial / trivial.index**entry.scaled
        panel.line(TRIVIAL[response], trivial.index, level, "fixed point", key=TRIVIAL[response], linestyle=":")
        panel.axis.set_title(theme.name(f"stream:{stream}") if len(curves) > 1 else "")
        if entry.scaled:  # small differences are what such a figure is for
            panel.axis.set_ylim(0.0, 1.15 * max(float(curve.means.max()) for curve in curves[stream].values()))
            continue
        laws = [fit for fit in panel_fits if fit.of(part) and fit.exponent and fit.rate.symbol]
        if laws and parameter not in style.COORDINATES:
            low = min(laws, key=lambda fit: float(np.exp(fit.judgement.log_level.value)))
            draw_law(panel, low, low.cells.values, 1 / 2.2)
    figure.same_heights(figure.panels)
    if entry.crossing:
        panels = [(panel, curves[stream]) for panel, (stream, _) in zip(figure.panels, parts, strict=True)]
        sentences = [_crossed(theme, panel, pair_curves, entry.crossing, symbol) for panel, pair_curves in panels]
        figure.finding = next(filter(None, sentences), "")
    figure.finding = figure.finding or verdict_sentence(fitted)
    if not figure.finding and len(curves) == 1:
        figure.finding = least(theme, next(iter(curves.values())), symbol, style.RESPONSES[response])
    note = " Numbers in the legend: fitted exponent [95 %]." if any(fit.exponent for fit in fitted) else ""
    without = (parameter, "stream") if len(curves) > 1 else (parameter,)
    figure.setting = theme.small_print(rows, f", bands 95 %; hollow: saturated.{note}", without)
    return figure


def at(rows: pd.DataFrame, entry: FigureEntry) -> pd.DataFrame:
    """Rows at the settings of the entry of private learners that vary them, all rows of others, and its counterpart."""
    learners = rows.groupby(["learner", "variant"])
    private = learners["epsilon"].transform(lambda epsilons: np.isfinite(epsilons).any()).to_numpy(dtype=bool)
    selected = np.ones(len(rows), dtype=bool)
    for key, value in entry.where.items():
        varied = learners[key].transform("nunique").to_numpy() > 1  # one without a window has that of its horizon
        selected &= np.isclose(rows[key].astype(float), value) | ~(private & varied)
    chosen: pd.DataFrame = rows.loc[selected]
    if entry.counterpart is None:
        return chosen
    learner, variant = entry.counterpart.split(".", 1)
    noiseless = of_learner(rows, Series(learner, variant))
    noiseless = noiseless.loc[np.isinf(noiseless["epsilon"])].assign(variant=FREE)
    return pd.concat([chosen, noiseless], ignore_index=True)


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


def _same(fit: FittedClaim, entry: FigureEntry) -> bool:
    """Whether a claim is about the settings that the figure shows."""
    where = {key: value for key, value in fit.claim.where.items() if not isinstance(value, str)}
    return all(entry.where.get(key, value) == value for key, value in where.items())


def _crossed(theme: Theme, panel: Panel, curves: Mapping[Series, Curve], pair: tuple[str, str], symbol: str) -> str:
    """Mark where the curves of two learners cross; return a sentence, empty if they do not cross or one is missing."""
    by_name = {f"{series.learner}.{series.variant}": series for series in curves}
    by_name |= {series.learner: series for series in curves if not series.noiseless}
    if not set(pair) <= set(by_name):
        return ""
    first, second = (by_name[name] for name in pair)
    points = crossings(curves[first], curves[second])
    for value in points:
        panel.axis.axvline(value, color=style.GUIDE, linewidth=0.8, linestyle=style.DASHED)
        panel.text((value, panel.axis.get_ylim()[1]), style.number(value), "left", "top")
        panel.keep("crossing", [value], [np.nan], what="where the curves cross")
    sentence = f"{first.name(theme)} and {second.name(theme)} cross at ${symbol} \\approx$ "
    return sentence + style.number(points[0]) if len(points) else ""


def crossings(first: Curve, second: Curve) -> Array:
    """Where two curves cross, interpolated in logarithms between neighbouring common positive values."""
    common, at_first, at_second = np.intersect1d(first.values, second.values, return_indices=True)
    positive = (common > 0) & (first.means[at_first] > 0) & (second.means[at_second] > 0)
    ratio = np.log(first.means[at_first][positive] / second.means[at_second][positive])
    change = np.flatnonzero(np.sign(ratio[:-1]) * np.sign(ratio[1:]) < 0)
    fraction = ratio[change] / (ratio[change] - ratio[change + 1])
    logs = np.log(common[positive])
    return np.asarray(np.exp(logs[change] + fraction * (logs[change + 1] - logs[change])), dtype=np.float64)


def exponent(theme: Theme, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> PanelFigure:
    """Above (or left): means, fitted powers and the predicted law; below: local slopes of response over law.

    Hollow cells are not fitted. Claims of several streams, settings or responses have separate panels. Raises
    NotRun when no claim on the parameter has rows.
    """
    parameter = entry.parameter or "horizon"
    fitted = fit_claims(runs, claims, entry.experiment, parameter, entry.responses)
    if not fitted:
        raise NotRun(f"no claim on {parameter} has rows in {entry.experiment}")
    groups: dict[tuple[str, str, str], list[FittedClaim]] = {}
    for fit in fitted:
        claim = fit.claim
        groups.setdefault((claim.response, claim.stream, str(sorted(claim.where.items()))), []).append(fit)
    parts = [group[start : start + MOST] for group in groups.values() for start in range(0, len(group), MOST)]
    several, across = len(parts) > 1, min(3, len(parts))
    figure = PanelFigure(2 * across * -(-len(parts) // across), across if several else 2)
    for number, part in enumerate(parts):
        first = 2 * across * (number // across) + number % across
        _fits(figure.panels[first], figure.panels[first + across], theme, part, several)
    figure.finding = verdict_sentence(fitted)
    how = (
        ", 95 % intervals. Solid: fitted power, its exponent [95 %] in the legend; dashed: predicted law; hollow: "
        "saturated or too early, not fitted. Local slope of response over law: 0 is the law."
    )
    figure.setting = theme.small_print(runs.loc[runs["experiment"] == entry.experiment], how, (parameter,))
    return figure


def _fits(top: Panel, bottom: Panel, theme: Theme, fitted: list[FittedClaim], titled: bool) -> None:
    """Cells with their laws above, local slopes below."""
    claim = fitted[0].claim
    for panel in (top, bottom):
        if claim.parameter in (*LENGTHS, "dimension"):
            style.log_axis(panel.axis, "x", base=2)
        else:
            style.log_axis(panel.axis, "x", np.round(np.concatenate([fit.variable for fit in fitted]), 3))
        panel.axis.set_xlabel(style.axis_label(claim.parameter, claim.response, fitted=True))
    top.axis.set(yscale="log", ylabel=style.RESPONSES[claim.response])
    bottom.axis.set_ylabel("local slope, response / law")
    if titled:
        where = [style.fixed(key, value) for key, value in claim.where.items()]
        top.axis.set_title(", ".join([theme.name(f"stream:{claim.stream}"), *where]))
    bottom.axis.axhline(0.0, color=style.GUIDE, linewidth=0.7)
    laws: set[str] = set()
    for fit in sorted(fitted, key=lambda fit: -float(fit.cells.responses.mean())):
        series = Series(fit.claim.learner, fit.claim.variant)
        curve_style, name = series.style(theme), series.name(theme)
        curve = means_of(fit.variable, fit.cells.responses, ~fit.cells.used)
        top.curve(name, curve, replace(curve_style, dash="none"), band=False, key=legend(theme, series, [fit]))
        if fit.used.sum() < 2:
            continue
        axis, logs = np.log(fit.variable[fit.used]), np.log(fit.means[fit.used])
        line = np.exp(logs.mean() + float(logs @ fits.slope_weights(axis)) * (axis - axis.mean()))
        options: dict[str, Any] = {"color": curve_style.colour, "linestyle": curve_style.dash, "linewidth": 1.0}
        top.line(name, fit.variable[fit.used], line, "fitted power", **options)
        if fit.rate.latex() not in laws:
            draw_law(top, fit, fit.variable, ABOVE ** (1 + len(laws)))
        laws.add(fit.rate.latex())
        bottom.curve(name, local_slopes(fit), curve_style, "local slope of response over law", key="")
    bottom.axis.set_xlim(top.axis.get_xlim())
    low, high = bottom.axis.get_ylim()
    bottom.axis.set_ylim(min(low, -0.15), max(high, 0.15))


def bounds(theme: Theme, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> PanelFigure:
    """Measured response between its bounds, one panel per learner with an explicit upper bound; raises NotRun.

    Dashed above: the learner's own explicit bound; dotted below: the lower bound of the stream, where it has one.
    """
    parameter, response = entry.parameter or "horizon", claims.response
    rows, column = with_inverse(rows_of(runs, entry.experiment), parameter), VALUE_COLUMN[parameter]
    learners = [(series, of_learner(rows, series)) for series in series_of(rows) if series.private]
    bounded = [(series, group) for series, group in learners if group["bound"].notna().all()]
    if not bounded:
        raise NotRun(f"no learner with an explicit bound in {entry.experiment}")
    figure = PanelFigure(len(bounded), 3 if len(bounded) != 4 else 2, height=2.0)
    shares = []
    for panel, (series, group) in zip(figure.panels, bounded, strict=True):
        name = series.name(theme)
        value_axis(panel.axis, parameter, rows[column].to_numpy(dtype=float))
        panel.axis.set(yscale="log", xlabel=style.axis_label(parameter, response), ylabel=style.RESPONSES[response])
        panel.axis.set_title(name, fontsize=style.SMALL)
        for stream, stream_rows in group.groupby("stream", sort=True):
            curve = means_by(stream_rows, column)._replace(hollow=saturated(stream_rows, column))
            above = stream_rows.groupby(column)["bound"].mean()
            panel.curve(name, curve, series.style(theme), f"mean on {stream}", key="")
            panel.line(f"bound of {name}", above.index, above, "explicit bound", key="explicit bound")
            shares.append(float((curve.means / above.to_numpy()).max()))
            if "lower_bound" in stream_rows.columns and stream_rows["lower_bound"].notna().all():
                below = stream_rows.groupby(column)["lower_bound"].mean()
                options = {"key": "lower bound of the instance", "linestyle": ":"}
                panel.line("lower bound", below.index, below, "lower bound", **options)
    figure.key("measured", color=style.GUIDE, marker="o", linestyle="-")
    figure.same_heights(figure.panels)
    how = "stays below" if max(shares) <= 1 else "crosses"
    figure.finding = f"The {style.RESPONSES[response]} {how} the explicit bound: at most {max(shares):.2f} of it"
    figure.setting = theme.small_print(rows, ", bands 95 %; hollow: saturated.", (parameter,))
    return figure

"""Curves of one experiment: regret against T, printed beside corrected variants, sweeps of a parameter, their fits with
local slopes, and measured regret between its bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import curves, style
from dpregret.paper_figs.figures.curves import FittedClaim, Series
from dpregret.paper_figs.figures.grammar import Curve, Panel, PanelFigure, Source, Theme, figure_type
from dpregret.paper_figs.figures.style import MOST, CurveStyle
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge import vocabulary as word
from dpregret.paper_figs.judge.cells import LENGTHS, NotRun, with_inverse
from dpregret.paper_figs.judge.claims import FigureEntry
from dpregret.paper_figs.judge.runs import rows_at
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN

TRIVIAL: Final = "fixed-point baseline"
"""The dotted line of a figure."""
HOLLOW: Final = ", bands 95 %; hollow: saturated."
FOLLOWED: Final = (word.REPRODUCED, word.UP_TO_LOGS, word.SEEN_HERE, word.HOLDS)
"""Verdicts on a law that a curve follows."""
ABOVE: Final = 2.6
"""How far above a curve its predicted law is drawn, and one law above the other: a factor."""


def least(figure: PanelFigure, theme: Theme, symbol: str, response: str) -> str:
    """Which private learner of a figure of one panel has the least response at the last value that all have, and by
    what factor; empty for several panels."""
    drawn: Mapping[Series, Curve] = figure.panels[0].curves
    private = {series: curve for series, curve in drawn.items() if series.private and not series.noiseless}
    last = min((float(curve.values.max()) for curve in private.values()), default=0.0)
    ends = [
        (float(curve.means[curve.values == last][0]), series.name(theme))
        for series, curve in private.items()
        if last in curve.values
    ]
    ranked = sorted(end for end in ends if end[0] > 0)
    if len(ranked) < 2 or len(figure.panels) > 1:
        return ""
    (value, best), (more, second) = ranked[:2]
    factor = f"{style.latex_number(more / value)} times less than {second}"
    return f"At ${symbol} =$ {style.latex_number(last)} {best} has the least {response}, {factor}"


@figure_type("regret", "experiment")
def regret(source: Source) -> PanelFigure:
    """Mean regret against T, private and other learners in one panel; raises NotRun.

    Where a claim says that regret grows like ln T, a further panel shows those learners alone on a linear axis, where
    ln T is a straight line (dashed, fitted to the later half).
    """
    rows = source.rows.loc[lambda rows: rows["variant"] != "printed"]
    if not any(series.private for series in curves.series_of(rows)):
        raise NotRun("no learner with privacy")
    claimed = curves.fit_claims(source.runs, source.claims, source.entry.experiment, "horizon", ("log_slope",))
    fitted = [fit for fit in claimed if fit.exponent]
    straight = {fit.claim.stream for fit in fitted}
    figure = curves.draw(source, rows, "horizon", "regret", fitted=fitted, further=len(straight))
    drawn = figure.panels[: len(figure.panels) - len(straight)]
    shown = {series: curve for panel in drawn for series, curve in panel.curves.items()}
    for panel, stream in zip(figure.panels[len(drawn) :], sorted(straight), strict=True):
        of_stream = [fit for fit in fitted if fit.claim.stream == stream]
        own = {series: curve for series, curve in shown.items() if any(fit.of([series]) for fit in of_stream)}
        _on_a_linear_axis(panel, source.theme, own)
        name = source.theme.name(f"stream:{stream}")
        panel.axis.set_title(f"{name}: linear axis" if len(drawn) > 1 else "the same on a linear axis")
    symbol = style.symbol_of("horizon")
    figure.finding = curves.verdict_sentence(curves.of_drawn(fitted, figure)) or least(
        figure, source.theme, symbol, "regret"
    )
    exponents = " At the end of a curve: exponent [95 %] of $dR/d\\ln T$ in $T$, 0 for $\\ln T$." * curves.noted(figure)
    line = " Dashed: $c + s\\,\\ln T$." * bool(straight)
    figure.setting = source.theme.setting(rows, HOLLOW + exponents + line, ("horizon",))
    return figure


def _on_a_linear_axis(panel: Panel, theme: Theme, drawn: Mapping[Series, Curve]) -> None:
    """Curves against T, each with the line c + s ln T through its later half."""
    curves.value_axis(panel.axis, "horizon", np.concatenate([curve.values for curve in drawn.values()]))
    panel.axis.set(xlabel=style.AXES["horizon"], ylabel=style.RESPONSES["regret"])
    for series, curve in drawn.items():
        panel.curve(series.name(theme), curve, series.style(theme))
        late = curve.values >= np.sqrt(curve.values.min() * curve.values.max())
        if late.sum() > 1:
            logs = np.log(curve.values[late])
            constant, slope = np.polynomial.polynomial.polyfit(logs, curve.means[late], 1)
            panel.line("c + s ln T", curve.values[late], constant + slope * logs, "fit of the later half")
    panel.axis.set_ylim(bottom=0.0)


@figure_type("printed", "experiment")
def printed(source: Source) -> PanelFigure:
    """Regret against T of printed and corrected variants, one panel per learner, with a line of slope one."""
    rows, theme = source.rows, source.theme
    rows = rows.loc[rows["learner"].isin(rows.loc[rows["variant"].str.startswith("printed"), "learner"].unique())]
    if rows.empty:
        raise NotRun(f"no printed variant in {source.entry.experiment}")
    variants = sorted(rows["variant"].unique())

    def look(series: Series) -> tuple[str, CurveStyle]:
        dash = style.DASHED if series.variant.startswith("printed") else "-"
        return theme.name(f".{series.variant}"), replace(style.stepped(variants.index(series.variant)), dash=dash)

    def slope_one(panel: Panel, _: pd.DataFrame) -> None:
        for series, curve in panel.curves.items():
            if series.variant == "printed" and curve.means[-1] > 0:
                half = curve.values >= np.sqrt(curve.values[0] * curve.values[-1])
                law = 1.6 * curve.means[-1] * curve.values[half] / curve.values[-1]
                panel.line("slope one", curve.values[half], law, "slope one", r"$\propto T$", color=style.GUIDE)

    figure = curves.draw(
        source, rows, "horizon", "regret", over=("stream", "learner"), guides=[slope_one], look=look, across=2
    )
    factors = [*filter(None, map(_factor, figure.panels))]
    if factors:
        where = f"$T =$ {style.latex_number(float(rows['checkpoint'].max()))}"
        times = " to ".join(dict.fromkeys(style.latex_number(end(factors)) for end in (min, max)))
        figure.finding = f"As printed the regret at {where} is {times} times the best of the other variants"
    figure.setting = theme.setting(rows, ", bands 95 %.", ("horizon",))
    return figure


def _factor(panel: Panel) -> float:
    """The last regret of the worst printed variant over that of the best other one; 0 where there is none above 0."""
    ends: dict[bool, list[float]] = {True: [], False: []}
    for series, curve in panel.curves.items():
        ends[series.variant.startswith("printed")].append(float(curve.means[-1]))
    least = min(ends[False], default=0.0)
    return max(ends[True]) / least if least > 0 else 0.0


@figure_type("sweep", "experiment parameter crossing where counterpart scaled learners")
def sweep(source: Source) -> PanelFigure:
    """Response against the swept parameter, panels by stream; raises NotRun.

    The dotted line is the fixed-point baseline; dashed is a law, of a private learner that follows it where there is
    one. If the entry names two learners, a vertical line marks where their curves cross; if it has a power `scaled`,
    everything is divided by that power of the parameter.
    """
    entry, theme, parameter, response = source.entry, source.theme, source.parameter, source.claims.response
    rows = with_inverse(at(curves.without_fixed_points(source.shown), entry), parameter)
    if entry.learners:
        chosen = rows["learner"].isin(entry.learners) | (rows["learner"] + "." + rows["variant"]).isin(entry.learners)
        rows = rows.loc[chosen]
    column, symbol = VALUE_COLUMN[parameter], style.symbol_of(parameter, response)
    claimed = curves.fit_claims(source.runs, source.claims, entry.experiment, parameter, (response,))
    fitted = [fit for fit in claimed if _same(fit, entry)]

    guides = [lambda panel, group: _baseline(panel, group.groupby(column)["trivial_regret"].mean(), entry.scaled)]
    if not entry.scaled and parameter not in style.COORDINATES:
        guides.append(lambda panel, group: _law(panel, set(group["stream"].unique()), fitted))
    figure = curves.draw(source, rows, parameter, response, guides=guides, fitted=fitted, scaled=entry.scaled)
    if entry.crossing:
        sentences = [_crossed(theme, panel, entry.crossing, symbol) for panel in figure.panels]
        figure.finding = next(filter(None, sentences), "")
    figure.finding = figure.finding or curves.verdict_sentence(curves.of_drawn(fitted, figure))
    figure.finding = figure.finding or least(figure, theme, symbol, style.RESPONSES[response])
    note = " At the end of a curve: fitted exponent [95 %]." * curves.noted(figure)
    several = rows["stream"].nunique() > 1
    figure.setting = theme.setting(rows, HOLLOW + note, (parameter, "stream") if several else (parameter,))
    return figure


def _baseline(panel: Panel, trivial: pd.Series, scaled: float) -> None:
    """The fixed-point baseline at finite values of the parameter; where all is divided by a power of
    it, only if it is no higher than the curves."""
    least = min(float(curve.values[0]) for curve in panel.curves.values())
    trivial = trivial.loc[(trivial.index >= least) & np.isfinite(trivial.index)]
    level = trivial / trivial.index**scaled
    if not scaled or level.min() < curves.TOP * curves.largest(panel):
        panel.line(TRIVIAL, trivial.index, level, "fixed point", key=TRIVIAL, linestyle=":")


def _law(panel: Panel, streams: Collection[str], fitted: Iterable[FittedClaim]) -> None:
    """The predicted law of one learner of the panel: private, and following it, where there is such a one."""
    private = [series for series in panel.curves if series.private]

    def rank(fit: FittedClaim) -> tuple[bool, bool, float]:
        return not fit.of(private), fit.judgement.verdict not in FOLLOWED, fit.judgement.log_level.value

    laws = [fit for fit in fitted if fit.claim.stream in streams and fit.of(list(panel.curves))]
    for chosen in sorted((fit for fit in laws if fit.exponent and fit.rate.symbol), key=rank)[:1]:
        curves.draw_law(panel, chosen, chosen.cells.values, 1 / 2.2)


def at(rows: pd.DataFrame, entry: FigureEntry) -> pd.DataFrame:
    """Rows at the settings of the entry of private learners that vary them, all rows of others, and its counterpart."""
    learners = rows.groupby(["learner", "variant"])
    private = learners["epsilon"].transform(lambda epsilons: np.isfinite(epsilons).any()).to_numpy(dtype=bool)
    selected = np.ones(len(rows), dtype=bool)
    for key, value in entry.where.items():
        varied = learners[key].transform("nunique").to_numpy() > 1  # one without a window has that of its horizon
        selected &= rows_at(rows[key], value) | ~(private & varied)
    chosen: pd.DataFrame = rows.loc[selected]
    if entry.counterpart is None:
        return chosen
    learner, variant = entry.counterpart.split(".", 1)
    noiseless = curves.of_learner(rows, Series(learner, variant))
    noiseless = noiseless.loc[np.isinf(noiseless["epsilon"])].assign(variant=curves.FREE)
    return pd.concat([chosen, noiseless], ignore_index=True)


def _same(fit: FittedClaim, entry: FigureEntry) -> bool:
    """Whether a claim is about the settings that the figure shows."""
    where = {key: value for key, value in fit.claim.where.items() if not isinstance(value, str)}
    return all(entry.where.get(key, value) == value for key, value in where.items())


def _crossed(theme: Theme, panel: Panel, pair: tuple[str, str], symbol: str) -> str:
    """Mark where the curves of two learners cross; return a sentence, empty if they do not cross or one is missing."""
    by_name = {f"{series.learner}.{series.variant}": series for series in panel.curves}
    by_name |= {series.learner: series for series in panel.curves if not series.noiseless}
    if not set(pair) <= set(by_name):
        return ""
    first, second = (by_name[name] for name in pair)
    points = crossings(panel.curves[first], panel.curves[second])
    for value in points:
        panel.axis.axvline(value, color=style.GUIDE, linewidth=0.8, linestyle=style.DASHED)
        panel.keep("crossing", [value], [np.nan], what="where the curves cross")
    where = " and ".join(map(style.latex_number, points))
    return (
        f"{first.name(theme)} and {second.name(theme)} cross at ${symbol} \\approx$ {where} (vertical)" if where else ""
    )


def crossings(first: Curve, second: Curve) -> Array:
    """Where two curves cross, interpolated in logarithms between neighbouring common positive values."""
    common, at_first, at_second = np.intersect1d(first.values, second.values, return_indices=True)
    positive = (common > 0) & (first.means[at_first] > 0) & (second.means[at_second] > 0)
    ratio = np.log(first.means[at_first][positive] / second.means[at_second][positive])
    change = np.flatnonzero(np.sign(ratio[:-1]) * np.sign(ratio[1:]) < 0)
    fraction = ratio[change] / (ratio[change] - ratio[change + 1])
    logs = np.log(common[positive])
    return np.asarray(np.exp(logs[change] + fraction * (logs[change + 1] - logs[change])), dtype=np.float64)


@figure_type("exponent", "experiment parameter responses")
def exponent(source: Source) -> PanelFigure:
    """Above (or left): means, fitted powers and the predicted law; below: local slopes of response over law, on the
    band of slopes within the tolerance of the claim.

    Hollow cells are not fitted. Claims of several streams, settings or responses have separate panels. Raises
    NotRun when no claim on the parameter has rows.
    """
    entry, theme, parameter = source.entry, source.theme, source.parameter
    fitted = curves.fit_claims(source.runs, source.claims, entry.experiment, parameter, entry.responses)
    if not fitted:
        raise NotRun(f"no claim on {parameter} has rows in {entry.experiment}")
    groups = _together(fitted)
    parts = [group[start : start + MOST] for group in groups for start in range(0, len(group), MOST)]
    figure = PanelFigure(2 * len(parts), 2, height=2.0)
    for number, part in enumerate(parts):
        below = 1 + (number ^ 1 < len(parts))  # the last part of an odd number has its slopes beside it
        first = 2 * number - number % 2
        _fits(figure.panels[first], figure.panels[first + below], theme, part, titled=len(parts) > 1)
    figure.finding = curves.verdict_sentence(fitted)
    how = (
        ", 95 % intervals. Solid: fitted power, its exponent [95 %] beside it; dashed: predicted law; hollow: "
        "saturated or too early, not fitted. Local slope of response over law: 0 is the law, the band its tolerance."
    )
    rows = source.runs.loc[source.runs["experiment"] == entry.experiment]
    figure.setting = theme.setting(rows, how, (parameter,))
    return figure


def _together(fitted: Iterable[FittedClaim]) -> list[list[FittedClaim]]:
    """Fits of one response, stream and setting; one that leaves a setting open stands with those that fix it."""
    groups: dict[tuple[str, str, frozenset[tuple[str, Any]]], list[FittedClaim]] = {}
    for fit in sorted(fitted, key=lambda fit: -len(fit.claim.where)):
        where = frozenset(fit.claim.where.items())
        own = fit.claim.response, fit.claim.stream, where
        key = next((key for key in groups if key[:2] == own[:2] and where <= key[2]), own)
        groups.setdefault(key, []).append(fit)
    return list(groups.values())


def _fits(top: Panel, bottom: Panel, theme: Theme, fitted: list[FittedClaim], titled: bool) -> None:
    """Cells with their laws above, local slopes below."""
    claim = fitted[0].claim
    for panel in (top, bottom):
        if claim.parameter in (*LENGTHS, "dimension"):
            style.log_axis(panel.axis, "x", base=2)
        else:
            style.log_axis(panel.axis, "x", [float(f"{value:.9g}") for fit in fitted for value in fit.variable])
        panel.axis.set_xlabel(style.axis_label(claim.parameter, claim.response, fitted=True))
    top.axis.set(yscale="log", ylabel=style.RESPONSES[claim.response])
    bottom.axis.set_ylabel("local slope, response / law")
    if titled:
        where = [style.fixed(key, value) for key, value in claim.where.items()]
        top.axis.set_title(", ".join([theme.name(f"stream:{claim.stream}"), *where]))
    tolerance = min(fit.claim.tol for fit in fitted)
    bottom.axis.axhspan(-tolerance, tolerance, color=style.GUIDE, alpha=0.12, linewidth=0)
    bottom.axis.axhline(0.0, color=style.GUIDE, linewidth=0.7)
    bottom.keep("tolerance", [np.nan], [0.0], [-tolerance], [tolerance], "band of slopes within the tolerance")
    laws: set[str] = set()
    for fit in sorted(fitted, key=lambda fit: -float(fit.cells.responses.mean())):
        series = Series(fit.claim.learner, fit.claim.variant)
        curve_style, name = series.style(theme), series.name(theme)
        curve = curves.means_of(fit.variable, fit.cells.responses, ~fit.cells.used)
        top.curve(name, curve, replace(curve_style, dash="none"), band=False, note=curves.note(series, [fit]))
        if fit.used.sum() < 2:
            continue
        axis, logs = np.log(fit.variable[fit.used]), np.log(fit.means[fit.used])
        line = np.exp(logs.mean() + float(logs @ fits.slope_weights(axis)) * (axis - axis.mean()))
        top.line(name, fit.variable[fit.used], line, "fitted power", **curve_style.line | {"marker": ""})
        if fit.rate.latex() not in laws:
            curves.draw_law(top, fit, fit.variable, ABOVE ** (1 + len(laws)))
        laws.add(fit.rate.latex())
        bottom.curve(name, curves.local_slopes(fit), curve_style, "local slope of response over law", key="")
    bottom.axis.set_xlim(top.axis.get_xlim())
    low, high = bottom.axis.get_ylim()
    bottom.axis.set_ylim(min(low, -1.3 * tolerance), max(high, 1.3 * tolerance))


@figure_type("bounds", "experiment parameter")
def bounds(source: Source) -> PanelFigure:
    """Measured response between its bounds, one panel per learner with an explicit upper bound; raises NotRun.

    Dashed above: the learner's own explicit bound; dotted below: the lower bound of the stream, where it has one.
    """
    theme, parameter, response = source.theme, source.parameter, source.claims.response
    rows = with_inverse(source.shown, parameter)
    learners = [(series, curves.of_learner(rows, series)) for series in curves.series_of(rows) if series.private]
    bounded = [(series, group) for series, group in learners if group["bound"].notna().all()]
    if not bounded:
        raise NotRun(f"no learner with an explicit bound in {source.entry.experiment}")
    figure = PanelFigure(len(bounded), 3 if len(bounded) != 4 else 2, height=2.0)
    shares = []
    for panel, (series, group) in zip(figure.panels, bounded, strict=True):
        curves.value_axis(panel.axis, parameter, rows[VALUE_COLUMN[parameter]].to_numpy(dtype=float))
        panel.axis.set(yscale="log", xlabel=style.axis_label(parameter, response), ylabel=style.RESPONSES[response])
        panel.axis.set_title(series.name(theme))
        for _, own in group.groupby("stream", sort=True):
            shares.append(_between(panel, own, VALUE_COLUMN[parameter], series.name(theme)))
    figure.same_heights(figure.panels)
    how = "stays below" if max(shares) <= 1 else "crosses"
    figure.finding = f"The {style.RESPONSES[response]} {how} the explicit bound: at most {max(shares):.2f} of it"
    figure.setting = theme.setting(rows, HOLLOW, (parameter,))
    return figure


def _between(panel: Panel, rows: pd.DataFrame, column: str, name: str) -> float:
    """The means of one stream between the bounds; returns their largest share of the explicit one."""
    curve = curves.means_by(rows, column)._replace(hollow=curves.saturated(rows, column))
    above = rows.groupby(column)["bound"].mean()
    panel.curve(name, curve, style.stepped(0), f"mean on {rows['stream'].iloc[0]}", key="measured")
    panel.line(f"bound of {name}", above.index, above, "explicit bound", key="explicit bound")
    if "lower_bound" in rows and rows["lower_bound"].notna().all():
        below = rows.groupby(column)["lower_bound"].mean()
        panel.line("lower bound", below.index, below, "lower bound", key="lower bound of the instance", linestyle=":")
    return float((curve.means / above.to_numpy()).max())

"""Figures of private empirical risk minimisation: excess risk against n, p and width, its collapse, real data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpregret.paper_figs import fits
from dpregret.paper_figs.cells import LENGTHS, VALUE_COLUMN, NotRun
from dpregret.paper_figs.claims import FigureEntry
from dpregret.paper_figs.curves import Curve, Series, curve, means_of, series_of
from dpregret.paper_figs.figure_style import DASHED, GREY, MARKERS, Colour, colours, look, panels, readable_log
from dpregret.paper_figs.words import EXCESS, RESPONSE_AXES, words_of

TRIVIAL: Final = "trivial point"
POINT: Final = ["learner", "variant", "set", "dimension", "horizon", "epsilon"]
"""Columns that tell the points of a scatter figure from each other."""


def excess_figure(runs: pd.DataFrame, entry: FigureEntry) -> Figure:
    """Excess risk against the swept parameter, one panel a stream; raises NotRun.

    Printed variants are dashed with open markers, learners without privacy grey, and the dotted line is the trivial
    point. Where the entry names two learners, a vertical line marks where their curves cross.
    """
    rows = _rows_of(runs, entry.experiment)
    streams = sorted(set(rows["stream"]))
    column = VALUE_COLUMN[entry.parameter or "samples"]
    with look():
        figure, axes = panels(len(streams))
        paint = colours([each.name for each in series_of(rows, entry.experiment) if each.private])
        for axis, stream in zip(axes, streams, strict=True):
            own = rows.loc[rows["stream"] == stream]
            found: dict[str, Curve] = {}
            for place, each in enumerate(series_of(own, entry.experiment)):
                found[each.learner] = drawn = curve(own, entry.experiment, each, column)
                _excess_line(axis, drawn, each, paint.get(each.name, GREY), MARKERS[place % len(MARKERS)])
            trivial = own.groupby(column)["stay_regret"].mean()
            axis.plot(trivial.index, trivial, linestyle=":", color="0.2", linewidth=1.0, label=TRIVIAL)
            axis.set(xscale="log", yscale="log", xlabel=EXCESS.axes[entry.parameter or "samples"])
            axis.set(ylabel=RESPONSE_AXES["excess"], title=stream)
            if entry.parameter in (*LENGTHS, "dimension"):
                axis.set_xscale("log", base=2)
            if entry.crossing is not None and set(entry.crossing) <= set(found):
                _mark_crossing(axis, found[entry.crossing[0]], found[entry.crossing[1]])
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def crossings(first: Curve, second: Curve) -> fits.Array:
    """Where two curves cross, interpolated in logarithms between neighbouring common values; possibly nowhere."""
    common, at_first, at_second = np.intersect1d(first[0], second[0], return_indices=True)
    ratio = np.log(first[1][at_first] / second[1][at_second])
    change = np.flatnonzero(np.sign(ratio[:-1]) * np.sign(ratio[1:]) < 0)
    place = ratio[change] / (ratio[change] - ratio[change + 1])
    logs = np.log(common)
    return np.asarray(np.exp(logs[change] + place * (logs[change + 1] - logs[change])), dtype=np.float64)


def collapse_figure(runs: pd.DataFrame, experiment: str) -> Figure:
    """Excess over trivial excess against K mu_G / (2 sqrt p): all dimensions and sizes on one curve; raises NotRun.

    K is the column `active`, mu_G the Gaussian DP parameter. One panel a private learner.
    """
    rows = _rows_of(runs, experiment)
    if "active" not in rows.columns:
        raise NotRun(f"{experiment} varies no number of active records")
    rows = rows.loc[rows["active"].notna() & rows["mu_gdp"].notna() & np.isfinite(rows["epsilon"])]
    rows = rows.assign(strength=rows["active"] * rows["mu_gdp"] / (2 * np.sqrt(rows["dimension"])))
    rows = rows.assign(share=rows["regret"] / rows["stay_regret"])
    learners = list(_learners(rows, experiment))
    with look():
        figure, axes = panels(len(learners))
        for axis, (name, own) in zip(axes, learners, strict=True):
            kinds = list(own.groupby(["dimension", "horizon"], sort=True))
            paint = colours([str(key) for key, _ in kinds])
            for place, ((dimension, samples), group) in enumerate(kinds):
                label, colour = f"p = {dimension}, n = {samples}", paint[str((dimension, samples))]
                cells = [cell for _, cell in group.groupby("strength", sort=True)]
                strengths = [float(cell["strength"].iloc[0]) for cell in cells]
                shares = [cell["share"].to_numpy(dtype=float) for cell in cells]
                _points(axis, strengths, shares, colour, MARKERS[place % len(MARKERS)], label)
            axis.axhline(1.0, linestyle=":", color="0.2", linewidth=1.0)
            axis.set(xscale="log", yscale="log", xlabel="K mu_G / (2 sqrt p)", ylabel="excess / trivial excess")
            axis.set_title(name)
            readable_log(axis.xaxis)
        axes[0].legend()
    return figure


def width_figure(runs: pd.DataFrame, experiment: str) -> Figure:
    """Excess risk against the Gaussian width of the set; a colour a learner, a marker a set; raises NotRun.

    Horizontal bars are two standard errors of the width, vertical ones 95 % intervals; the dashed line has slope one.
    """
    rows = _rows_of(runs, experiment)
    if "width" not in rows.columns or rows["width"].isna().all():
        raise NotRun(f"{experiment} tells no width")
    rows = rows.loc[rows["width"].notna() & np.isfinite(rows["epsilon"])]
    learners = list(_learners(rows, experiment))
    shapes = sorted(set(rows["set"]))
    with look():
        figure, axes = panels(1)
        paint = colours([name for name, _ in learners])
        logs = []
        for name, own in learners:
            for _, group in own.groupby(POINT, sort=True):
                width = float(group["width"].mean())
                error = float(group["width_error"].mean()) if "width_error" in group.columns else 0.0
                marker = MARKERS[shapes.index(str(group["set"].iloc[0])) % len(MARKERS)]
                mean = _points(axes[0], [width], [group["regret"].to_numpy()], paint[name], marker, None)[0]
                axes[0].errorbar([width], [mean], xerr=[2 * error], fmt="none", color=paint[name], linewidth=0.8)
                logs += [np.log(mean / width)] if mean > 0 else []
            axes[0].plot([], [], color=paint[name], label=name)
        for place, shape in enumerate(shapes):
            marker = MARKERS[place % len(MARKERS)]
            axes[0].plot([], [], linestyle="none", marker=marker, color="0.3", label=shape)
        if logs:
            ends = np.array([rows["width"].min(), rows["width"].max()])
            guide = np.exp(np.mean(logs)) * ends
            axes[0].plot(ends, guide, linestyle=DASHED, color="0.4", linewidth=0.8, label="slope one")
        axes[0].set(xscale="log", yscale="log", xlabel=EXCESS.axes["width"], ylabel=RESPONSE_AXES["excess"])
        for each in (axes[0].xaxis, axes[0].yaxis):
            readable_log(each)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def privacy_cost_figure(runs: pd.DataFrame, experiment: str) -> Figure:
    """What privacy costs on each data set: excess of every learner beside the trivial point; raises NotRun.

    A colour a privacy budget; learners without privacy are grey.
    """
    rows = _rows_of(runs, experiment)
    streams = sorted(set(rows["stream"]))
    names = [each.name for each in series_of(rows, experiment)]
    budgets = sorted(float(value) for value in set(rows["epsilon"]) if np.isfinite(value))
    with look():
        figure, axes = panels(len(streams))
        paint = colours([f"{budget:g}" for budget in budgets])
        for axis, stream in zip(axes, streams, strict=True):
            own = rows.loc[rows["stream"] == stream]
            trivial = float(own["stay_regret"].mean())
            for name, group in _learners(own, experiment):
                for epsilon, cell in group.groupby("epsilon", sort=True):
                    colour = paint.get(f"{epsilon:g}", GREY)
                    means, reach = means_of(cell["regret"].to_numpy(dtype=float)[:, None] / trivial)
                    axis.errorbar(means, [names.index(name)], xerr=reach, fmt="o", color=colour, linewidth=0.8)
            axis.axvline(1.0, linestyle=":", color="0.2", linewidth=1.0, label=TRIVIAL)
            axis.set_yticks(range(len(names)), names)
            axis.set(xlabel="excess risk / trivial excess", ylim=(len(names) - 0.5, -0.5), title=stream)
        for budget in budgets:
            axes[0].plot([], [], linestyle="none", marker="o", color=paint[f"{budget:g}"], label=f"eps = {budget:g}")
        axes[0].plot([], [], linestyle="none", marker="o", color=GREY, label="not private")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def iteration_cost_figure(runs: pd.DataFrame, experiment: str) -> Figure:
    """CPU time of an iteration against the number of records, one line a private learner; raises NotRun."""
    rows = _rows_of(runs, experiment)
    rows = rows.loc[np.isfinite(rows["epsilon"]) & (rows["iterations"] > 0)]
    if rows.empty:
        raise NotRun(f"no iterations in {experiment}")
    with look():
        figure, axes = panels(1)
        paint = colours([each.name for each in series_of(rows, experiment)])
        for place, (name, group) in enumerate(_learners(rows, experiment)):
            cost = (1e6 * group["seconds"] / group["iterations"]).groupby(group["checkpoint"]).median()
            axes[0].plot(cost.index, cost, marker=MARKERS[place % len(MARKERS)], color=paint[name], label=name)
        axes[0].set_xscale("log", base=2)
        axes[0].set(xlabel=words_of("excess").axes["samples"], ylabel="microseconds per iteration and run")
        axes[0].set_ylim(bottom=0.0)
        axes[0].set_title("one iteration does not see n")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _rows_of(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Finished rows of an experiment; raises NotRun."""
    rows = runs.loc[(runs["experiment"] == experiment) & (runs["status"] == "ok")]
    if rows.empty:
        raise NotRun(f"no rows of {experiment}")
    return rows


def _learners(rows: pd.DataFrame, experiment: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every learner and variant of an experiment with its rows; private ones first."""
    for each in series_of(rows, experiment):
        yield each.name, rows.loc[(rows["learner"] == each.learner) & (rows["variant"] == each.variant)]


def _excess_line(axis: Axes, drawn: Curve, each: Series, colour: Colour, marker: str) -> None:
    values, means, reach = drawn
    shown = means > 0
    printed = each.variant.startswith("printed")
    axis.plot(values[shown], means[shown], marker=marker, color=colour, label=each.name,
              linestyle=DASHED if printed else "-", markerfacecolor="white" if printed else colour)  # fmt: skip
    low = np.maximum(means - reach, 0.05 * means)
    axis.fill_between(values[shown], low[shown], (means + reach)[shown], color=colour, alpha=0.2, linewidth=0)


def _mark_crossing(axis: Axes, first: Curve, second: Curve) -> None:
    for value in crossings(first, second):
        axis.axvline(value, color="0.3", linewidth=0.8)
        axis.annotate(f"{value:.0f}", (value, 1.0), xycoords=("data", "axes fraction"), fontsize=7.5,
                      xytext=(2, -8), textcoords="offset points")  # fmt: skip


def _points(
    axis: Axes, values: list[float], samples: list[fits.Array], colour: Colour, marker: str, label: str | None
) -> fits.Array:
    """Means of `samples` with intervals at `values`; returns the means."""
    pairs = [means_of(np.asarray(each, dtype=np.float64)[:, None]) for each in samples]
    means = np.array([mean[0] for mean, _ in pairs])
    reach = np.array([half[0] for _, half in pairs])
    axis.errorbar(values, means, np.minimum(reach, 0.95 * np.abs(means)), fmt="none", color=colour, linewidth=0.8)
    axis.plot(values, means, linestyle="none", marker=marker, color=colour, label=label)
    return means

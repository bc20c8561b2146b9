"""Figures of private empirical risk minimisation: collapse, Gaussian width, cost of an iteration."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpregret.core.arrays import Array
from dpregret.paper_figs.cells import NotRun
from dpregret.paper_figs.curves import learners_of, means_of, rows_of, series_of
from dpregret.paper_figs.figure_style import (
    DASHED,
    MARKERS,
    Colour,
    colours,
    legend_below,
    look,
    panels,
    readable_log,
)
from dpregret.paper_figs.labels import EXCESS, RESPONSE_AXES, labels_of

POINT: Final = ["learner", "variant", "set", "dimension", "horizon", "epsilon"]
"""Columns that tell the points of a scatter figure from each other."""


def collapse_figure(runs: pd.DataFrame, experiment: str) -> Figure:
    """Excess over trivial excess against K mu_G / (2 sqrt p): all dimensions and sizes on one curve; raises NotRun.

    K is the column `active`, mu_G the Gaussian DP parameter. One panel a private learner.
    """
    rows = rows_of(runs, experiment)
    if "active" not in rows.columns:
        raise NotRun(f"{experiment} varies no number of active records")
    rows = rows.loc[rows["active"].notna() & rows["mu_gdp"].notna() & np.isfinite(rows["epsilon"])]
    rows = rows.assign(strength=rows["active"] * rows["mu_gdp"] / (2 * np.sqrt(rows["dimension"])))
    rows = rows.assign(share=rows["regret"] / rows["trivial_regret"])
    learners = list(learners_of(rows, experiment))
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
    rows = rows_of(runs, experiment)
    if "width" not in rows.columns or rows["width"].isna().all():
        raise NotRun(f"{experiment} tells no width")
    rows = rows.loc[rows["width"].notna() & np.isfinite(rows["epsilon"])]
    learners = list(learners_of(rows, experiment))
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
        legend_below(figure, axes[0], 3)
    return figure


def iteration_cost_figure(runs: pd.DataFrame, experiment: str) -> Figure:
    """CPU time of an iteration against the number of records, one line a private learner; raises NotRun."""
    rows = rows_of(runs, experiment)
    rows = rows.loc[np.isfinite(rows["epsilon"]) & (rows["iterations"] > 0)]
    if rows.empty:
        raise NotRun(f"no iterations in {experiment}")
    with look():
        figure, axes = panels(1)
        paint = colours([each.name for each in series_of(rows, experiment)])
        for place, (name, group) in enumerate(learners_of(rows, experiment)):
            cost = (1e6 * group["seconds"] / group["iterations"]).groupby(group["checkpoint"]).median()
            axes[0].plot(cost.index, cost, marker=MARKERS[place % len(MARKERS)], color=paint[name], label=name)
        axes[0].set_xscale("log", base=2)
        axes[0].set(xlabel=labels_of("excess").axes["samples"], ylabel="microseconds per iteration and run")
        axes[0].set_ylim(bottom=0.0)
        axes[0].set_title("one iteration does not see n")
        legend_below(figure, axes[0], 2)
    return figure


def _points(
    axis: Axes, values: list[float], samples: list[Array], colour: Colour, marker: str, label: str | None
) -> Array:
    """Means of `samples` with intervals at `values`; returns the means."""
    pairs = [means_of(np.asarray(each, dtype=np.float64)[:, None]) for each in samples]
    means = np.array([mean[0] for mean, _ in pairs])
    reach = np.array([half[0] for _, half in pairs])
    axis.errorbar(values, means, np.minimum(reach, 0.95 * np.abs(means)), fmt="none", color=colour, linewidth=0.8)
    axis.plot(values, means, linestyle="none", marker=marker, color=colour, label=label)
    return means

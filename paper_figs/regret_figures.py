"""Figures of online learners: regret against T, printed beside corrected, oracle costs, loss by age."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpregret.core.arrays import Array
from dpregret.paper_figs import fits
from dpregret.paper_figs.cells import NotRun
from dpregret.paper_figs.curves import Series, band, curve
from dpregret.paper_figs.figure_style import (
    DASHED,
    GREY,
    MARKERS,
    colours,
    legend_below,
    look,
    panels,
    value_ticks,
)
from dpregret.paper_figs.labels import REGRET, RESPONSE_AXES


def regret_figure(runs: pd.DataFrame, experiment: str, series: Sequence[Series]) -> Figure:
    """Mean regret against T (logarithmic) with 95 % bands: ln T is a straight line, and drawn dashed.

    The left panel has a linear regret axis, the right one a logarithmic one, where power laws are straight.
    Learners without privacy are grey.
    """
    with look():
        figure, axes = panels(2)
        paint = colours([each.name for each in series if each.private])
        linear_top = _robust_top([curve(runs, experiment, each)[1] for each in series if each.private])
        for place, each in enumerate(series):
            horizons, means, reach = curve(runs, experiment, each)
            colour = paint.get(each.name, GREY)
            for axis in axes:
                band(axis, horizons, means, reach, colour, place, each.name)
            late = horizons >= np.sqrt(horizons.min() * horizons.max())
            if late.sum() >= 2 and means[-1] <= linear_top:
                slope, constant = np.polynomial.polynomial.polyfit(np.log(horizons[late]), means[late], 1)[::-1]
                law = constant + slope * np.log(horizons[late])
                axes[0].plot(horizons[late], law, linestyle=DASHED, color="0.1", linewidth=0.8, zorder=5)
        _horizon_axes(axes)
        axes[0].set_ylim(0, linear_top)
        axes[0].set_title(f"{experiment}: dashed: c + s ln T, fitted to the later half")
        axes[1].set_title("the same, logarithmic")
        legend_below(figure, axes[1], 3)
    return figure


def printed_figure(runs: pd.DataFrame, experiment: str, series: Sequence[Series]) -> Figure:
    """Regret against T of printed and corrected variants, one panel a learner, with a line of slope one."""
    learners = list(dict.fromkeys(each.learner for each in series))
    with look():
        figure, axes = panels(len(learners))
        for axis, learner in zip(axes, learners, strict=True):
            own = [each for each in series if each.learner == learner]
            paint = colours([each.name for each in own])
            for place, each in enumerate(own):
                horizons, means, reach = curve(runs, experiment, each)
                band(axis, horizons, means, reach, paint[each.name], place, each.variant)
                if each.variant == "printed" and means[-1] > 0:
                    guide = means[-1] * horizons / horizons[-1]
                    axis.plot(horizons, guide, linestyle=DASHED, color="0.4", linewidth=0.8, label="slope one")
            axis.set_title(learner)
            axis.legend()
        _horizon_axes(axes)
        for axis in axes:
            axis.set_yscale("log")
    return figure


def costs_figure(costs: pd.DataFrame) -> Figure:
    """Microseconds per call of projection and oracles against the dimension, one panel a set."""
    shapes = sorted(set(costs["set"]))
    operations = sorted(set(costs["operation"]))
    paint = colours(operations)
    with look():
        figure, axes = panels(min(3, len(shapes)), -(-len(shapes) // 3))
        for axis, shape in zip(axes, shapes, strict=False):
            for place, operation in enumerate(operations):
                rows = costs.loc[(costs["set"] == shape) & (costs["operation"] == operation)]
                rows = rows.sort_values("dimension")
                if len(rows):
                    microseconds = 1e6 * rows["seconds"]
                    marker = MARKERS[place % len(MARKERS)]
                    label = operation
                    if len(rows) > 1:
                        power = np.log(microseconds) @ fits.slope_weights(
                            np.log(rows["dimension"].to_numpy(dtype=float))
                        )
                        label += f": d^{power:.2f}"
                    axis.plot(rows["dimension"], microseconds, marker=marker, color=paint[operation], label=label)
            axis.set(xscale="log", yscale="log", xlabel=REGRET.axes["dimension"], ylabel="microseconds per call")
            value_ticks(axis.xaxis, costs.loc[costs["set"] == shape, "dimension"])
            axis.set_title(shape)
            axis.legend()
        for axis in axes[len(shapes) :]:
            axis.set_visible(False)
    return figure


def age_figure(ages: pd.DataFrame) -> Figure:
    """Exact privacy loss of an item against its age in windows: what the window guarantee leaves open."""
    windows = sorted(set(ages["window"]))
    paint = colours([str(window) for window in windows])
    with look():
        figure, axes = panels(1)
        for place, window in enumerate(windows):
            rows = ages.loc[ages["window"] == window].sort_values("age")
            marker, every = MARKERS[place % len(MARKERS)], max(1, len(rows) // 16)
            colour, label = paint[str(window)], f"W = {window}"
            axes[0].plot(
                rows["age"] / window, rows["mu_gdp"], color=colour, label=label, marker=marker, markevery=every
            )
        axes[0].axvline(1.0, color="0.3", linewidth=0.8, linestyle=DASHED)
        axes[0].set(xlabel="age of the item, windows (dashed: expiry)", ylabel=REGRET.axes["mu"])
        axes[0].set_title("privacy loss of an item by its age")
        axes[0].legend()
    return figure


def _horizon_axes(axes: Sequence[Axes]) -> None:
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.set(xlabel=REGRET.axes["horizon"], ylabel=RESPONSE_AXES["regret"])
    axes[-1].set_yscale("log")


def _robust_top(curves: Sequence[Array]) -> float:
    """Top of a linear axis: curves of linear regret must not flatten all others."""
    if not curves:
        raise NotRun("no learner with privacy")
    lasts = np.sort([curve[-1] for curve in curves])
    return float(1.15 * lasts[max(0, int(0.7 * (len(lasts) - 1)))])

"""The figures of a paper: each is a function from frames to a matplotlib Figure; `write_figures` saves all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from dpregret.paper_figs import fits
from dpregret.paper_figs.cells import (
    Cells,
    NotRun,
    collect_cells,
    coordinate,
    direction,
    log_factor,
)
from dpregret.paper_figs.claims import Claim, ClaimsFile, Parameter, load_claims
from dpregret.paper_figs.figure_style import DASHED, MARKERS, colours, look, panels, save
from dpregret.paper_figs.runs import read_runs

Colour = tuple[float, float, float]
GREY: Final[Colour] = (0.45, 0.45, 0.45)
AXIS: Final = {
    "horizon": "horizon T (rounds)", "dimension": "dimension d", "window": "window: log2 W + 1",
    "epsilon": "privacy budget eps", "mu": "Gaussian DP parameter mu",
}  # fmt: skip
RESPONSE: Final = {
    "regret": "total regret", "overhead": "regret above the non-private twin",
    "log_slope": "slope of regret, dR / d ln T", "noise": "mean norm of the noise in the gradient sum",
}  # fmt: skip
FIGURED: Final[tuple[Parameter, ...]] = ("dimension", "window", "epsilon")


@dataclass(frozen=True)
class Series:
    """A learner to draw: `learner.variant`, at one window where the experiment has several."""

    learner: str
    variant: str
    window: int | None = None
    private: bool = True

    @property
    def name(self) -> str:
        """Text of the legend."""
        variant = "" if self.variant == "plain" else f" {self.variant}"
        return f"{self.learner}{variant}" + (f", W = {self.window}" if self.window else "")


def write_figures(
    runs_dir: Path | str,
    claims_file: Path | str,
    out_dir: Path | str,
    costs_file: Path | str | None = None,
    ages_file: Path | str | None = None,
    experiments: Collection[str] | None = None,
) -> list[Path]:
    """Draw whatever the runs allow into `out_dir` as PDF and PNG; return the paths.

    `costs_file` (Parquet: set, dimension, operation, seconds, calls) and `ages_file` (Parquet: window, age,
    mu_gdp) add the figures of oracle costs and of the loss by age.
    """
    runs, claims = read_runs(runs_dir), load_claims(claims_file)
    if experiments is not None:
        runs = runs.loc[runs["experiment"].isin(list(experiments))]
    figures: dict[str, Figure] = {}
    for experiment in ("horizon", "horizon-smooth", "whole-horizon", "pocp-horizon", "simplex-horizon"):
        series = series_of(runs, experiment, skip_variants=("printed",))
        if series:
            figures[f"regret_{experiment.replace('-', '_')}"] = regret_figure(runs, experiment, series)
    for parameter in FIGURED:
        for experiment in dict.fromkeys(claim.experiment for claim in _figured_claims(claims, parameter)):
            try:
                figure = exponent_figure(runs, claims, parameter, experiment)
            except NotRun:
                continue
            figures[f"exponent_{experiment.replace('-', '_')}"] = figure
    for experiment in ("errata", "simplex-printed"):
        series = printed_pairs(runs, experiment)
        if series:
            figures[f"printed_{experiment.replace('-', '_')}"] = printed_figure(runs, experiment, series)
    if costs_file is not None:
        figures["oracle_costs"] = costs_figure(pd.read_parquet(costs_file))
    if ages_file is not None:
        figures["loss_by_age"] = age_figure(pd.read_parquet(ages_file))
    return [path for name, figure in figures.items() for path in save(figure, Path(out_dir) / name)]


def series_of(runs: pd.DataFrame, experiment: str, skip_variants: Sequence[str] = ()) -> list[Series]:
    """All learners of an experiment; a windowed learner at its median window."""
    rows = runs.loc[(runs["experiment"] == experiment) & ~runs["variant"].isin(list(skip_variants))]
    found = []
    for (learner, variant), group in rows.groupby(["learner", "variant"], sort=True):
        windows = sorted(set(group["window"])) if group["anytime"].all() else []
        window = int(windows[len(windows) // 2]) if len(windows) > 1 else None
        found.append(Series(str(learner), str(variant), window, bool(np.isfinite(group["epsilon"]).all())))
    return sorted(found, key=lambda series: not series.private)


def printed_pairs(runs: pd.DataFrame, experiment: str) -> list[Series]:
    """The learners of an experiment that have a printed variant, with all their variants."""
    every = series_of(runs, experiment)
    printed = {series.learner for series in every if series.variant.startswith("printed")}
    return [series for series in every if series.learner in printed]


def regret_figure(runs: pd.DataFrame, experiment: str, series: Sequence[Series]) -> Figure:
    """Mean regret against T (logarithmic) with 95 % bands: ln T is a straight line, and drawn dashed.

    The left panel has a linear regret axis, the right one a logarithmic one, where power laws are straight.
    Learners without privacy are grey.
    """
    with look():
        figure, axes = panels(2)
        paint = colours([each.name for each in series if each.private])
        linear_top = _robust_top([regret_curve(runs, experiment, each)[1] for each in series if each.private])
        for place, each in enumerate(series):
            horizons, means, reach = regret_curve(runs, experiment, each)
            colour = paint.get(each.name, GREY)
            for axis in axes:
                _band(axis, horizons, means, reach, colour, place, each.name)
            late = horizons >= np.sqrt(horizons.min() * horizons.max())
            if late.sum() >= 2 and means[-1] <= linear_top:
                slope, constant = np.polynomial.polynomial.polyfit(np.log(horizons[late]), means[late], 1)[::-1]
                law = constant + slope * np.log(horizons[late])
                axes[0].plot(horizons[late], law, linestyle=DASHED, color=colour, linewidth=0.8)
        _horizon_axes(axes)
        axes[0].set_ylim(0, linear_top)
        axes[0].set_title(f"{experiment}: dashed c + s ln T, fitted to the later half")
        axes[1].set_title("the same, logarithmic")
        figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
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
                horizons, means, reach = regret_curve(runs, experiment, each)
                _band(axis, horizons, means, reach, paint[each.name], place, each.variant)
                if each.variant == "printed" and means[-1] > 0:
                    guide = means[-1] * horizons / horizons[-1]
                    axis.plot(horizons, guide, linestyle=DASHED, color="0.4", linewidth=0.8, label="slope one")
            axis.set_title(learner)
            axis.legend()
        _horizon_axes(axes)
        for axis in axes:
            axis.set_yscale("log")
    return figure


def exponent_figure(runs: pd.DataFrame, claims: ClaimsFile, parameter: Parameter, experiment: str) -> Figure:
    """Response against the swept parameter with fitted power laws, and local slopes beside the prediction.

    Filled markers are fitted cells, open ones are saturated or pre-asymptotic. Raises NotRun when no claim on
    `parameter` that the experiment tests has rows.
    """
    drawn = [(claim, cells) for claim in _figured_claims(claims, parameter)
             if claim.experiment == experiment and (cells := _cells_or_none(runs, claim)) is not None]  # fmt: skip
    if not drawn:
        raise NotRun(f"no claim on {parameter} has rows in {experiment}")
    with look():
        figure, axes = panels(2)
        paint = colours([claim.id for claim, _ in drawn])
        for place, (claim, cells) in enumerate(drawn):
            _exponent_series(axes, claim, cells, paint[claim.id], MARKERS[place % len(MARKERS)])
        axes[0].set(xscale="log", yscale="log", xlabel=AXIS[parameter], ylabel=RESPONSE["log_slope"])
        axes[0].set_title("mean over runs, 95 % intervals, fitted power")
        axes[1].set(xscale="log", xlabel=AXIS[parameter], ylabel="local slope of response / bound")
        axes[1].axhline(0.0, color="0.3", linewidth=0.8)
        axes[1].set_title("zero: grows like the bound; above: outgrows it")
        for axis in axes:
            ticks = sorted({round(float(value), 6) for claim, cells in drawn
                            for value in np.exp(coordinate(claim, cells.values))})  # fmt: skip
            axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axis.minorticks_off()
        axes[0].yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes[0].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes[0].yaxis.set_minor_formatter(NullFormatter())
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
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
                    axis.plot(rows["dimension"], microseconds, marker=marker, color=paint[operation], label=operation)
            axis.set(xscale="log", yscale="log", xlabel=AXIS["dimension"], ylabel="microseconds per call")
            axis.set_title(shape)
        for axis in axes[len(shapes) :]:
            axis.set_visible(False)
        axes[0].legend()
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
        axes[0].set(xlabel="age of the item, windows (dashed: expiry)", ylabel=AXIS["mu"])
        axes[0].set_title("privacy loss of an item by its age")
        axes[0].legend()
    return figure


def regret_curve(runs: pd.DataFrame, experiment: str, series: Series) -> tuple[fits.Array, fits.Array, fits.Array]:
    """Horizons, mean regrets and half widths of their 95 % intervals, (cells,) each; raises NotRun."""
    rows = runs.loc[
        (runs["experiment"] == experiment) & (runs["learner"] == series.learner)
        & (runs["variant"] == series.variant) & (runs["status"] == "ok")
    ]  # fmt: skip
    if series.window is not None:
        rows = rows.loc[rows["window"] == series.window]
    ends = rows["checkpoint"] == rows["horizon"]
    rows = rows.loc[np.where(rows["anytime"], rows["horizon"] == rows["horizon"].max(), ends)]
    rows = rows.loc[rows["checkpoint"] >= 64]
    if rows.empty:
        raise NotRun(f"{series.name} has no rows in {experiment}")
    table = rows.pivot_table(index="run", columns="checkpoint", values="regret", aggfunc="mean")
    values = table.to_numpy(dtype=float)
    intervals = [fits.mean_interval(values[:, cell]) for cell in range(values.shape[1])]
    means = np.array([estimate.value for estimate in intervals])
    reach = np.array([estimate.high - estimate.value for estimate in intervals])
    return table.columns.to_numpy(dtype=float), means, reach


def _band(
    axis: Axes, horizons: fits.Array, means: fits.Array, reach: fits.Array, colour: Colour, place: int, name: str
) -> None:
    axis.plot(horizons, means, marker=MARKERS[place % len(MARKERS)], color=colour, label=name)
    axis.fill_between(horizons, means - reach, means + reach, color=colour, alpha=0.2, linewidth=0)


def _horizon_axes(axes: Sequence[Axes]) -> None:
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.set(xlabel=AXIS["horizon"], ylabel=RESPONSE["regret"])
    axes[-1].set_yscale("log")


def _robust_top(curves: Sequence[fits.Array]) -> float:
    """Top of a linear axis: curves of linear regret must not flatten all others."""
    lasts = np.sort([curve[-1] for curve in curves])
    return float(1.15 * lasts[max(0, int(0.7 * (len(lasts) - 1)))])


def _figured_claims(claims: ClaimsFile, parameter: Parameter) -> list[Claim]:
    """Claims of powers of `parameter` with a log slope as response; one per learner, variant and stream."""
    chosen: dict[tuple[str, str, str, str], Claim] = {}
    for claim in claims.claims:
        if claim.parameter == parameter and claim.kind == "exponent" and claim.response == "log_slope":
            chosen.setdefault((claim.learner, claim.variant, claim.experiment, claim.stream), claim)
    return list(chosen.values())


def _cells_or_none(runs: pd.DataFrame, claim: Claim) -> Cells | None:
    try:
        return collect_cells(runs, claim)
    except NotRun:
        return None


def _exponent_series(axes: Sequence[Axes], claim: Claim, cells: Cells, colour: Colour, marker: str) -> None:
    variable = np.exp(coordinate(claim, cells.values))
    intervals = [fits.mean_interval(column) for column in cells.responses.T]
    means = np.array([estimate.value for estimate in intervals])
    reach = np.array([estimate.high - estimate.value for estimate in intervals])
    shown = means > 0
    name = f"{claim.learner} {claim.variant}, {claim.stream}"
    axes[0].errorbar(variable[shown], means[shown], np.minimum(reach, 0.95 * np.abs(means))[shown], fmt="none",
                     color=colour, linewidth=0.8)  # fmt: skip
    for kept, face in ((cells.used, colour), (~cells.used, "white")):
        axes[0].plot(variable[kept & shown], means[kept & shown], linestyle="none", marker=marker, color=colour,
                     markerfacecolor=face, label=name if face == colour else None)  # fmt: skip
    prediction = claim.predicted
    used = cells.used & shown
    if prediction is None or used.sum() < 2:
        return
    axis = np.log(variable)
    slope = float(np.log(means[used]) @ fits.slope_weights(axis[used]))
    line = np.exp(np.log(means[used]).mean() + slope * (axis[used] - axis[used].mean()))
    axes[0].plot(variable[used], line, color=colour, linewidth=0.9)
    law = log_factor(claim, prediction, cells) + prediction.power * axis
    ratio = (np.log(np.where(shown, means, 1.0)) - law)[used]
    local = direction(claim) * np.diff(ratio) / np.diff(axis[used])
    middle = np.sqrt(variable[used][1:] * variable[used][:-1])
    axes[1].plot(middle, local, marker=marker, color=colour)

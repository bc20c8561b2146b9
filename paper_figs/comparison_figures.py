"""Figures that set learners side by side: sweeps and where they cross, bounds, winners, tuning, real data."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpregret.core.arrays import Array
from dpregret.paper_figs.cells import LENGTHS, VALUE_COLUMN, NotRun, collect_cells
from dpregret.paper_figs.claims import Claim, ClaimsFile, FigureEntry
from dpregret.paper_figs.curves import Curve, Series, curve, learners_of, means_of, rows_of, series_of
from dpregret.paper_figs.figure_style import (
    DASHED,
    GREY,
    HEIGHT,
    MARKERS,
    WIDTH,
    Colour,
    colours,
    legend_below,
    look,
    panels,
    value_ticks,
)
from dpregret.paper_figs.labels import RESPONSE_AXES, Parameter, Response, labels_of

TRIVIAL: Final = {"regret": "constant point", "excess": "trivial point"}
"""The dotted line of a figure, by response."""


def sweep_figure(runs: pd.DataFrame, entry: FigureEntry, response: Response) -> Figure:
    """Response against the swept parameter, one panel a stream; raises NotRun.

    Printed variants are dashed with open markers, learners without privacy grey, and the dotted line is the trivial
    point. Where the entry names two learners, a vertical line marks where their curves cross; where it has a power
    `scaled`, everything is divided by that power of the parameter.
    """
    parameter = entry.parameter or "horizon"
    rows, column = _at(rows_of(runs, entry.experiment), entry), VALUE_COLUMN[parameter]
    streams = sorted(set(rows["stream"]))
    with look():
        figure, axes = panels(len(streams))
        if len(streams) == 1:
            figure.set_size_inches(1.4 * WIDTH, 1.2 * HEIGHT)
        paint = colours([each.name for each in series_of(rows, entry.experiment) if each.private])
        for axis, stream in zip(axes, streams, strict=True):
            own = rows.loc[rows["stream"] == stream]
            found: dict[str, Curve] = {}
            highest = 0.0
            for place, each in enumerate(series_of(own, entry.experiment)):
                values, means, reach = curve(own, entry.experiment, each, column)
                drawn = values, means / values**entry.scaled, reach / values**entry.scaled
                highest = max(highest, float(drawn[1].max()))
                found |= {each.learner: drawn, f"{each.learner}.{each.variant}": drawn}
                _line(axis, drawn, each, paint.get(each.name, GREY), MARKERS[place % len(MARKERS)])
            trivial = own.groupby(column)["trivial_regret"].mean()
            axis.plot(
                trivial.index,
                trivial / trivial.index**entry.scaled,
                linestyle=":",
                color="0.2",
                linewidth=1.0,
                label=TRIVIAL[response],
            )
            axis.set(yscale="log", xlabel=labels_of(response).axes[parameter])
            axis.set(ylabel=RESPONSE_AXES[response] + _over(parameter, response, entry.scaled), title=stream)
            _value_axis(axis, parameter, rows[column].to_numpy(dtype=float))
            if entry.scaled:  # small differences are what such a figure is for
                axis.set(yscale="linear", ylim=(0.0, 1.15 * highest))
            if entry.crossing is not None and set(entry.crossing) <= set(found):
                _mark_crossing(axis, found[entry.crossing[0]], found[entry.crossing[1]])
        legend_below(figure, axes[0], min(3, 1 + len(axes)))
    return figure


def _over(parameter: Parameter, response: Response, power: float) -> str:
    return f" / {labels_of(response).symbols[parameter]}^{power:g}" if power else ""


def _at(rows: pd.DataFrame, entry: FigureEntry) -> pd.DataFrame:
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
    free = (rows["learner"] == learner) & (rows["variant"] == variant) & np.isinf(rows["epsilon"])
    both: pd.DataFrame = pd.concat([chosen, rows.loc[free].assign(variant="without noise")], ignore_index=True)
    return both


def overhead_figure(runs: pd.DataFrame, entry: FigureEntry) -> Figure:
    """What privacy adds to the regret of the same learner without noise, run by run, a panel a learner; raises NotRun.

    A colour a privacy budget; against eps there is one line.
    """
    parameter = entry.parameter or "horizon"
    rows, column = rows_of(runs, entry.experiment), VALUE_COLUMN[parameter]
    keys = ["learner", "variant", "set", "stream", "dimension", "horizon", "run"]
    free = rows.loc[np.isinf(rows["epsilon"]), [*keys, "regret"]].rename(columns={"regret": "free"})
    pairs = rows.loc[np.isfinite(rows["epsilon"])].merge(free, on=keys, validate="many_to_one")
    if pairs.empty:
        raise NotRun(f"no learner of {entry.experiment} has a non-private counterpart")
    pairs["overhead"] = pairs["regret"] - pairs["free"]
    learners = list(pairs.groupby(["learner", "variant"], sort=True))
    with look():
        figure, axes = panels(min(3, len(learners)), -(-len(learners) // 3))
        for axis, ((learner, variant), own) in zip(axes, learners, strict=False):
            budgets = [None] if parameter == "epsilon" else sorted(set(own["epsilon"]))
            paint = colours([str(budget) for budget in budgets])
            for place, budget in enumerate(budgets):
                part = own if budget is None else own.loc[own["epsilon"] == budget]
                groups = [(float(value), group["overhead"].to_numpy(float)) for value, group in part.groupby(column)]
                label = None if budget is None else f"eps = {budget:g}"
                values, samples = [value for value, _ in groups], [sample[:, None] for _, sample in groups]
                means, reach = (np.array([means_of(each)[which][0] for each in samples]) for which in (0, 1))
                axis.errorbar(values, means, np.minimum(reach, 0.95 * np.abs(means)), color=paint[str(budget)],
                              marker=MARKERS[place % len(MARKERS)], label=label)  # fmt: skip
            axis.set(yscale="log", xlabel=labels_of("regret").axes[parameter], title=f"{learner} {variant}")
            axis.set_ylabel(RESPONSE_AXES["overhead"])
            _value_axis(axis, parameter, pairs[column].to_numpy(dtype=float))
            if parameter != "epsilon":
                axis.legend()
        for axis in axes[len(learners) :]:
            axis.set_visible(False)
    return figure


def _value_axis(axis: Axes, parameter: str, values: Array) -> None:
    if (values <= 0).any():
        first = float(values[values > 0].min())
        axis.set_xscale("symlog", linthresh=first)
        axis.set_xlim(-0.2 * first, 1.3 * float(values.max()))  # no decades below zero
    elif parameter in (*LENGTHS, "dimension", "experts"):
        axis.set_xscale("log", base=2)
    else:
        axis.set_xscale("log")
        value_ticks(axis.xaxis, values)
    if parameter == "experts":
        axis.set_xlabel("number of experts d")


def crossings(first: Curve, second: Curve) -> Array:
    """Where two curves cross, interpolated in logarithms between neighbouring common positive values."""
    common, at_first, at_second = np.intersect1d(first[0], second[0], return_indices=True)
    positive = common > 0
    common, at_first, at_second = common[positive], at_first[positive], at_second[positive]
    ratio = np.log(first[1][at_first] / second[1][at_second])
    change = np.flatnonzero(np.sign(ratio[:-1]) * np.sign(ratio[1:]) < 0)
    place = ratio[change] / (ratio[change] - ratio[change + 1])
    logs = np.log(common)
    return np.asarray(np.exp(logs[change] + place * (logs[change + 1] - logs[change])), dtype=np.float64)


def bounds_figure(runs: pd.DataFrame, entry: FigureEntry, response: Response) -> Figure:
    """Measured response between its bounds, one panel a learner that has an explicit upper bound; raises NotRun.

    Dashed above: the learner's own explicit bound; dashed below: the lower bound of the stream, where it has one.
    """
    parameter = entry.parameter or "horizon"
    rows, column = rows_of(runs, entry.experiment), VALUE_COLUMN[parameter]
    bounded = [
        (name, own) for name, own in learners_of(rows, entry.experiment)
        if own["bound"].notna().all() and np.isfinite(own["epsilon"]).all()
    ]  # fmt: skip
    if not bounded:
        raise NotRun(f"no learner with an explicit bound in {entry.experiment}")
    with look():
        figure, axes = panels(len(bounded))
        for axis, (name, own) in zip(axes, bounded, strict=True):
            streams = sorted(set(own["stream"]))
            paint = colours(streams)
            for place, stream in enumerate(streams):
                part = own.loc[own["stream"] == stream]
                groups = list(part.groupby(column, sort=True))
                values = np.array([value for value, _ in groups], dtype=float)
                pairs = [means_of(group["regret"].to_numpy(dtype=float)[:, None]) for _, group in groups]
                means, reach = (np.array([pair[which][0] for pair in pairs]) for which in (0, 1))
                colour, marker = paint[stream], MARKERS[place % len(MARKERS)]
                axis.errorbar(values, means, np.minimum(reach, 0.95 * means), color=colour, marker=marker, label=stream)
                axis.plot(values, part.groupby(column)["bound"].mean(), color=colour, linestyle=DASHED, linewidth=0.9)
                if "lower_bound" in part.columns and part["lower_bound"].notna().all():
                    lower = part.groupby(column)["lower_bound"].mean()
                    axis.plot(values, lower, color=colour, linestyle=DASHED, linewidth=0.9)
            axis.set(yscale="log", xlabel=labels_of(response).axes[parameter], title=name)
            axis.set(ylabel=RESPONSE_AXES[response] + " (dashed: bounds)")
            _value_axis(axis, parameter, rows[column].to_numpy(dtype=float))
        axes[0].legend()
    return figure


def winners_figure(runs: pd.DataFrame, entry: FigureEntry) -> Figure:
    """Which private learner has the smallest mean regret, on a map of T and d, one panel a stream; raises NotRun.

    A cell names its winner by colour and tells its regret as a share of the trivial regret: 1.00 means that no
    private learner does better than a fixed expert.
    """
    rows = rows_of(runs, entry.experiment)
    rows = rows.loc[np.isfinite(rows["epsilon"])].assign(name=lambda frame: frame["learner"] + " " + frame["variant"])
    if rows.empty:
        raise NotRun(f"no private learner in {entry.experiment}")
    streams, names = sorted(set(rows["stream"])), sorted(set(rows["name"]))
    sizes, horizons = sorted(set(rows["dimension"])), sorted(set(rows["horizon"]))
    with look():
        figure, axes = panels(len(streams))
        paint = colours(names)
        for axis, stream in zip(axes, streams, strict=True):
            means = rows.loc[rows["stream"] == stream].groupby(["horizon", "dimension", "name"])[
                ["regret", "trivial_regret"]
            ].mean()  # fmt: skip
            for (horizon, size), cell in means.groupby(level=["horizon", "dimension"]):
                winner = cell["regret"].idxmin()[2]
                share = float(cell["regret"].min() / cell["trivial_regret"].mean())
                across, up = horizons.index(horizon), sizes.index(size)
                axis.fill_between([across - 0.48, across + 0.48], up - 0.48, up + 0.48, color=paint[winner], alpha=0.75)
                axis.text(across, up, f"{share:.2f}", ha="center", va="center", fontsize=7.0)
            axis.set_xticks(range(len(horizons)), [f"2^{int(np.log2(each))}" for each in horizons])
            axis.set_yticks(range(len(sizes)), [f"2^{int(np.log2(each))}" for each in sizes])
            axis.set(xlabel="horizon T (rounds)", ylabel="number of experts d", title=stream)
            axis.grid(False)
        won = sorted({str(text) for text in names})
        for name in won:
            axes[0].plot([], [], linestyle="none", marker="s", color=paint[name], label=name)
        legend_below(figure, axes[0], min(3, 1 + len(axes)))
    return figure


def tuning_figure(runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Figure:
    """Regret against the regularisation for every value of the parameter, and where it is smallest; raises NotRun.

    The second panel has one line a claim of response `optimum` in the experiment, beside the regularisation that other
    variants of the learner use (dashed).
    """
    found = [claim for claim in claims.claims
             if claim.experiment == entry.experiment and claim.response == "optimum"]  # fmt: skip
    if not found:
        raise NotRun(f"no claim on the best regularisation in {entry.experiment}")
    parameter = entry.parameter or "horizon"
    column, claim = VALUE_COLUMN[parameter], found[0]
    rows = rows_of(runs, entry.experiment)
    rows = rows.loc[(rows["learner"] == claim.learner) & (rows["checkpoint"] == rows["horizon"])]
    tried = rows.loc[rows["variant"].str.startswith(claim.variant.rstrip("*"))]
    with look():
        figure, axes = panels(2)
        paint = colours([f"{value:g}" for value in sorted(set(tried[column]))])
        for place, (value, group) in enumerate(tried.groupby(column, sort=True)):
            means = group.groupby("regularisation")["regret"].mean()
            label, marker = f"{labels_of('regret').symbols[parameter]} = {value:g}", MARKERS[place % len(MARKERS)]
            axes[0].plot(means.index, means, marker=marker, color=paint[f"{value:g}"], label=label)
        axes[0].set(xscale="log", yscale="log", xlabel="regularisation lambda", ylabel=RESPONSE_AXES["regret"])
        axes[0].legend()
        _optimum_line(axes[1], runs, claim)
        others = [name for name in sorted(set(rows["variant"])) if name not in set(tried["variant"])]
        for name in others:
            used = rows.loc[rows["variant"] == name].groupby(column)["regularisation"].mean()
            axes[1].plot(used.index, used, linestyle=DASHED, linewidth=1.0, label=f"lambda of {name}")
        axes[1].set(xscale="log", yscale="log", xlabel=labels_of("regret").axes[parameter], ylabel="lambda")
        axes[1].legend()
    return figure


def _optimum_line(axis: Axes, runs: pd.DataFrame, claim: Claim) -> None:
    cells = collect_cells(runs, claim)
    means, reach = means_of(cells.responses)
    used = cells.used
    axis.errorbar(cells.values[used], means[used], reach[used], marker="o", color="0.1", label="smallest regret")
    axis.plot(cells.values[~used], means[~used], linestyle="none", marker="o", color="0.1", markerfacecolor="white")


def privacy_cost_figure(runs: pd.DataFrame, experiment: str, response: Response) -> Figure:
    """What privacy costs on each data set: every learner's response beside the trivial point; raises NotRun.

    A colour a privacy budget; learners without privacy are grey.
    """
    rows = rows_of(runs, experiment)
    streams = sorted(set(rows["stream"]))
    names = [each.name for each in series_of(rows, experiment)]
    budgets = sorted(float(value) for value in set(rows["epsilon"]) if np.isfinite(value))
    with look():
        figure, axes = panels(len(streams))
        paint = colours([f"{budget:g}" for budget in budgets])
        for axis, stream in zip(axes, streams, strict=True):
            own = rows.loc[rows["stream"] == stream]
            trivial = float(own["trivial_regret"].mean())
            for name, group in learners_of(own, experiment):
                for epsilon, cell in group.groupby("epsilon", sort=True):
                    colour = paint.get(f"{epsilon:g}", GREY)
                    means, reach = means_of(cell["regret"].to_numpy(dtype=float)[:, None] / trivial)
                    axis.errorbar(means, [names.index(name)], xerr=reach, fmt="o", color=colour, linewidth=0.8)
            axis.axvline(1.0, linestyle=":", color="0.2", linewidth=1.0, label=TRIVIAL[response])
            axis.set_yticks(range(len(names)), names)
            axis.set(xlabel=_share(response), ylim=(len(names) - 0.5, -0.5), title=stream)
        for budget in budgets:
            axes[0].plot([], [], linestyle="none", marker="o", color=paint[f"{budget:g}"], label=f"eps = {budget:g}")
        axes[0].plot([], [], linestyle="none", marker="o", color=GREY, label="not private")
        legend_below(figure, axes[0], 4)
    return figure


def _share(response: Response) -> str:
    return "excess risk / trivial excess" if response == "excess" else f"regret / regret of {TRIVIAL[response]}"


def _line(axis: Axes, drawn: Curve, each: Series, colour: Colour, marker: str) -> None:
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

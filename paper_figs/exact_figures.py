"""Figures of exact tables and of gains: the league beside its bounds, loss by age, maps, what a mechanism buys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from dpregret.paper_figs.cells import LENGTHS, NotRun
from dpregret.paper_figs.claims import ClaimsFile, FigureEntry
from dpregret.paper_figs.figure_style import DASHED, GREY, MARKERS, colours, legend_below, look, panels
from dpregret.paper_figs.gains import gains, ratio
from dpregret.paper_figs.labels import REGRET

Tables = Mapping[str, pd.DataFrame]
WORST: Final = 60.0
"""Mechanisms that stay above so many times the bound would flatten all others."""
FEWEST: Final = 4
"""Sizes at which a mechanism must be below that to be drawn."""
SHOWN_WINDOW: Final = 64
MEASURED: Final = 4
"""Dimension whose measured cells are drawn beside the bounds."""
VALUES: Final = "noisy-value-bandit"
TREES: Final = {"Laplace tree": "private-bandit-laplace", "Gaussian tree": "private-bandit-gaussian"}
WINS: Final = {"tree ahead": "^", "every value ahead": "v", "undecided": "x"}
DRAWN_MAP: Final = ((2**12, 256), (2**16, 256), (2**16, 4096))
"""(T, W) of the panels of the map."""


def league_figure(tables: Tables) -> Figure:
    """Mean error over the lower bound, whole sequences against T and windows against W."""
    with look():
        figure, axes = panels(2)
        for axis, (name, size) in zip(axes, (("sequences", "T"), ("windows", "W")), strict=True):
            table = tables[name]
            table = table.loc[np.isfinite(table["mean / bound"])]
            most = table.groupby("mechanism")["mean / bound"].transform("min")
            table = table.loc[(most < WORST) & (table["mean / bound"] < WORST)]
            table = table.groupby("mechanism", sort=False).filter(lambda own: len(own) >= FEWEST)
            mechanisms = list(dict.fromkeys(table["mechanism"]))
            paint = colours(mechanisms)
            for place, mechanism in enumerate(mechanisms):
                own = table.loc[table["mechanism"] == mechanism]
                axis.plot(
                    own[size], own["mean / bound"], color=paint[mechanism], marker=MARKERS[place % len(MARKERS)],
                    label=mechanism, linestyle=DASHED if place >= 10 else "-",
                )  # fmt: skip
            axis.axhline(1.0, color="0.3", linewidth=0.8)
            axis.set(yscale="log", xlabel={"T": "horizon T (rounds)", "W": "window W"}[size])
            axis.set_xscale("log", base=2)
            axis.set(ylabel="mean error / lower bound", title={"T": "whole sequences", "W": "windows"}[size])
            axis.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.22))
    return figure


def ages_figure(tables: Tables) -> Figure:
    """Squared loss by age for one window, and curves of expiry that a mechanism might be asked to keep."""
    ages = tables["ages"]
    ages = ages.loc[ages["W"] == SHOWN_WINDOW]
    mechanisms = list(dict.fromkeys(ages["mechanism"]))
    paint = colours(mechanisms)
    with look():
        figure, axes = panels(2)
        for axis, windows, title in ((axes[0], 1, "while it is protected"), (axes[1], 16, "after expiry")):
            for mechanism in mechanisms:
                own = ages.loc[(ages["mechanism"] == mechanism) & (ages["age"] < windows * SHOWN_WINDOW)]
                age = (own["age"] + 1) / SHOWN_WINDOW
                axis.plot(age, own["loss"], color=paint[mechanism], label=mechanism)
            seen = np.linspace(1 / SHOWN_WINDOW, windows, 400)
            for label, style, curve in (
                ("g linear", ":", seen), ("g = 1 + log2 after W", DASHED, 1 + np.log2(np.maximum(1.0, seen))),
            ):  # fmt: skip
                axis.plot(seen, curve, color=GREY, linestyle=style, label=label)
            axis.set(xlabel="age of the item, windows", ylabel="squared loss (protected: 1)")
            axis.set_title(f"W = {SHOWN_WINDOW}, {title}")
        axes[1].set_ylim(0.0, 8.0)
        legend_below(figure, axes[0], 5)
    return figure


def map_figure(tables: Tables) -> Figure:
    """The learner of least explicit bound by d and eps, a panel a pair (T, W)."""
    bounds = tables["bounds"]
    learners = [name for name in bounds.columns if name not in ("T", "W", "d", "eps")]
    best = bounds[learners].to_numpy().argmin(axis=1)
    bounds = bounds.assign(best=best)
    paint = colours(learners)
    with look():
        figure, axes = panels(len(DRAWN_MAP))
        for axis, (horizon, window) in zip(axes, DRAWN_MAP, strict=True):
            own = bounds.loc[(bounds["T"] == horizon) & (bounds["W"] == window)]
            grid = own.pivot(index="d", columns="eps", values="best")
            axis.imshow(
                grid.to_numpy(), origin="lower", aspect="auto", cmap=ListedColormap([paint[name] for name in learners]),
                vmin=-0.5, vmax=len(learners) - 0.5,
            )  # fmt: skip
            tree = own.assign(tree_wins=own["noise on every gradient"] < own["tree"])
            marks = tree.pivot(index="d", columns="eps", values="tree_wins").to_numpy()
            for row, column in zip(*np.nonzero(marks), strict=True):
                axis.plot(column, row, marker="x", color="0.1", markersize=5)
            axis.set_xticks(range(len(grid.columns)), [f"{value:g}" for value in grid.columns])
            axis.set_yticks(range(len(grid.index)), [f"{value:g}" for value in grid.index])
            axis.grid(visible=False)
            axis.set(xlabel="privacy budget eps", ylabel="dimension d", title=f"T = {horizon}, W = {window}")
        for number, name in enumerate(learners):
            if (best == number).any():
                axes[0].plot([], [], marker="s", linestyle="", color=paint[name], label=f"least bound: {name}")
        axes[0].plot([], [], marker="x", linestyle="", color="0.1", label="noise on every gradient beats the tree")
        legend_below(figure, axes[0], 4)
    return figure


def crossing_figure(tables: Tables) -> Figure:
    """Where two learners' bounds meet: sqrt(d) / mu_gdp against W, and the dimension at one eps, for finite T too."""
    table = tables["crossing"]
    curves = [name for name in table.columns if name.startswith("mu D")]
    dimensions = [name for name in table.columns if name.startswith("d, eps = 8")]
    with look():
        figure, axes = panels(2)
        for axis, names in zip(axes, (curves, dimensions), strict=True):
            paint = colours(names)
            for place, name in enumerate(names):
                marker = MARKERS[place % len(MARKERS)]
                axis.plot(table["W"], table[name], color=paint[name], marker=marker, label=name.replace("<<", "≪"))
            axis.set_xscale("log", base=2)
            axis.set_yscale("log", base=2)
            axis.set(xlabel="window W")
            axis.legend(loc="lower right")
        axes[0].set(ylabel="sqrt(d) / mu_gdp", title="bounds of equal growth in ln T (above: the tree's is less)")
        axes[1].set(ylabel="dimension d", title="the same at eps = 8; with T: whole bounds are equal")
    return figure


def crossover_figure(tables: Tables, runs: pd.DataFrame) -> Figure:
    """The horizon from which a tree's explicit bound is below that of noise on every value, against eps.

    Beside it, cells of the runs on the unit ball in dimension `MEASURED`: who had the smaller regret.
    """
    table = tables["crossover"]
    trees = [name.removeprefix("log2 T*, ") for name in table.columns if name.startswith("log2 T*, ")]
    sizes = sorted(set(table["n"]))
    paint = colours([f"n = {size:g}" for size in sizes])
    with look():
        figure, axes = panels(len(trees))
        for axis, tree in zip(axes, trees, strict=True):
            for place, size in enumerate(sizes):
                own, label = table.loc[table["n"] == size], f"n = {size:g}"
                horizons = 2.0 ** own[f"log2 T*, {tree}"].to_numpy(dtype=float)
                axis.plot(own["eps"], horizons, color=paint[label], marker=MARKERS[place], label=label)
            measured = measured_crossing(runs, TREES[tree])
            for word, marker in WINS.items():
                own, filled = measured.loc[measured["ahead"] == word], "0.2" if word == "tree ahead" else "none"
                axis.plot(
                    own["epsilon"], own["horizon"], color="0.2", marker=marker, linestyle="", markersize=5,
                    markerfacecolor=filled, label=f"measured, n = {MEASURED}: {word}",
                )  # fmt: skip
            axis.set_xscale("log", base=2)
            axis.set_yscale("log", base=2)
            axis.set(xlabel="privacy budget eps", ylabel="horizon T* (rounds)", title=tree)
        legend_below(figure, axes[0], 4)
    return figure


def measured_crossing(runs: pd.DataFrame, tree: str) -> pd.DataFrame:
    """A row per horizon and finite eps in dimension `MEASURED` on the tight stream of the ball, with who is ahead.

    By the 95 % interval of the ratio of mean regrets; of experiments with the same cell that with most runs.
    """
    found: dict[tuple[float, float], tuple[int, str]] = {}
    if not runs.empty:
        kept = runs["learner"].isin([tree, VALUES]) & (runs["variant"] == "corrected") & (runs["status"] == "ok")
        kept &= (runs["set"] == "ball") & (runs["stream"] == "cone") & (runs["dimension"] == MEASURED)
        cells = runs.loc[kept & np.isfinite(runs["epsilon"])]
        for (_, horizon, epsilon), cell in cells.groupby(["experiment", "horizon", "epsilon"]):
            played = {name: own.sort_values("run")["regret"].to_numpy() for name, own in cell.groupby("learner")}
            if len(played) < 2:
                continue
            runs_of, quotient = min(map(len, played.values())), ratio(played[tree], played[VALUES])
            word = "tree ahead" if quotient.high < 1 else "every value ahead" if quotient.low > 1 else "undecided"
            found[horizon, epsilon] = max(found.get((horizon, epsilon), (0, "")), (runs_of, word))
    rows = [(horizon, epsilon, word) for (horizon, epsilon), (_, word) in sorted(found.items())]
    return pd.DataFrame(rows, columns=["horizon", "epsilon", "ahead"])


def gain_figure(runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Figure:
    """Ratios of noise (dashed) and regret with intervals, a panel a learner, stream and budget; raises NotRun."""
    asked = [gain for gain in claims.gains if (gain.experiment, gain.parameter) == (entry.experiment, entry.parameter)]
    groups = []
    for gain in asked:
        found = gains(runs, claims.model_copy(update={"gains": (gain,)}))
        where = ", ".join(f"{key} = {value:g}" for key, value in gain.where.items() if not isinstance(value, str))
        groups += [(f"{learner}, {stream}" + (f", {where}" if where else ""), own)
                   for (learner, stream), own in found.groupby(["learner", "stream"], sort=True)]  # fmt: skip
    if not groups:
        raise NotRun(f"no gain of {entry.experiment} has rows")
    paint = colours(list(dict.fromkeys(name for _, own in groups for name in own["with"])))
    with look():
        figure, axes = panels(min(2, len(groups)), -(-len(groups) // 2))
        for axis, (title, own) in zip(axes, groups, strict=False):
            for place, (variant, part) in enumerate(own.groupby("with", sort=True)):
                reach = np.abs(part[["ratio_low", "ratio_high"]].to_numpy().T - part["ratio"].to_numpy())
                marker = MARKERS[place % len(MARKERS)]
                axis.errorbar(
                    part["value"], part["ratio"], reach, color=paint[str(variant)], marker=marker,
                    label=f"{variant}: regret",
                )  # fmt: skip
                axis.plot(part["value"], part["noise"], color=paint[str(variant)], linestyle=DASHED,
                          label=f"{variant}: noise")  # fmt: skip
            _gain_axis(axis, entry, str(own["over"].iloc[0]))
            axis.set_title(f"{title}: {own['response'].iloc[0]}".replace("_", " "))
            axis.set_ylim(bottom=min(0.9, axis.get_ylim()[0]))
        for axis in axes[len(groups) :]:
            axis.set_visible(False)
        legend_below(figure, axes[0], 6)
    return figure


def _gain_axis(axis: Axes, entry: FigureEntry, over: str) -> None:
    axis.axhline(1.0, color="0.3", linewidth=0.8)
    axis.set_xscale("log", base=2)
    label = "window W" if entry.parameter == "window" else REGRET.axes[entry.parameter or LENGTHS[0]]
    axis.set(xlabel=label, ylabel=f"{over} / other mechanism")

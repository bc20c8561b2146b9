"""What drift does to learners that forget and to privacy that expires: one figure of a stream in the order of time."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpregret.core.arrays import Array
from dpregret.paper_figs.cells import NotRun
from dpregret.paper_figs.curves import means_of, rows_of
from dpregret.paper_figs.figure_style import DASHED, GREY, MARKERS, colours, legend_below, look, panels
from dpregret.paper_figs.tails import mean_root

FORGETS: Final = "restarted-ftal"
EXPIRES: Final = "wdp-cocop-gaussian"
NEITHER: Final = "ftal"


def drift_figure(runs: pd.DataFrame, experiment: str) -> Figure:
    """Loss over the year, regret against how often a learner forgets, and what privacy adds; raises NotRun.

    Left: loss a round in each step between horizons, above the point that is best for all rounds; of learners that
    never forget, and of the shorter block of least final regret at the largest budget. Middle: final regret a round
    against the block length. Right: what privacy adds to it, against the rounds after which privacy expires (filled)
    or the learner forgets (open), with the size of the window tree's noise (dashed). Grey is without privacy, bars are
    95 %.
    """
    rows = rows_of(runs, experiment)
    if "regret_last" not in rows or not {FORGETS, EXPIRES, NEITHER} <= set(rows["learner"]):
        raise NotRun(f"{experiment} does not follow a stream in the order of time")
    horizon = int(rows["horizon"].max())
    rows = rows.loc[rows["horizon"] == horizon]
    budgets = sorted({float(each) for each in rows["epsilon"]}, reverse=True)
    with look():
        figure, axes = panels(3)
        paint = colours([f"{each:g}" for each in budgets if np.isfinite(each)])
        coloured = {each: paint.get(f"{each:g}", GREY) for each in budgets}
        _over_time(axes[0], rows, coloured)
        _against_memory(axes[1], rows, coloured)
        _against_window(axes[2], rows, coloured)
        for budget in budgets:
            label = f"eps = {budget:g}" if np.isfinite(budget) else "not private"
            axes[1].plot([], [], color=coloured[budget], label=label)
        legend_below(figure, axes[1], 4)
    return figure


def _over_time(axis: Axes, rows: pd.DataFrame, coloured: dict[float, tuple[float, float, float]]) -> None:
    steps = np.diff(sorted(set(rows["checkpoint"])))
    step = int(np.median(steps))
    own = rows.loc[rows["checkpoint"] % step == 0]
    best = own.loc[own["learner"] == NEITHER].groupby("checkpoint")[["regret_last", "regret_pieces"]].mean()
    ends = best.index.to_numpy(dtype=float)
    follows = np.diff(best["regret_last"] - best["regret_pieces"], prepend=0.0) / step
    axis.plot(ends / 1000, follows, color="0.1", linestyle=":", label=f"best point of each {_count(step)}")
    forgets = own.loc[own["learner"] == FORGETS]
    largest = max(each for each in coloured if np.isfinite(each))
    final = forgets.loc[(forgets["epsilon"] == largest) & (forgets["checkpoint"] == ends[-1])]
    longest = int(final["window"].max())
    length = int(final.loc[final["window"] < longest].groupby("window")["regret"].mean().idxmin())
    lines = ((longest, "-", "never forgets"), (length, DASHED, f"forgets every {_count(length)}"))
    for each, line, name in lines:
        axis.plot([], [], color="0.1", linestyle=line, linewidth=1.0, label=name)
        for budget, colour in coloured.items():
            _year(axis, forgets.loc[(forgets["epsilon"] == budget) & (forgets["window"] == each)], step, colour, line)
    axis.axhline(0.0, color="0.3", linewidth=0.8)
    axis.set(xlabel="rounds so far, thousands", ylabel="loss a round above the best fixed point")
    axis.set_title("over time")
    axis.legend()


def _year(axis: Axes, rows: pd.DataFrame, step: int, colour: tuple[float, float, float], line: Any) -> None:
    table = rows.pivot_table(index="run", columns="checkpoint", values="regret_last")
    means, reach = means_of(np.diff(table.to_numpy(dtype=float), axis=1, prepend=0.0) / step)
    ends = table.columns.to_numpy(dtype=float) / 1000
    axis.plot(ends, means, color=colour, linestyle=line, linewidth=1.0)
    axis.fill_between(ends, means - reach, means + reach, color=colour, alpha=0.2, linewidth=0)


def _against_memory(axis: Axes, rows: pd.DataFrame, coloured: dict[float, tuple[float, float, float]]) -> None:
    final = rows.loc[(rows["learner"] == FORGETS) & (rows["checkpoint"] == rows["horizon"])]
    horizon = int(final["horizon"].max())
    for place, (budget, colour) in enumerate(coloured.items()):
        _bars(axis, final.loc[final["epsilon"] == budget], "regret", horizon, colour, MARKERS[place], colour)
    trivial = float(final["trivial_regret"].mean()) / horizon
    axis.axhline(0.0, color="0.3", linewidth=0.8)
    axis.axhline(trivial, color="0.2", linestyle=":", linewidth=1.0)
    axis.annotate("constant point", (0.98, trivial), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                  fontsize=7.0)  # fmt: skip
    axis.annotate("best fixed point", (0.98, 0.0), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                  fontsize=7.0)  # fmt: skip
    axis.set_yscale("symlog", linthresh=1e-3)
    axis.set(xlabel="rounds after which the learner forgets", ylabel="regret a round at the end")
    axis.set_title("does forgetting help?")
    _lengths(axis, final["window"])


def _against_window(axis: Axes, rows: pd.DataFrame, coloured: dict[float, tuple[float, float, float]]) -> None:
    final = rows.loc[rows["checkpoint"] == rows["horizon"]]
    horizon = int(final["horizon"].max())
    for place, (budget, colour) in enumerate(coloured.items()):
        if not np.isfinite(budget):
            continue
        for learner, face in ((EXPIRES, colour), (FORGETS, "white")):
            added = _overhead(final.loc[final["learner"] == learner], budget)
            means = _bars(axis, added, "added", horizon, colour, MARKERS[place], face)
            if learner == EXPIRES and len(means) > 1:
                windows = means.index.to_numpy(dtype=float)
                law = np.sqrt(np.log2(windows) + 1) * mean_root(windows)
                axis.plot(windows, law * (means.iloc[0] / law[0]), color=colour, linestyle=DASHED, linewidth=0.9)
    axis.plot([], [], color="0.1", marker="o", label="privacy expires")
    axis.plot([], [], color="0.1", marker="o", markerfacecolor="white", label="the learner forgets")
    axis.plot([], [], color="0.1", linestyle=DASHED, linewidth=0.9, label="size of the tree's noise")
    axis.set_yscale("log")
    axis.set(xlabel="rounds after which it expires, or the learner forgets", ylabel="what privacy adds, a round")
    axis.set_title("does privacy that expires cost less?")
    axis.legend()
    _lengths(axis, final.loc[final["learner"] == EXPIRES, "window"])


def _overhead(rows: pd.DataFrame, budget: float) -> pd.DataFrame:
    """Rows with `added`, the regret above that of the same run and window without noise."""
    free = rows.loc[np.isinf(rows["epsilon"]), ["window", "run", "regret"]].rename(columns={"regret": "free"})
    pairs = rows.loc[rows["epsilon"] == budget].merge(free, on=["window", "run"], validate="one_to_one")
    return pairs.assign(added=pairs["regret"] - pairs["free"])


def _bars(
    axis: Axes, rows: pd.DataFrame, column: str, horizon: int, colour: tuple[float, float, float], marker: str,
    face: object,
) -> pd.Series:  # fmt: skip
    """A mean a round for each window with its interval; the means."""
    table = rows.pivot_table(index="run", columns="window", values=column) / horizon
    means, reach = means_of(table.to_numpy(dtype=float))
    axis.errorbar(table.columns, means, reach, color=colour, marker=marker, markerfacecolor=face)
    return pd.Series(means, index=table.columns)


def _lengths(axis: Axes, windows: pd.Series) -> None:
    """Powers of two, the longest of which is for ever."""
    ticks: Array = np.array(sorted(set(windows)), dtype=float)
    axis.set_xscale("log", base=2)
    axis.set_xticks(ticks, [*(_count(int(each)) for each in ticks[:-1]), "never"])


def _count(rounds: int) -> str:
    return f"$2^{{{rounds.bit_length() - 1}}}$" if rounds & (rounds - 1) == 0 else str(rounds)

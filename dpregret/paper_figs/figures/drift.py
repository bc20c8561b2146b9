"""The effect of drift on learners that restart and on privacy that expires: one figure of a stream in the order of
time."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.compare import stepped
from dpregret.paper_figs.figures.layout import Page, Plate
from dpregret.paper_figs.figures.markers import Look
from dpregret.paper_figs.figures.series import means_of, rows_of
from dpregret.paper_figs.figures.style import DASHED, GUIDE, INK, SMALL
from dpregret.paper_figs.figures.symbols import count, run_count, setting
from dpregret.paper_figs.judge.cells import NotRun, mean_root
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry

FORGETS: Final = "restarted-ftal"
EXPIRES: Final = "wdp-cocop-gaussian"
NEITHER: Final = "ftal"
FREE: Final = Look((0.45, 0.45, 0.45), "d", (0, (1.2, 1.2)))
Lines = dict[float, Look]


def drift(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Loss over the year, regret against how often a learner forgets, and what privacy adds; raises NotRun.

    First: loss a round in each step between horizons, above the point that is best for all rounds, of the learner that
    never forgets; second: of the shorter block of least final regret at the largest budget. Third: final regret a round
    against the block length. Fourth: what privacy adds to it, against the rounds after which privacy expires (filled)
    or the learner forgets (open), with the size of the window tree's noise (dashed).
    """
    rows = rows_of(runs, entry.experiment)
    if "regret_last" not in rows or not {FORGETS, EXPIRES, NEITHER} <= set(rows["learner"]):
        raise NotRun(f"{entry.experiment} does not follow a stream in the order of time")
    rows = rows.loc[rows["horizon"] == rows["horizon"].max()]
    budgets = sorted({float(each) for each in rows["epsilon"] if np.isfinite(each)}, reverse=True)
    lines: Lines = {budget: stepped(number) for number, budget in enumerate(budgets)} | {np.inf: FREE}
    plate = page.plate(4, 2, height=1.95)
    length = _best_length(rows, budgets[0])
    longest = int(rows.loc[rows["learner"] == FORGETS, "window"].max())
    for index, (window, title) in enumerate(((longest, "never restarted"), (length, f"every {count(length)} rounds"))):
        _over_time(plate, index, rows, lines, window)
        plate.axes[index].set_title(f"{page.name(FORGETS)}: {title}")
    limits = np.array([axis.get_ylim() for axis in plate.axes[:2]])
    for axis in plate.axes[:2]:
        axis.set_ylim(limits[:, 0].min(), limits[:, 1].max())
    plate.finding = _against_memory(plate, 2, rows, lines)
    _against_window(plate, 3, page, rows, lines)
    for budget, look in lines.items():
        label = f"$\\varepsilon =$ {count(budget)}" if np.isfinite(budget) else "not private"
        plate.key(label, color=look.colour, marker=look.marker, linestyle=look.dash)
    told = setting(rows, page.names, ("window", "epsilon"))
    plate.setting = f"{run_count(rows)}, bands and bars 95 %. {told}"
    return plate


def _best_length(rows: pd.DataFrame, budget: float) -> int:
    final = rows.loc[(rows["learner"] == FORGETS) & (rows["checkpoint"] == rows["horizon"])]
    final = final.loc[(final["epsilon"] == budget) & (final["window"] < final["window"].max())]
    return int(final.groupby("window")["regret"].mean().idxmin())


def _over_time(plate: Plate, place: int, rows: pd.DataFrame, lines: Lines, window: int) -> None:
    axis = plate.axes[place]
    step = int(np.median(np.diff(sorted(set(rows["checkpoint"])))))
    own = rows.loc[rows["checkpoint"] % step == 0]
    best = own.loc[own["learner"] == NEITHER].groupby("checkpoint")[["regret_last", "regret_pieces"]].mean()
    follows = np.diff(best["regret_last"] - best["regret_pieces"], prepend=0.0) / step
    plate.line(place, "best point of each piece", best.index.to_numpy(dtype=float) / 1000, follows, dash=":",
               what="mean", legend=f"best point of each {count(step)} rounds")  # fmt: skip
    forgets = own.loc[(own["learner"] == FORGETS) & (own["window"] == window)]
    for budget, look in lines.items():
        table = forgets.loc[forgets["epsilon"] == budget].pivot_table(
            index="run", columns="checkpoint", values="regret_last"
        )
        means, reach = means_of(np.diff(table.to_numpy(dtype=float), axis=1, prepend=0.0) / step)
        ends = table.columns.to_numpy(dtype=float) / 1000
        plate.curve(place, f"eps = {budget:g}", ends, means, look, reach, legend="", size=2.2, what="loss a round")
    axis.axhline(0.0, color=GUIDE, linewidth=0.7)
    axis.set_xlabel("rounds so far, thousands")
    axis.set_ylabel("loss a round above the best")


def _against_memory(plate: Plate, place: int, rows: pd.DataFrame, lines: Lines) -> str:
    """Final regret against the block length; says at which budgets forgetting helps."""
    axis = plate.axes[place]
    final = rows.loc[(rows["learner"] == FORGETS) & (rows["checkpoint"] == rows["horizon"])]
    horizon, longest = int(final["horizon"].max()), int(final["window"].max())
    axis.set_yscale("symlog", linthresh=1e-3)
    said = []
    for budget, look in lines.items():
        table = final.loc[final["epsilon"] == budget].pivot_table(index="run", columns="window", values="regret")
        means, reach = means_of(table.to_numpy(dtype=float) / horizon)
        windows = table.columns.to_numpy(dtype=float)
        plate.curve(
            place, f"eps = {budget:g}", windows, means, look, reach, band=False, legend="", what="regret a round"
        )
        word = f"$\\varepsilon =$ {count(budget)}" if np.isfinite(budget) else "no noise"
        said.append((word, windows[int(np.argmin(means))]))
    trivial = float(final["trivial_regret"].mean()) / horizon
    axis.axhline(0.0, color=GUIDE, linewidth=0.7)
    axis.axhline(trivial, color=INK, linestyle=":", linewidth=0.8)
    for level, text in ((trivial, "constant point"), (0.0, "best fixed point")):
        axis.annotate(text, (0.98, level), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=SMALL)
    axis.set_xlabel("rounds after which the learner forgets")
    axis.set_ylabel("regret a round at the end")
    axis.set_title("does forgetting help?")
    _lengths(axis, final["window"])
    never = [word for word, window in said if window == longest]
    helped = [f"{word} (every {count(window)})" for word, window in said if window < longest]
    if not helped:
        return "Forgetting does not help at any budget: the least regret is that of the learner that never forgets"
    return f"Forgetting helps with {', '.join(helped)}" + (f", not with {', '.join(never)}" if never else "")


def _against_window(plate: Plate, place: int, page: Page, rows: pd.DataFrame, lines: Lines) -> None:
    axis = plate.axes[place]
    final = rows.loc[rows["checkpoint"] == rows["horizon"]]
    horizon = int(final["horizon"].max())
    axis.set_yscale("log")
    for budget, look in lines.items():
        if not np.isfinite(budget):
            continue
        for learner, words in ((EXPIRES, "privacy expires"), (FORGETS, "learner forgets")):
            added = _overhead(final.loc[final["learner"] == learner], budget)
            table = added.pivot_table(index="run", columns="window", values="added") / horizon
            means, reach = means_of(table.to_numpy(dtype=float))
            windows = table.columns.to_numpy(dtype=float)
            open_all = np.full(len(windows), learner == FORGETS)
            drawn = look if learner == EXPIRES else Look(look.colour, look.marker, DASHED)
            name = f"eps = {budget:g}"
            plate.curve(place, name, windows, means, drawn, reach, band=False, hollow=open_all, legend="",
                        what=f"added by privacy, {words}")  # fmt: skip
            if learner == EXPIRES and len(means) > 1:
                law = np.sqrt(np.log2(windows) + 1) * mean_root(windows)
                plate.line(place, name, windows, law * (means[0] / law[0]), what="size of the tree's noise, scaled",
                           colour=look.colour, dash=":", width=1.1)  # fmt: skip
    plate.key("privacy expires", color=INK, marker="o", linestyle="-")
    plate.key("the learner forgets", color=INK, marker="o", linestyle=DASHED, markerfacecolor="white")
    plate.key("size of the tree's noise", color=INK, linestyle=":")
    axis.set_xlabel("rounds after which it expires, or is forgotten")
    axis.set_ylabel("what privacy adds, a round")
    axis.set_title("does privacy that expires cost less?")
    _lengths(axis, final.loc[final["learner"] == EXPIRES, "window"])


def _overhead(rows: pd.DataFrame, budget: float) -> pd.DataFrame:
    """Rows with `added`, the regret above that of the same run and window without noise."""
    free = rows.loc[np.isinf(rows["epsilon"]), ["window", "run", "regret"]].rename(columns={"regret": "free"})
    pairs = rows.loc[rows["epsilon"] == budget].merge(free, on=["window", "run"], validate="one_to_one")
    return pairs.assign(added=pairs["regret"] - pairs["free"])


def _lengths(axis: Axes, windows: pd.Series) -> None:
    """Powers of two, the longest of which never ends."""
    ticks: Array = np.array(sorted(set(windows)), dtype=float)
    style.log_axis(axis, "x", ticks, base=2)
    labels: list[Any] = [*(count(float(each)) for each in ticks[:-1]), "never"]
    axis.set_xticks(ticks, labels)

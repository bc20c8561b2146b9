"""The effect of drift on learners that restart and on privacy that expires: one figure of a stream in the order of
time."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.layout import Page, Panel, Plate, Style
from dpregret.paper_figs.figures.series import by_run, means_of, rows_of
from dpregret.paper_figs.figures.style import DASHED, GUIDE, INK, SMALL, Look, stepped
from dpregret.paper_figs.figures.symbols import count
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
    forgets, final = rows.loc[rows["learner"] == FORGETS], rows.loc[rows["checkpoint"] == rows["horizon"]]
    largest = final.loc[(final["learner"] == FORGETS) & (final["epsilon"] == budgets[0])]
    longest = int(forgets["window"].max())
    shorter = largest.loc[largest["window"] < largest["window"].max()]
    length = int(shorter.groupby("window")["regret"].mean().idxmin())
    for panel, window in zip(plate.panels, (longest, length), strict=False):
        _over_time(panel, rows, lines, window)
        often = f"every {count(length)} rounds" if panel.number > 1 else "never restarted"
        panel.axis.set_title(f"{page.name(FORGETS)}: {often}")
    plate.same_heights(plate.panels[:2])
    plate.finding = _against_memory(plate.panels[2], final.loc[final["learner"] == FORGETS], lines)
    _against_window(plate.panels[3], final, lines)
    for budget, look in lines.items():
        label = f"$\\varepsilon =$ {count(budget)}" if np.isfinite(budget) else "not private"
        plate.key(label, color=look.colour, marker=look.marker, linestyle=look.dash)
    plate.setting = page.setting(rows, ", bands and bars 95 %.", ("window", "epsilon"))
    return plate


def _over_time(panel: Panel, rows: pd.DataFrame, lines: Lines, window: int) -> None:
    """Loss a round in each step between horizons, of the learner that forgets after a window."""
    step = int(np.median(np.diff(sorted(set(rows["checkpoint"])))))
    own = rows.loc[rows["checkpoint"] % step == 0]
    best = own.loc[own["learner"] == NEITHER].groupby("checkpoint")[["regret_last", "regret_pieces"]].mean()
    follows = np.diff(best["regret_last"] - best["regret_pieces"], prepend=0.0) / step
    label = f"best point of each {count(step)} rounds"
    panel.line("best point of each piece", best.index / 1000, follows, "mean", key=label, linestyle=":")
    forgets = own.loc[(own["learner"] == FORGETS) & (own["window"] == window)]
    for budget, look in lines.items():
        table = by_run(forgets.loc[forgets["epsilon"] == budget], "checkpoint", "regret_last")
        drawn = means_of(table.columns / 1000, np.diff(table.to_numpy(dtype=float), axis=1, prepend=0.0) / step)
        panel.curve(f"eps = {budget:g}", drawn, replace(look, size=2.2), "loss a round", legend="")
    panel.axis.axhline(0.0, color=GUIDE, linewidth=0.7)
    panel.axis.set(xlabel="rounds so far, thousands", ylabel="loss a round above the best")


def _against_memory(panel: Panel, final: pd.DataFrame, lines: Lines) -> str:
    """Final regret against the block length; says at which budgets forgetting helps."""
    axis, horizon, longest = panel.axis, int(final["horizon"].max()), int(final["window"].max())
    axis.set_yscale("symlog", linthresh=1e-3)
    best: dict[str, float] = {}
    for budget, look in lines.items():
        table = by_run(final.loc[final["epsilon"] == budget], "window")
        drawn = means_of(table.columns, table.to_numpy(dtype=float) / horizon)
        panel.curve(f"eps = {budget:g}", drawn, look, "regret a round", band=False, legend="")
        word = f"$\\varepsilon =$ {count(budget)}" if np.isfinite(budget) else "no noise"
        best[word] = drawn.values[int(np.argmin(drawn.means))]
    trivial = float(final["trivial_regret"].mean()) / horizon
    axis.axhline(0.0, color=GUIDE, linewidth=0.7)
    axis.axhline(trivial, color=INK, linestyle=":", linewidth=0.8)
    for level, text in ((trivial, "constant point"), (0.0, "best fixed point")):
        axis.annotate(text, (0.98, level), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=SMALL)
    axis.set(xlabel="rounds after which the learner forgets", ylabel="regret a round at the end")
    axis.set_title("does forgetting help?")
    _lengths(axis, final["window"])
    never = [word for word, window in best.items() if window == longest]
    helped = [f"{word} (every {count(window)})" for word, window in best.items() if window < longest]
    if not helped:
        return "Forgetting does not help at any budget: the least regret is that of the learner that never forgets"
    return f"Forgetting helps with {', '.join(helped)}" + (f", not with {', '.join(never)}" if never else "")


def _against_window(panel: Panel, final: pd.DataFrame, lines: Lines) -> None:
    """What privacy adds to the final regret, beside the law of the window tree's noise."""
    axis, horizon = panel.axis, int(final["horizon"].max())
    axis.set_yscale("log")
    for budget, look in lines.items():
        if not np.isfinite(budget):
            continue
        name = f"eps = {budget:g}"
        for learner, words in ((EXPIRES, "privacy expires"), (FORGETS, "learner forgets")):
            own, forgets = final.loc[final["learner"] == learner], learner == FORGETS
            noisy, free = (by_run(own.loc[own["epsilon"] == each], "window") for each in (budget, np.inf))
            added = (noisy - free)[noisy.columns]
            hollow = np.full(len(added.columns), forgets)
            drawn = means_of(added.columns, added.to_numpy(dtype=float) / horizon, hollow)
            shown = replace(look, dash=DASHED) if forgets else look
            panel.curve(name, drawn, shown, f"added by privacy, {words}", band=False, legend="")
            if not forgets and len(drawn.values) > 1:
                law = np.sqrt(np.log2(drawn.values) + 1) * mean_root(drawn.values)
                dotted: Style = {"color": look.colour, "linestyle": ":", "linewidth": 1.1}
                scaled = law * (drawn.means[0] / law[0])
                panel.line(name, drawn.values, scaled, "size of the tree's noise, scaled", **dotted)
    plate = panel.plate
    plate.key("privacy expires", color=INK, marker="o", linestyle="-")
    plate.key("the learner forgets", color=INK, marker="o", linestyle=DASHED, markerfacecolor="white")
    plate.key("size of the tree's noise", color=INK, linestyle=":")
    axis.set(xlabel="rounds after which it expires, or is forgotten", ylabel="what privacy adds, a round")
    axis.set_title("does privacy that expires cost less?")
    _lengths(axis, final.loc[final["learner"] == EXPIRES, "window"])


def _lengths(axis: Axes, windows: pd.Series) -> None:
    """Powers of two, the longest of which never ends."""
    ticks = sorted(set(windows.astype(float)))
    style.log_axis(axis, "x", ticks, base=2)
    axis.set_xticks(ticks, [*map(count, ticks[:-1]), "never"])

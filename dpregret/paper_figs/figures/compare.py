"""Learners compared on one axis: who wins where, what privacy costs, what it adds, the best regularisation, and the
effect of drift on learners that restart and on privacy that expires."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from dpregret.paper_figs.figures import style, sweep
from dpregret.paper_figs.figures.layout import MOST, Page, Panel, Plate, Style
from dpregret.paper_figs.figures.style import Look
from dpregret.paper_figs.judge.cells import NotRun, mean_root
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry
from dpregret.paper_figs.judge.fits import mean_interval
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN


def winners(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Which private learner has the smallest mean regret, on a map of T and d, one panel a stream; raises NotRun.

    A cell names its winner by colour and marker and shows its regret as a share of the trivial regret: 1.00 means that
    no private learner does better than a fixed expert.
    """
    rows = sweep.rows_of(runs, entry.experiment)
    rows = rows.loc[np.isfinite(rows["epsilon"])].assign(name=lambda frame: frame["learner"] + "." + frame["variant"])
    if rows.empty:
        raise NotRun(f"no private learner in {entry.experiment}")
    streams = sorted(set(rows["stream"]))
    sizes, horizons = sorted(set(rows["dimension"]), reverse=True), sorted(set(rows["horizon"]))
    plate = page.plate(len(streams), height=2.3)
    won: list[str] = []
    for panel, stream in zip(plate.panels, streams, strict=True):
        own = rows.loc[rows["stream"] == stream].groupby(["dimension", "horizon", "name"])
        means = own[["regret", "trivial_regret"]].mean()
        cells = means.loc[means.groupby(level=[0, 1])["regret"].idxmin()].reset_index("name")
        cells = cells.assign(share=cells["regret"] / means["trivial_regret"].groupby(level=[0, 1]).mean())
        names = sorted(set(cells["name"]))
        winner, part = (cells[name].unstack().reindex(index=sizes, columns=horizons) for name in ("name", "share"))
        colours = ListedColormap([style.shaded(page.looks.at(name).colour, 0.55) for name in names])
        number = winner.map(names.index, na_action="ignore").astype(float)
        text = part.map(lambda part: f"{part:.2f}" if part >= 0.005 else "< .01")
        small = {"fontsize": style.SMALL, "color": style.INK, "va": "top"}
        shown: Style = {"vmin": -0.5, "vmax": len(names) - 0.5, "cmap": colours, "cbar": False, "fmt": ""}
        shown |= {"linewidths": 0.6, "linecolor": "white", "annot": text, "annot_kws": small}
        for key, values in (("xticklabels", horizons), ("yticklabels", sizes)):
            shown[key] = [style.power_of_two(each) for each in values]
        seaborn.heatmap(number, ax=panel.axis, **shown)
        for (size, horizon), cell in cells.iterrows():
            look, name = page.looks.at(cell["name"]), str(cell["name"])
            at = [horizons.index(horizon) + 0.5], [sizes.index(size) + 0.3]
            panel.axis.plot(*at, color=look.colour, marker=look.marker, markersize=3.0)
            won.append(name)
            panel.keep(page.name(name), [f"T = {horizon}, d = {size}"], [cell["share"]], what="share of the trivial")
        panel.axis.set(xlabel=style.AXES["horizon"], ylabel=style.AXES["experts"])
        panel.axis.tick_params(length=0, labelrotation=0)
    ranked = sorted(set(won), key=lambda name: (-won.count(name), name))
    for name in ranked:
        look = page.looks.at(name)
        plate.key(page.name(name), color=look.colour, marker=look.marker, linestyle="none")
    plate.finding = f"{page.spoken(ranked[0])} has the least regret in {won.count(ranked[0])} of {len(won)} settings"
    how = f". A number: least regret over that of the {sweep.TRIVIAL['regret']}."
    plate.setting = page.setting(rows, how, ("horizon", "dimension"))
    return plate


def tuning(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Regret against the regularisation for every value of the parameter, and where it is smallest; raises NotRun.

    The second panel has the best regularisation beside that of other variants of the learner (dashed).
    """
    parameter = entry.parameter or "horizon"
    found = sweep.fitted(runs, claims, entry.experiment, parameter, ("optimum",))[:1]
    if not found:
        raise NotRun(f"no claim on the best regularisation in {entry.experiment}")
    best, claim = found[0], found[0].claim
    column, rows = VALUE_COLUMN[parameter], sweep.rows_of(runs, entry.experiment)
    rows = rows.loc[(rows["learner"] == claim.learner) & (rows["checkpoint"] == rows["horizon"])]
    tried = rows.loc[rows["variant"].str.startswith(claim.variant.rstrip("*"))]
    values = sorted(set(tried[column]))
    each_panel = -(-len(values) // -(-len(values) // MOST))
    plate = page.plate(-(-len(values) // each_panel) + 1, height=2.1)
    *panels, last = plate.panels
    for panel in panels:
        style.log_axis(panel.axis, "x")
        panel.axis.set(yscale="log", xlabel=r"regularisation $\lambda$", ylabel=style.RESPONSES["regret"])
    for number, value in enumerate(values):
        group = tried.loc[tried[column] == value]
        name = f"${style.symbol_of(parameter)} =$ {style.count(value)}"
        panels[number // each_panel].curve(name, sweep.means_by(group, "regularisation"), style.stepped(number))
    for panel in panels:
        style.readable_log(panel.axis)
    sweep.value_axis(last.axis, parameter, best.cells.values)
    style.log_axis(last.axis, "y")
    apart = replace(page.looks.of(claim.learner, "corrected"), dash="none")
    drawn, label = best.curve._replace(values=best.cells.values), f"best $\\lambda$: {best.exponent}".rstrip(": ")
    last.curve("least regret", drawn, apart, "best regularisation", band=False, legend=label)
    for number, name in enumerate(sorted(set(rows["variant"]) - set(tried["variant"]))):
        used = rows.loc[rows["variant"] == name].groupby(column)["regularisation"].mean()
        label, dash = f"$\\lambda$, {page.name(f'.{name}')}", (style.DASHED, ":")[number % 2]
        what = "regularisation used"
        last.line(f"lambda of {name}", used.index, used, what, key=label, linewidth=1.0, linestyle=dash)
    if best.used.sum() > 1:
        sweep.draw_law(last, best, best.cells.values, sweep.BELOW)
    last.axis.set(xlabel=style.axis_label(parameter, "regret"), ylabel=r"regularisation $\lambda$")
    style.readable_log(last.axis)
    plate.finding = sweep.verdict_sentence(found)
    plate.setting = page.setting(tried, ", 95 % intervals; hollow: at the edge of what was tried.", (parameter,))
    return plate


def privacy_cost(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """The cost of privacy on each data set: every learner's response beside the trivial point; raises NotRun.

    A colour and marker a privacy budget; learners without privacy are grey.
    """
    response, rows = claims.response, sweep.rows_of(runs, entry.experiment)
    streams = sorted(set(rows["stream"]))
    called = {(each.learner, each.variant): replace(each, window=None).name(page) for each in sweep.series_of(rows)}
    names = list(dict.fromkeys(called.values()))
    budgets = sorted(float(value) for value in set(rows["epsilon"]) if np.isfinite(value))
    looks = [style.stepped(number) for number in range(len(budgets))]
    keys = zip(rows["learner"], rows["variant"], strict=True)
    rows = rows.assign(name=[called[key] for key in keys], epsilon=rows["epsilon"].astype(float))
    plate = page.plate(len(streams), height=0.75 + 0.17 * len(names), wide=True)
    shares: list[tuple[float, str]] = []
    for index, (panel, stream) in enumerate(zip(plate.panels, streams, strict=True)):
        own = rows.loc[rows["stream"] == stream]
        own = own.assign(share=own["regret"] / float(own["trivial_regret"].mean()))
        shown: Style = {"x": "share", "y": "name", "order": names, "errorbar": _ends, "ax": panel.axis}
        shown |= {"linestyle": "none", "legend": False, "err_kws": {"linewidth": 0.8}, "markeredgewidth": 0.7}
        private, free = own.loc[np.isfinite(own["epsilon"])], own.loc[np.isinf(own["epsilon"])]
        if len(private):
            hues = {"palette": [look.colour for look in looks], "markers": [look.marker for look in looks]}
            dodge = 0.4 if len(budgets) > 1 else False
            seaborn.pointplot(private, hue="epsilon", hue_order=budgets, dodge=dodge, markersize=3.4, **hues, **shown)
        if len(free):
            seaborn.pointplot(free, color=style.GUIDE, markers="|", markersize=6, **shown)
        for (name, budget), cell in own.groupby(["name", "epsilon"], sort=True):
            mean, (low, high) = float(cell["share"].mean()), _ends(cell["share"])
            panel.keep(str(name), [f"eps = {budget:g}"], [mean], [low], [high], "share of trivial")
            if budget in budgets[-1:]:
                shares.append((mean, str(name)))
        panel.axis.axvline(1.0, linestyle=":", color=style.INK, linewidth=0.8)
        panel.axis.set_yticks(range(len(names)), [] if index % plate.across else names)
        label = "excess / trivial excess" if response == "excess" else "regret / constant point's"
        panel.axis.set(ylim=(len(names) - 0.5, -0.5), xlabel=label, ylabel="")
        panel.axis.grid(visible=True, axis="y")
        if len(streams) > 1:
            panel.axis.set_title(page.name(f"stream:{stream}"))
    for budget, look in zip(budgets, looks, strict=True):
        plate.key(f"$\\varepsilon =$ {style.count(budget)}", color=look.colour, marker=look.marker, linestyle="none")
    plate.key("not private", color=style.GUIDE, marker="|", linestyle="none", markersize=6)
    plate.key(sweep.TRIVIAL[response], color=style.INK, linestyle=":", linewidth=0.8)
    if shares:
        least, name = min(shares, key=lambda pair: pair[0])
        what = "trivial excess risk" if response == "excess" else "regret of the constant point"
        budget = style.count(budgets[-1])
        plate.finding = f"At $\\varepsilon =$ {budget} the best is {name}: {style.rounded(least)} of the {what}"
    plate.setting = page.setting(rows, ", bars 95 %.", ("epsilon",))
    return plate


def _ends(sample: pd.Series) -> tuple[float, float]:
    """Ends of the 95 % interval of a mean over runs, as seaborn requests them."""
    found = mean_interval(np.asarray(sample, dtype=float))
    return found.low, found.high


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
    rows = sweep.rows_of(runs, entry.experiment)
    if "regret_last" not in rows or not {FORGETS, EXPIRES, NEITHER} <= set(rows["learner"]):
        raise NotRun(f"{entry.experiment} does not follow a stream in the order of time")
    rows = rows.loc[rows["horizon"] == rows["horizon"].max()]
    budgets = sorted({float(each) for each in rows["epsilon"] if np.isfinite(each)}, reverse=True)
    lines: Lines = {budget: style.stepped(number) for number, budget in enumerate(budgets)} | {np.inf: FREE}
    plate = page.plate(4, 2, height=1.95)
    forgets, final = rows.loc[rows["learner"] == FORGETS], rows.loc[rows["checkpoint"] == rows["horizon"]]
    largest = final.loc[(final["learner"] == FORGETS) & (final["epsilon"] == budgets[0])]
    longest = int(forgets["window"].max())
    shorter = largest.loc[largest["window"] < largest["window"].max()]
    length = int(shorter.groupby("window")["regret"].mean().idxmin())
    for panel, window in zip(plate.panels, (longest, length), strict=False):
        _over_time(panel, rows, lines, window)
        often = f"every {style.count(length)} rounds" if panel.number > 1 else "never restarted"
        panel.axis.set_title(f"{page.name(FORGETS)}: {often}")
    plate.same_heights(plate.panels[:2])
    plate.finding = _against_memory(plate.panels[2], final.loc[final["learner"] == FORGETS], lines)
    _against_window(plate.panels[3], final, lines)
    for budget, look in lines.items():
        label = f"$\\varepsilon =$ {style.count(budget)}" if np.isfinite(budget) else "not private"
        plate.key(label, color=look.colour, marker=look.marker, linestyle=look.dash)
    plate.setting = page.setting(rows, ", bands and bars 95 %.", ("window", "epsilon"))
    return plate


def _over_time(panel: Panel, rows: pd.DataFrame, lines: Lines, window: int) -> None:
    """Loss a round in each step between horizons, of the learner that forgets after a window."""
    step = int(np.median(np.diff(sorted(set(rows["checkpoint"])))))
    own = rows.loc[rows["checkpoint"] % step == 0]
    best = own.loc[own["learner"] == NEITHER].groupby("checkpoint")[["regret_last", "regret_pieces"]].mean()
    follows = np.diff(best["regret_last"] - best["regret_pieces"], prepend=0.0) / step
    label = f"best point of each {style.count(step)} rounds"
    panel.line("best point of each piece", best.index / 1000, follows, "mean", key=label, linestyle=":")
    forgets = own.loc[(own["learner"] == FORGETS) & (own["window"] == window)]
    for budget, look in lines.items():
        table = sweep.by_run(forgets.loc[forgets["epsilon"] == budget], "checkpoint", "regret_last")
        drawn = sweep.means_of(table.columns / 1000, np.diff(table.to_numpy(dtype=float), axis=1, prepend=0.0) / step)
        panel.curve(f"eps = {budget:g}", drawn, replace(look, size=2.2), "loss a round", legend="")
    panel.axis.axhline(0.0, color=style.GUIDE, linewidth=0.7)
    panel.axis.set(xlabel="rounds so far, thousands", ylabel="loss a round above the best")


def _against_memory(panel: Panel, final: pd.DataFrame, lines: Lines) -> str:
    """Final regret against the block length; says at which budgets forgetting helps."""
    axis, horizon, longest = panel.axis, int(final["horizon"].max()), int(final["window"].max())
    axis.set_yscale("symlog", linthresh=1e-3)
    best: dict[str, float] = {}
    for budget, look in lines.items():
        table = sweep.by_run(final.loc[final["epsilon"] == budget], "window")
        drawn = sweep.means_of(table.columns, table.to_numpy(dtype=float) / horizon)
        panel.curve(f"eps = {budget:g}", drawn, look, "regret a round", band=False, legend="")
        word = f"$\\varepsilon =$ {style.count(budget)}" if np.isfinite(budget) else "no noise"
        best[word] = drawn.values[int(np.argmin(drawn.means))]
    trivial = float(final["trivial_regret"].mean()) / horizon
    axis.axhline(0.0, color=style.GUIDE, linewidth=0.7)
    axis.axhline(trivial, color=style.INK, linestyle=":", linewidth=0.8)
    small: Style = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom", "fontsize": style.SMALL}
    for level, text in ((trivial, "constant point"), (0.0, "best fixed point")):
        axis.annotate(text, (0.98, level), **small)
    axis.set(xlabel="rounds after which the learner forgets", ylabel="regret a round at the end")
    axis.set_title("does forgetting help?")
    _lengths(axis, final["window"])
    never = [word for word, window in best.items() if window == longest]
    helped = [f"{word} (every {style.count(window)})" for word, window in best.items() if window < longest]
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
            noisy, free = (sweep.by_run(own.loc[own["epsilon"] == each], "window") for each in (budget, np.inf))
            added = (noisy - free)[noisy.columns]
            hollow = np.full(len(added.columns), forgets)
            drawn = sweep.means_of(added.columns, added.to_numpy(dtype=float) / horizon, hollow)
            shown = replace(look, dash=style.DASHED) if forgets else look
            panel.curve(name, drawn, shown, f"added by privacy, {words}", band=False, legend="")
            if not forgets and len(drawn.values) > 1:
                law = np.sqrt(np.log2(drawn.values) + 1) * mean_root(drawn.values)
                dotted: Style = {"color": look.colour, "linestyle": ":", "linewidth": 1.1}
                scaled = law * (drawn.means[0] / law[0])
                panel.line(name, drawn.values, scaled, "size of the tree's noise, scaled", **dotted)
    plate = panel.plate
    plate.key("privacy expires", color=style.INK, marker="o", linestyle="-")
    plate.key("the learner forgets", color=style.INK, marker="o", linestyle=style.DASHED, markerfacecolor="white")
    plate.key("size of the tree's noise", color=style.INK, linestyle=":")
    axis.set(xlabel="rounds after which it expires, or is forgotten", ylabel="what privacy adds, a round")
    axis.set_title("does privacy that expires cost less?")
    _lengths(axis, final.loc[final["learner"] == EXPIRES, "window"])


def _lengths(axis: Axes, windows: pd.Series) -> None:
    """Powers of two, the longest of which never ends."""
    ticks = sorted(set(windows.astype(float)))
    style.log_axis(axis, "x", ticks, base=2)
    axis.set_xticks(ticks, [*map(style.count, ticks[:-1]), "never"])

"""Learners compared on one axis: who wins where, what privacy costs, what it adds, and the best regularisation."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import seaborn
from matplotlib.colors import ListedColormap

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.fitted import Fitted, fitted, verdict_sentence
from dpregret.paper_figs.figures.layout import MOST, Page, Plate
from dpregret.paper_figs.figures.markers import MARKERS, Look
from dpregret.paper_figs.figures.series import (
    cell_means,
    interval_of,
    means_of,
    number_of,
    rows_of,
    series_of,
)
from dpregret.paper_figs.figures.style import DASHED, GUIDE, PALETTE, shaded
from dpregret.paper_figs.figures.sweep import TRIVIAL, value_axis
from dpregret.paper_figs.figures.symbols import (
    AXES,
    RESPONSES,
    axis_label,
    count,
    power_of_two,
    rate_math,
    rounded,
    run_count,
    setting,
)
from dpregret.paper_figs.judge.cells import NotRun
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN

STEPS: Final = ("blue", "vermilion", "green", "purple", "orange", "sky")
"""Colours of values of a parameter, which are no algorithms: their markers are open."""


def stepped(number: int) -> Look:
    """The look of the n-th value of a parameter."""
    return Look(PALETTE[STEPS[number % len(STEPS)]], MARKERS[number % len(MARKERS)])


def winners(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Which private learner has the smallest mean regret, on a map of T and d, one panel a stream; raises NotRun.

    A cell names its winner by colour and marker and shows its regret as a share of the trivial regret: 1.00 means that
    no private learner does better than a fixed expert.
    """
    rows = rows_of(runs, entry.experiment)
    rows = rows.loc[np.isfinite(rows["epsilon"])].assign(name=lambda frame: frame["learner"] + "." + frame["variant"])
    if rows.empty:
        raise NotRun(f"no private learner in {entry.experiment}")
    streams = sorted(set(rows["stream"]))
    sizes, horizons = sorted(set(rows["dimension"])), sorted(set(rows["horizon"]))
    plate = page.plate(len(streams), height=2.3)
    won: list[str] = []
    for index, stream in enumerate(streams):
        axis = plate.axes[index]
        means = rows.loc[rows["stream"] == stream].groupby(["dimension", "horizon", "name"])[
            ["regret", "trivial_regret"]
        ].mean()  # fmt: skip
        cells = means.loc[means.groupby(level=[0, 1])["regret"].idxmin()].reset_index("name")
        cells = cells.assign(share=cells["regret"] / means["trivial_regret"].groupby(level=[0, 1]).mean())
        names = sorted(set(cells["name"]))
        grid = {name: cells[name].unstack().reindex(index=sizes[::-1], columns=horizons) for name in ("name", "share")}
        seaborn.heatmap(
            grid["name"].map(names.index, na_action="ignore").astype(float), ax=axis, cbar=False,
            annot=grid["share"].map(lambda part: f"{part:.2f}" if part >= 0.005 else "< .01"), fmt="", vmin=-0.5,
            vmax=len(names) - 0.5, cmap=ListedColormap([shaded(page.looks.at(name).colour, 0.55) for name in names]),
            linewidths=0.6, linecolor="white",
            annot_kws={"fontsize": style.SMALL, "color": style.INK, "va": "top"},
            xticklabels=[power_of_two(each) for each in horizons],
            yticklabels=[power_of_two(each) for each in sizes[::-1]],
        )  # fmt: skip
        for (size, horizon), cell in cells.iterrows():
            look, winner = page.looks.at(cell["name"]), str(cell["name"])
            axis.plot([horizons.index(horizon) + 0.5], [sizes[::-1].index(size) + 0.3], color=look.colour,
                      marker=look.marker, markersize=3.0)  # fmt: skip
            won.append(winner)
            told = [f"T = {horizon}, d = {size}"]
            plate.keep(index, page.name(winner), told, [cell["share"]], what="share of the trivial")
        axis.set(xlabel=AXES["horizon"], ylabel=AXES["experts"])
        axis.tick_params(length=0, labelrotation=0)
    for winner in sorted(set(won), key=lambda name: (-won.count(name), name)):
        look = page.looks.at(winner)
        plate.key(page.name(winner), color=look.colour, marker=look.marker, linestyle="none")
    best = max(sorted(set(won)), key=won.count)
    plate.finding = f"{page.spoken(best)} has the least regret in {won.count(best)} of {len(won)} settings"
    plate.setting = (f"{run_count(rows)}. A number: least regret over that of the {TRIVIAL['regret']}. "
                     f"{setting(rows, page.names, ('horizon', 'dimension'))}")  # fmt: skip
    return plate


def _slope(plate: Plate, place: int, each: Fitted) -> None:
    """The predicted law as a slope above the fitted cells."""
    used, means = each.cells.used, each.cells.responses.mean(axis=0)
    if used.sum() < 2 or not (means[used] > 0).all():
        return
    law = each.law[used]
    guide = np.exp(law - law.mean() + np.log(means[used]).mean()) * 2.2
    text = f"$\\propto {rate_math(each.rate)}$"
    plate.line(place, "predicted law", each.cells.values[used], guide, what=f"law {each.rate}, scaled", colour=GUIDE,
               text=text)  # fmt: skip


def tuning(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Regret against the regularisation for every value of the parameter, and where it is smallest; raises NotRun.

    The second panel has the best regularisation beside that of other variants of the learner (dashed).
    """
    parameter = entry.parameter or "horizon"
    found = fitted(runs, claims, entry.experiment, parameter, ("optimum",))
    if not found:
        raise NotRun(f"no claim on the best regularisation in {entry.experiment}")
    claim, cells = found[0].claim, found[0].cells
    column, rows = VALUE_COLUMN[parameter], rows_of(runs, entry.experiment)
    rows = rows.loc[(rows["learner"] == claim.learner) & (rows["checkpoint"] == rows["horizon"])]
    tried = rows.loc[rows["variant"].str.startswith(claim.variant.rstrip("*"))]
    symbol = axis_label(parameter, "regret").split("$")[1]
    kinds = list(tried.groupby(column, sort=True))
    each_panel = -(-len(kinds) // -(-len(kinds) // MOST))
    chunks = [kinds[start : start + each_panel] for start in range(0, len(kinds), each_panel)]
    plate = page.plate(len(chunks) + 1, height=2.1)
    for index, chunk in enumerate(chunks):
        axis = plate.axes[index]
        style.log_axis(axis, "x")
        axis.set_yscale("log")
        axis.set_xlabel(r"regularisation $\lambda$")
        axis.set_ylabel(RESPONSES["regret"])
        for number, (value, group) in enumerate(chunk):
            drawn = cell_means([(number_of(each), cell["regret"].to_numpy(dtype=float))
                                for each, cell in group.groupby("regularisation", sort=True)])  # fmt: skip
            name = f"${symbol} =$ {count(number_of(value))}"
            plate.curve(index, name, drawn.values, drawn.means, stepped(number + each_panel * index), drawn.reach)
        style.readable_log(axis)
    last = len(chunks)
    axis = plate.axes[last]
    value_axis(axis, parameter, cells.values)
    style.log_axis(axis, "y")
    means, reach = means_of(cells.responses)
    look = page.looks.of(claim.learner, "corrected")
    plate.curve(last, "least regret", cells.values, means, look, reach, hollow=~cells.used, band=False, joined=False,
                what="best regularisation", legend=f"best $\\lambda$: {found[0].exponent}".rstrip(": "))  # fmt: skip
    for number, name in enumerate(each for each in sorted(set(rows["variant"])) if each not in set(tried["variant"])):
        used = rows.loc[rows["variant"] == name].groupby(column)["regularisation"].mean()
        words = page.name(f".{name}")
        plate.line(last, f"lambda of {name}", used.index, used, what="regularisation used", width=1.0,
                   dash=(DASHED, ":")[number % 2], legend=f"$\\lambda$, {words}")  # fmt: skip
    _slope(plate, last, found[0])
    axis.set_xlabel(axis_label(parameter, "regret"))
    axis.set_ylabel(r"regularisation $\lambda$")
    style.readable_log(axis)
    plate.finding = verdict_sentence(found[:1])
    plate.setting = (f"{run_count(tried)}, 95 % intervals; hollow: at the edge of what was tried. "
                     f"{setting(tried, page.names, (parameter,))}")  # fmt: skip
    return plate


def privacy_cost(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """The cost of privacy on each data set: every learner's response beside the trivial point; raises NotRun.

    A colour and marker a privacy budget; learners without privacy are grey.
    """
    response = claims.response
    rows = rows_of(runs, entry.experiment)
    streams = sorted(set(rows["stream"]))
    names = [each.name(page) for each in series_of(rows, entry.experiment)]
    names = list(dict.fromkeys(name.partition(", $W")[0] for name in names))
    budgets = sorted(float(value) for value in set(rows["epsilon"]) if np.isfinite(value))
    rows = rows.assign(name=_names(page, rows, entry.experiment), epsilon=rows["epsilon"].astype(float))
    plate = page.plate(len(streams), height=0.75 + 0.17 * len(names), wide=True)
    least: tuple[float, str, float] | None = None
    looks = {budget: stepped(number) for number, budget in enumerate(budgets)}
    for index, stream in enumerate(streams):
        axis, own = plate.axes[index], rows.loc[rows["stream"] == stream]
        own = own.assign(share=own["regret"] / float(own["trivial_regret"].mean()))
        shown: dict[str, Any] = {
            "x": "share", "y": "name", "order": names, "errorbar": interval_of, "linestyle": "none", "ax": axis,
            "legend": False, "markersize": 3.4, "err_kws": {"linewidth": 0.8}, "markeredgewidth": 0.7,
        }  # fmt: skip
        private, free = own.loc[np.isfinite(own["epsilon"])], own.loc[np.isinf(own["epsilon"])]
        if len(private):
            seaborn.pointplot(private, hue="epsilon", hue_order=budgets, dodge=0.4 if len(budgets) > 1 else False,
                              palette=[look.colour for look in looks.values()],
                              markers=[look.marker for look in looks.values()], **shown)  # fmt: skip
        if len(free):
            seaborn.pointplot(free, color=GUIDE, markers="|", **{**shown, "markersize": 6})
        for (name, budget), cell in own.groupby(["name", "epsilon"], sort=True):
            mean, (low, high) = float(cell["share"].mean()), interval_of(cell["share"])
            plate.keep(index, str(name), [f"eps = {budget:g}"], [mean], [low], [high], "share of trivial")
            if budgets and budget == budgets[-1] and (least is None or mean < least[0]):
                least = (mean, str(name), number_of(budget))
        axis.axvline(1.0, linestyle=":", color=style.INK, linewidth=0.8)
        axis.set_yticks(range(len(names)), names if index % (len(plate.axes) // plate.down) == 0 else [])
        axis.set(ylim=(len(names) - 0.5, -0.5), xlabel=_share(response), ylabel="")
        axis.grid(visible=True, axis="y")
        if len(streams) > 1:
            axis.set_title(page.name(f"stream:{stream}"))
    for number, budget in enumerate(budgets):
        look = stepped(number)
        plate.key(f"$\\varepsilon =$ {count(budget)}", color=look.colour, marker=look.marker, linestyle="none")
    plate.key("not private", color=GUIDE, marker="|", linestyle="none", markersize=6)
    plate.key(TRIVIAL[response], color=style.INK, linestyle=":", linewidth=0.8)
    if least is not None:
        what = "trivial excess risk" if response == "excess" else "regret of the constant point"
        share_of = f"{rounded(least[0])} of the {what}"
        plate.finding = f"At $\\varepsilon =$ {count(least[2])} the best is {least[1]}: {share_of}"
    plate.setting = f"{run_count(rows)}, bars 95 %. {setting(rows, page.names, ('epsilon',))}"
    return plate


def _names(page: Page, rows: pd.DataFrame, experiment: str) -> pd.Series:
    """The name of the learner of each row, without its window."""
    found = {(each.learner, each.variant): each.name(page).partition(", $W")[0] for each in series_of(rows, experiment)}
    return pd.Series([found[key] for key in zip(rows["learner"], rows["variant"], strict=True)], index=rows.index)


def _share(response: str) -> str:
    return "excess / trivial excess" if response == "excess" else "regret / constant point's"

"""Learners compared on one axis: who wins where, what privacy costs, what it adds, and the best regularisation."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.fitted import Fitted, fitted, verdict_sentence
from dpregret.paper_figs.figures.layout import MOST, Page, Plate
from dpregret.paper_figs.figures.markers import MARKERS, Look
from dpregret.paper_figs.figures.series import cell_means, learners_of, means_of, number_of, rows_of, series_of
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
    share,
)
from dpregret.paper_figs.judge.cells import NotRun
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry
from dpregret.paper_figs.judge.labels import VALUE_COLUMN

STEPS = ("blue", "vermilion", "green", "purple", "orange", "sky")
"""Colours of values of a parameter, which are no algorithms: their markers are open."""


def stepped(number: int) -> Look:
    """The look of the n-th value of a parameter."""
    return Look(PALETTE[STEPS[number % len(STEPS)]], MARKERS[number % len(MARKERS)])


def winners(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Which private learner has the smallest mean regret, on a map of T and d, one panel a stream; raises NotRun.

    A cell names its winner by colour and marker and tells its regret as a share of the trivial regret: 1.00 means that
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
        means = rows.loc[rows["stream"] == stream].groupby(["horizon", "dimension", "name"])[
            ["regret", "trivial_regret"]
        ].mean()  # fmt: skip
        for (horizon, size), cell in means.groupby(level=["horizon", "dimension"]):
            winner = str(cell["regret"].idxmin()[2])
            part = float(cell["regret"].min() / cell["trivial_regret"].mean())
            won.append(winner)
            across, up = horizons.index(horizon), sizes.index(size)
            look = page.looks.at(winner)
            axis.fill_between([across - 0.47, across + 0.47], up - 0.47, up + 0.47, linewidth=0,
                              color=shaded(look.colour, 0.55))  # fmt: skip
            axis.plot([across - 0.3], [up + 0.28], color=look.colour, marker=look.marker, markersize=3.0)
            axis.text(
                across,
                up - 0.1,
                f"{part:.2f}" if part >= 0.005 else "< .01",
                ha="center",
                va="center",
                fontsize=style.SMALL,
            )
            plate.keep(index, page.name(winner), [f"T = {horizon}, d = {size}"], [part], what="share of the trivial")
        axis.set_xticks(range(len(horizons)), [power_of_two(each) for each in horizons])
        axis.set_yticks(range(len(sizes)), [power_of_two(each) for each in sizes])
        axis.set_xlabel(AXES["horizon"])
        axis.set_ylabel(AXES["experts"])
        axis.grid(visible=False)
    for winner in sorted(set(won), key=lambda name: (-won.count(name), name)):
        look = page.looks.at(winner)
        plate.key(page.name(winner), color=look.colour, marker=look.marker, linestyle="none")
    best = max(sorted(set(won)), key=won.count)
    plate.finding = f"{page.said(best)} has the least regret in {won.count(best)} of {len(won)} settings"
    plate.setting = (f"{run_count(rows)}. A number: least regret over that of the {TRIVIAL['regret']}. "
                     f"{setting(rows, page.names, ('horizon', 'dimension'))}")  # fmt: skip
    return plate


def overhead(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """What privacy adds to the regret of the same learner without noise, run by run, a panel a learner; raises NotRun.

    A curve a privacy budget; against eps there is one.
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
    plate = page.plate(len(learners), 3 if len(learners) != 4 else 2, height=1.9)
    found = fitted(page, runs, claims, entry.experiment, parameter, ("overhead",))
    told: list[Fitted] = []
    for index, ((learner, variant), own) in enumerate(learners):
        axis = plate.axes[index]
        value_axis(axis, parameter, pairs[column].to_numpy(dtype=float))
        axis.set_yscale("log")
        budgets = [None] if parameter == "epsilon" else sorted(set(own["epsilon"]))
        for number, budget in enumerate(budgets):
            part = own if budget is None else own.loc[own["epsilon"] == budget]
            drawn = cell_means([(number_of(value), cell["overhead"].to_numpy(float))
                                for value, cell in part.groupby(column, sort=True)])  # fmt: skip
            look = page.looks.of(str(learner), str(variant)) if budget is None else stepped(number)
            label = "" if budget is None else f"$\\varepsilon =$ {count(budget)}"
            plate.curve(index, label or page.name(f"{learner}.{variant}"), drawn.values, drawn.means, look, drawn.reach,
                        band=False, what="added by privacy", legend=label)  # fmt: skip
        mine = [each for each in found if (each.claim.learner, each.claim.variant) == (learner, variant)]
        for each in mine[:1]:
            told.append(each)
            _slope(plate, index, each)
            plate.text(index, (float(each.cells.values[-1]), float(each.cells.responses.mean(axis=0)[-1])),
                       f"fit {each.exponent}" if each.exponent else "", "right", "top")  # fmt: skip
        axis.set_xlabel(axis_label(parameter, "regret"))
        axis.set_ylabel(RESPONSES["overhead"])
        axis.set_title(page.name(f"{learner}.{variant}"), fontsize=style.SMALL)
        style.readable_log(axis)
    shares = pairs.groupby(["learner", "variant", column, "epsilon"])[["overhead", "free"]].mean()
    most = (shares["overhead"] / shares["free"]).replace([np.inf, -np.inf], np.nan).max()
    plate.finding = verdict_sentence(told) or (
        f"Privacy adds at most {share(float(most))} times the regret of the same learner without noise")  # fmt: skip
    plate.setting = f"{run_count(pairs)}, 95 % intervals. {setting(pairs, page.names, (parameter,))}"
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
    found = fitted(page, runs, claims, entry.experiment, parameter, ("optimum",))
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
    """What privacy costs on each data set: every learner's response beside the trivial point; raises NotRun.

    A colour and marker a privacy budget; learners without privacy are grey.
    """
    response = claims.response
    rows = rows_of(runs, entry.experiment)
    streams = sorted(set(rows["stream"]))
    names = [each.name(page) for each in series_of(rows, entry.experiment)]
    names = list(dict.fromkeys(name.partition(", $W")[0] for name in names))
    budgets = sorted(float(value) for value in set(rows["epsilon"]) if np.isfinite(value))
    tall = 0.75 + 0.17 * len(names)
    plate = page.plate(len(streams), height=tall, wide=True)
    least: tuple[float, str, float] | None = None
    for index, stream in enumerate(streams):
        axis, own = plate.axes[index], rows.loc[rows["stream"] == stream]
        trivial = float(own["trivial_regret"].mean())
        for series, group in learners_of(own, entry.experiment):
            name = series.name(page).partition(", $W")[0]
            for epsilon, cell in group.groupby("epsilon", sort=True):
                budget = number_of(epsilon)
                means, reach = means_of(cell["regret"].to_numpy(dtype=float)[:, None] / trivial)
                free = not np.isfinite(budget)
                look = Look(GUIDE, "|") if free else stepped(budgets.index(budget))
                up = names.index(name) + (0.0 if free else 0.5 * ((budgets.index(budget) + 0.5) / len(budgets) - 0.5))
                axis.errorbar(means, [up], xerr=reach, fmt=look.marker, color=look.colour, linewidth=0.8,
                              markersize=6 if free else 3.4)  # fmt: skip
                plate.keep(index, name, [f"eps = {budget:g}"], means, means - reach, means + reach, "share of trivial")
                if budgets and budget == budgets[-1] and (least is None or means[0] < least[0]):
                    least = (float(means[0]), name, budget)
        axis.axvline(1.0, linestyle=":", color=style.INK, linewidth=0.8)
        axis.set_yticks(range(len(names)), names if index % (len(plate.axes) // plate.down) == 0 else [])
        axis.set(ylim=(len(names) - 0.5, -0.5), xlabel=_share(response))
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


def _share(response: str) -> str:
    return "excess / trivial excess" if response == "excess" else "regret / constant point's"

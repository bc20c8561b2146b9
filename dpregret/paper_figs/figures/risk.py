"""Figures of private empirical risk minimisation: collapse, Gaussian width, cost of an iteration."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.compare import stepped
from dpregret.paper_figs.figures.fitted import fitted, verdict_sentence
from dpregret.paper_figs.figures.layout import Page, Plate
from dpregret.paper_figs.figures.markers import MARKERS, Look
from dpregret.paper_figs.figures.series import cell_means, learners_of, number_of, rows_of
from dpregret.paper_figs.figures.symbols import AXES, RESPONSES, count, rate_math, run_count, setting, share
from dpregret.paper_figs.judge.cells import NotRun
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry

POINT: Final = ["learner", "variant", "set", "dimension", "horizon", "epsilon"]
"""Columns that tell the points of a scatter figure from each other."""


def collapse(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Excess over trivial excess against K mu_G / (2 sqrt p): all dimensions and sizes on one curve; raises NotRun.

    K is the column `active`, mu_G the Gaussian DP parameter. One panel a private learner.
    """
    rows = rows_of(runs, entry.experiment)
    if "active" not in rows.columns:
        raise NotRun(f"{entry.experiment} varies no number of active records")
    rows = rows.loc[rows["active"].notna() & rows["mu_gdp"].notna() & np.isfinite(rows["epsilon"])]
    rows = rows.assign(strength=rows["active"] * rows["mu_gdp"] / (2 * np.sqrt(rows["dimension"])))
    rows = rows.assign(share=rows["regret"] / rows["trivial_regret"])
    learners = list(learners_of(rows, entry.experiment))
    plate = page.plate(len(learners), height=2.1)
    for index, (series, own) in enumerate(learners):
        axis = plate.axes[index]
        style.log_axis(axis, "x")
        style.log_axis(axis, "y")
        for number, ((dimension, samples), group) in enumerate(own.groupby(["dimension", "horizon"], sort=True)):
            drawn = cell_means([(number_of(value), cell["share"].to_numpy(dtype=float))
                                for value, cell in group.groupby("strength", sort=True)])  # fmt: skip
            name = f"$p =$ {count(number_of(dimension))}, $n =$ {count(number_of(samples))}"
            plate.curve(index, name, drawn.values, drawn.means, stepped(number), drawn.reach, band=False, joined=False)
        axis.axhline(1.0, linestyle=":", color=style.INK, linewidth=0.8)
        axis.set_xlabel(r"$K \mu_{\mathrm{GDP}} \,/\, (2\sqrt{p})$")
        axis.set_ylabel("excess / trivial excess")
        axis.set_title(series.name(page))
        style.readable_log(axis, "x")
        style.readable_log(axis)
    apart = _apart(rows)
    if apart > 1:
        ratio = r"$K \mu_{\mathrm{GDP}} / (2\sqrt{p})$"
        plate.finding = f"At equal {ratio} mean excess of all sizes differs at most {apart:.2f} times"
    plate.setting = (f"{run_count(rows)}, bars 95 %. $K$: active records; dotted: the trivial point. "
                     f"{setting(rows, page.names, ('dimension', 'horizon', 'epsilon'))}")  # fmt: skip
    return plate


def _apart(rows: pd.DataFrame) -> float:
    """Largest quotient of mean shares of different sizes at the same strength; zero where no two sizes share one."""
    strengths = rows["strength"].map(lambda value: f"{value:.3g}")
    keys = [rows["learner"], rows["variant"], strengths, rows["dimension"], rows["horizon"]]
    means = rows["share"].groupby(keys).mean().groupby(level=[0, 1, 2])
    quotients = (means.max() / means.min()).loc[means.size() > 1]
    return float(quotients.max()) if len(quotients) else 0.0


def width(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Excess risk against the Gaussian width of the set; a colour a learner, a marker a set; raises NotRun.

    Horizontal bars are two standard errors of the width, vertical ones 95 % intervals; dashed: the predicted law.
    """
    rows = rows_of(runs, entry.experiment)
    if "width" not in rows.columns or rows["width"].isna().all():
        raise NotRun(f"{entry.experiment} tells no width")
    rows = rows.loc[rows["width"].notna() & np.isfinite(rows["epsilon"])]
    learners = list(learners_of(rows, entry.experiment))
    shapes = sorted(set(rows["set"]))
    plate = page.plate(1, height=2.4)
    axis = plate.axes[0]
    style.log_axis(axis, "x")
    style.log_axis(axis, "y")
    logs: list[float] = []
    found = fitted(page, runs, claims, entry.experiment, "width", ("excess",))
    for series, own in learners:
        colour = series.look(page).colour
        for shape, part in own.groupby("set", sort=True):
            look = Look(colour, MARKERS[shapes.index(str(shape)) % len(MARKERS)])
            groups = [group for _, group in part.groupby(POINT, sort=True)]
            drawn = cell_means([(float(group["width"].mean()), group["regret"].to_numpy()) for group in groups])
            plate.curve(0, f"{series.name(page)}, {page.name(f'set:{shape}')}", drawn.values, drawn.means, look,
                        drawn.reach, band=False, joined=False, legend="")  # fmt: skip
            if "width_error" in part.columns:
                errors = np.array([float(group["width_error"].mean()) for group in groups])
                axis.hlines(drawn.means, drawn.values - 2 * errors, drawn.values + 2 * errors, color=colour,
                            linewidth=0.7)  # fmt: skip
            logs += [float(value) for value in np.log(drawn.means / drawn.values)[drawn.means > 0]]
        plate.key(series.name(page), color=colour, linewidth=3)
    for mark, shape in zip(MARKERS, shapes, strict=False):
        plate.key(page.name(f"set:{shape}"), linestyle="none", marker=mark, color=style.GUIDE)
    if logs:
        ends = np.array([rows["width"].min(), rows["width"].max()])
        laws = {rate_math(each.rate): each.rate.power for each in found} or {"G": 1.0}
        for text, power in laws.items():
            guide = (ends / np.exp(np.log(ends).mean())) ** power
            level = np.exp(np.mean(logs) + np.log(ends).mean())
            plate.line(0, "predicted law", ends, level * guide, what=f"law {text}, scaled", colour=style.GUIDE,
                       text=f"$\\propto {text}$")  # fmt: skip
    axis.set_xlabel(AXES["width"])
    axis.set_ylabel(RESPONSES["excess"])
    style.readable_log(axis, "x")
    style.readable_log(axis, "y")
    plate.finding = verdict_sentence(found)
    told = setting(rows, page.names, ("dimension", "set"))
    plate.setting = f"{run_count(rows)}, bars 95 %; across: two standard errors of the width. {told}"
    return plate


def iteration_cost(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """CPU time of an iteration against the number of records, one line a private learner; raises NotRun."""
    rows = rows_of(runs, entry.experiment)
    rows = rows.loc[np.isfinite(rows["epsilon"]) & (rows["iterations"] > 0)]
    if rows.empty:
        raise NotRun(f"no iterations in {entry.experiment}")
    plate = page.plate(1, height=2.2)
    axis = plate.axes[0]
    style.log_axis(axis, "x", base=2)
    spread = []
    for series, group in learners_of(rows, entry.experiment):
        cost = (1e6 * group["seconds"] / group["iterations"]).groupby(group["checkpoint"]).median()
        plate.curve(0, series.name(page), cost.index.to_numpy(dtype=float), cost.to_numpy(), series.look(page),
                    what="median microseconds per iteration and run")  # fmt: skip
        if cost.min() > 0:
            spread.append(float(cost.max() / cost.min()))
    axis.set_xlabel(AXES["samples"])
    axis.set_ylabel(r"$\mu$s per iteration and run")
    axis.set_ylim(bottom=0.0)
    grown = float(rows["checkpoint"].max() / rows["checkpoint"].min())
    if spread:
        plate.finding = (f"While $n$ grows {share(grown)} times, the time of an iteration changes at most "
                         f"{share(max(spread))} times")  # fmt: skip
    plate.setting = f"Median CPU time over runs. {setting(rows, page.names, ('horizon',))}"
    return plate

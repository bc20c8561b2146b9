"""Response against a swept parameter with fitted and predicted laws, and local slopes beside the prediction."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.fitted import Fitted, fitted, local_slopes, verdict_sentence
from dpregret.paper_figs.figures.layout import MOST, Page, Plate
from dpregret.paper_figs.figures.series import Series, means_of
from dpregret.paper_figs.figures.symbols import RESPONSES, axis_label, count, rate_math, run_count, setting
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import LENGTHS, NotRun
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry

ABOVE: Final = 2.6
"""How far above a curve its predicted law is drawn, and one law above the other: a factor."""


def exponent(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Above (or left): means, fitted powers and the predicted law; below: local slopes of response over law.

    Hollow cells are not fitted. Claims of several streams, settings or responses have panels of their own. Raises
    NotRun when no claim on the parameter has rows.
    """
    parameter = entry.parameter or "horizon"
    found = fitted(runs, claims, entry.experiment, parameter, entry.responses)
    if not found:
        raise NotRun(f"no claim on {parameter} has rows in {entry.experiment}")
    groups: dict[tuple[str, str, str], list[Fitted]] = {}
    for each in found:
        claim = each.claim
        groups.setdefault((claim.response, claim.stream, str(sorted(claim.where.items()))), []).append(each)
    parts = [own[start : start + MOST] for own in groups.values() for start in range(0, len(own), MOST)]
    across = min(3, len(parts))
    rows = -(-len(parts) // across)
    plate = page.plate(2 * across * rows, across if len(parts) > 1 else 2)
    for number, part in enumerate(parts):
        first = 2 * across * (number // across) + number % across
        _group(plate, page, part, (first, first + across), len(parts) > 1)
    for number in range(len(parts), across * rows):
        first = 2 * across * (number // across) + number % across
        for place in (first, first + across):
            plate.axes[place].set_visible(False)
    own = runs.loc[runs["experiment"] == entry.experiment]
    plate.finding = verdict_sentence(found)
    shown = setting(own, page.names, (_swept(parameter),))
    beside = "beside it" if len(parts) > 1 else "in the legend"
    plate.setting = (
        f"{run_count(own)}, 95 % intervals. Solid: fitted power, its exponent [95 %] {beside}; dashed: predicted law; "
        f"hollow: saturated or too early, not fitted. Local slope of response over law: 0 is the law. {shown}"
    )
    return plate


def _group(plate: Plate, page: Page, part: list[Fitted], places: tuple[int, int], titled: bool) -> None:
    claim, (upper, lower) = part[0].claim, places
    label = axis_label(claim.parameter, claim.response, fitted=True)
    top, bottom = plate.axes[upper], plate.axes[lower]
    for axis in (top, bottom):
        if claim.parameter in LENGTHS or claim.parameter == "dimension":
            style.log_axis(axis, "x", base=2)
        else:
            style.log_axis(axis, "x", np.round(np.concatenate([each.variable for each in part]), 3))
        axis.set_xlabel(label)
    style.log_axis(top, "y")
    top.set_ylabel(RESPONSES[claim.response])
    bottom.set_ylabel("local slope, response / law")
    if titled:
        where = [f"{_symbol(key)}{value if isinstance(value, str) else count(value)}"
                 for key, value in claim.where.items()]  # fmt: skip
        top.set_title(", ".join([page.name(f"stream:{claim.stream}"), *where]))
    bottom.axhline(0.0, color=style.GUIDE, linewidth=0.7)
    drawn: set[str] = set()
    for each in sorted(part, key=lambda each: -float(each.cells.responses.mean())):
        _one(plate, page, each, places, None if rate_math(each.rate) in drawn else ABOVE ** (1 + len(drawn)))
        drawn.add(rate_math(each.rate))
    style.readable_log(top)
    bottom.set_xlim(top.get_xlim())
    if titled:
        join = "\n" if len(part) <= MOST - 2 else " "
        plate.beside(upper, [
            (float(each.cells.responses.mean(axis=0)[each.cells.used][-1]), each.exponent.replace(" ", join, 1),
             page.looks.of(each.claim.learner, each.claim.variant).colour)
            for each in part if each.exponent
        ])  # fmt: skip
    low, high = bottom.get_ylim()
    bottom.set_ylim(min(low, -0.15), max(high, 0.15))


def _one(plate: Plate, page: Page, each: Fitted, places: tuple[int, int], above: float | None) -> None:
    claim, cells = each.claim, each.cells
    series = Series(claim.learner, claim.variant)
    look, name = series.look(page), series.name(page)
    means, reach = means_of(cells.responses)
    single = plate.title(places[0]) == ""
    legend = f"{name}: {each.exponent}" if each.exponent and single else name
    plate.curve(places[0], name, each.variable, means, look, reach, hollow=~cells.used, band=False, joined=False,
                legend=legend)  # fmt: skip
    used = cells.used & (means > 0)
    if used.sum() < 2:
        return
    axis = np.log(each.variable[used])
    slope = float(np.log(means[used]) @ fits.slope_weights(axis))
    line = np.exp(np.log(means[used]).mean() + slope * (axis - axis.mean()))
    plate.line(places[0], name, each.variable[used], line, what="fitted power", colour=look.colour, dash=look.dash,
               width=1.0)  # fmt: skip
    if above is not None:
        law = each.law[used]
        guide = np.exp(law - law.mean() + np.log(means[used]).mean()) * above
        plate.line(places[0], "predicted law", each.variable[used], guide, what=f"law {each.rate}, scaled",
                   colour=style.GUIDE, text=f"$\\propto {rate_math(each.rate)}$")  # fmt: skip
    middle, slopes = local_slopes(each)
    plate.curve(places[1], name, middle, slopes, look, what="local slope of response over law", legend="")


def _swept(parameter: str) -> str:
    return {"mu": "epsilon", "landau": "window", "items": "window", "experts": "dimension",
            "convexity": "strong_convexity", "samples": "horizon"}.get(parameter, parameter)  # fmt: skip


def _symbol(key: str) -> str:
    symbols = {"epsilon": r"$\varepsilon =$ ", "window": "$W =$ ", "dimension": "$d =$ ", "horizon": "$T =$ "}
    return symbols.get(key, f"{key} = ")

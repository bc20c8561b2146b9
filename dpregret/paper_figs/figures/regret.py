"""Regret of online learners against T: all of an experiment, and what is printed beside what is right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.fitted import AGREES, Fitted, fitted, spread, verdict_sentence
from dpregret.paper_figs.figures.layout import Page, Plate
from dpregret.paper_figs.figures.series import Curve, Series, curve, panels_of, rows_of, series_of
from dpregret.paper_figs.figures.symbols import AXES, RESPONSES, count, run_count, setting, share
from dpregret.paper_figs.judge.cells import NotRun
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry


def regret(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Mean regret against T, a pair of panels for at most six curves; raises NotRun.

    Left: a linear axis, where ln T is a straight line (dashed, fitted to the later half). Right: a logarithmic one,
    where powers are straight. Learners without privacy are grey.
    """
    rows = rows_of(runs, entry.experiment)
    series = series_of(rows, entry.experiment, skip_variants=("printed",))
    if not any(each.private for each in series):
        raise NotRun("no learner with privacy")
    streams = sorted(set(rows["stream"]))
    parts = [(stream, part) for stream in streams for part in panels_of(series)]
    plate = page.plate(2 * len(parts), 2, height=1.95)
    every = {stream: {each: curve(rows.loc[rows["stream"] == stream], each) for each in series} for stream in streams}
    found = fitted(runs, claims, entry.experiment, "horizon", ("log_slope",))
    tops = []
    for number, (stream, part) in enumerate(parts):
        curves = every[stream]
        private = [each for each in part if each.private] or part
        top = _robust_top([curves[each].means for each in private])
        for place in (2 * number, 2 * number + 1):
            _axes(plate, place, log=place % 2 == 1)
            for each in part:
                drawn = curves[each]
                plate.curve(place, each.name(page), drawn.values, drawn.means, each.look(page), drawn.reach,
                            hollow=drawn.saturated, legend=_legend(page, each, found))  # fmt: skip
        for each in part:
            _log_law(plate, 2 * number, curves[each], top)
        if len(streams) > 1:
            plate.axes[2 * number].set_title(page.name(f"stream:{stream}"))
        plate.axes[2 * number].set_ylim(0, top)
        tops.append(plate.axes[2 * number + 1].get_ylim())
    for number in range(len(parts)):
        plate.axes[2 * number + 1].set_ylim(min(low for low, _ in tops), max(high for _, high in tops))
    shown = [each for each in found if _one(each, series)]
    plate.finding = _growth(shown) or _cost(page, every[streams[0]])
    exponents = " Legend: exponent [95 %] of $dR/d\\ln T$ in $T$, 0 for $\\ln T$." if shown else ""
    plate.setting = (
        f"{run_count(rows)}, bands 95 %; dashed: $c + s\\,\\ln T$, fitted to the later half; hollow: saturated."
        f"{exponents} {setting(rows, page.names, ('horizon',))}"
    )
    return plate


def _growth(found: Sequence[Fitted]) -> str:
    """How many curves grow like ln T, where something was fitted."""
    if not found:
        return ""
    agree = [
        each for each in found if each.found.verdict in AGREES and not each.rate.power and each.rate.log_power == 1
    ]
    if len(agree) < len(found):
        return verdict_sentence(found)
    values = spread([each.found.fitted for each in agree])
    return (
        f"{len(agree)} of {len(found)} fitted curves grow like $\\ln T$: $dR/d\\ln T \\propto T^a$ with $a$ = {values}"
    )


def _one(each: Fitted, series: Sequence[Series]) -> bool:
    """Whether a fit belongs to a curve: same learner, and its window where it has one."""
    claim = each.claim
    for one in series:
        if (claim.learner, claim.variant) == (one.learner, one.variant) and each.exponent:
            return claim.where.get("window", one.window) == one.window or one.window is None
    return False


def _legend(page: Page, each: Series, found: Sequence[Fitted]) -> str:
    own = [one for one in found if _one(one, [each])]
    return f"{each.name(page)}: {own[0].exponent}" if len(own) == 1 else each.name(page)


def _log_law(plate: Plate, place: int, drawn: Curve, top: float) -> None:
    late = drawn.values >= np.sqrt(drawn.values.min() * drawn.values.max())
    if late.sum() < 2 or drawn.means[-1] > top:
        return
    logs = np.log(drawn.values[late])
    constant, slope = np.polynomial.polynomial.polyfit(logs, drawn.means[late], 1)
    plate.line(place, "c + s ln T", drawn.values[late], constant + slope * logs, what="fit of the later half")


def _cost(page: Page, curves: dict[Series, Curve]) -> str:
    """The private learner of least regret beside the best without privacy, at the largest T."""
    ends = {each: float(drawn.means[-1]) for each, drawn in curves.items()}
    private = {each: value for each, value in ends.items() if each.private and value > 0}
    free = {each: value for each, value in ends.items() if not each.private and value > 0}
    if not private or not free:
        return ""
    best, other = min(private, key=private.__getitem__), min(free, key=free.__getitem__)
    last = count(float(max(curves[best].values)))
    factor = share(private[best] / free[other])
    return f"Least private regret at $T =$ {last}: {best.name(page)}, {factor} times that of {other.name(page)}"


def printed(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Regret against T of printed and corrected variants, one panel a learner, with a line of slope one."""
    rows = rows_of(runs, entry.experiment)
    every = series_of(rows, entry.experiment)
    faulty = {each.learner for each in every if each.variant.startswith("printed")}
    series = [each for each in every if each.learner in faulty]
    if not series:
        raise NotRun(f"no printed variant in {entry.experiment}")
    learners = list(dict.fromkeys(each.learner for each in series))
    streams = sorted(set(rows["stream"]))
    panels = [(learner, stream) for stream in streams for learner in learners]
    plate = page.plate(len(panels), 2, height=2.1)
    said = []
    for index, (learner, stream) in enumerate(panels):
        _axes(plate, index, log=True)
        own = f", {page.name(f'stream:{stream}')}" if len(streams) > 1 else ""
        plate.axes[index].set_title(page.name(learner) + own)
        ends: dict[str, float] = {}
        for each in (each for each in series if each.learner == learner):
            drawn = curve(rows.loc[rows["stream"] == stream], each)
            ends[each.variant] = float(drawn.means[-1])
            name = page.name(f".{each.variant}")
            plate.curve(index, each.name(page), drawn.values, drawn.means, each.look(page), drawn.reach,
                        hollow=drawn.saturated, legend=each.name(page) if len(learners) > 1 else name)  # fmt: skip
            if each.variant == "printed" and drawn.means[-1] > 0:
                guide = 1.6 * drawn.means[-1] * drawn.values / drawn.values[-1]
                half = drawn.values >= np.sqrt(drawn.values[0] * drawn.values[-1])
                plate.line(index, "slope one", drawn.values[half], guide[half], what="slope one", text=r"$\propto T$",
                           colour=style.GUIDE)  # fmt: skip
        wrong = {name: value for name, value in ends.items() if name.startswith("printed")}
        right = {name: value for name, value in ends.items() if not name.startswith("printed") and value > 0}
        if wrong and right:
            said.append(max(wrong.values()) / min(right.values()))
        style.readable_log(plate.axes[index])
    last = count(float(rows["checkpoint"].max()))
    if said:
        factors = f"{share(max(said))}" if len(said) == 1 else f"{share(min(said))} to {share(max(said))}"
        plate.finding = f"As printed the regret at $T =$ {last} is {factors} times the best of the other variants"
    plate.setting = (f"{run_count(rows)}, bands 95 %; hollow: saturated. "
                     f"{setting(rows, page.names, ('horizon',))}")  # fmt: skip
    return plate


def _axes(plate: Plate, place: int, log: bool) -> None:
    axis = plate.axes[place]
    style.log_axis(axis, "x", base=2)
    axis.set_yscale("log" if log else "linear")
    axis.set_xlabel(AXES["horizon"])
    axis.set_ylabel(RESPONSES["regret"])


def _robust_top(curves: Sequence[Array]) -> float:
    """Top of a linear axis: curves of linear regret must not flatten all others."""
    lasts = np.sort([each[-1] for each in curves])
    return float(1.15 * max(lasts[max(0, int(0.7 * (len(lasts) - 1)))], 1e-9))

"""Learners side by side: response against a swept parameter, where curves cross, and how far bounds are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.fitted import Fitted, fitted, verdict_sentence
from dpregret.paper_figs.figures.layout import FULL, Page, Plate
from dpregret.paper_figs.figures.series import (
    FREE,
    Curve,
    Series,
    cell_means,
    curve,
    learners_of,
    number_of,
    panels_of,
    rows_of,
    saturated,
    series_of,
)
from dpregret.paper_figs.figures.symbols import (
    COORDINATES,
    RESPONSES,
    SPOKEN,
    axis_label,
    count,
    interval,
    power_text,
    rate_math,
    rounded,
    run_count,
    setting,
    share,
)
from dpregret.paper_figs.judge.cells import LENGTHS, NotRun
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN, Parameter, Response

TRIVIAL: Final = {"regret": "constant point", "excess": "trivial point"}
"""The dotted line of a figure, by response."""
Found = dict[str, Curve]


def sweep(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Response against the swept parameter, panels by stream and at most six curves each; raises NotRun.

    The dotted line is the trivial point. Where the entry names two learners, a vertical line marks where their curves
    cross; where it has a power `scaled`, everything is divided by that power of the parameter.
    """
    parameter, response = entry.parameter or "horizon", claims.response
    rows = at(rows_of(runs, entry.experiment), entry)
    column = VALUE_COLUMN[parameter]
    found = fitted(runs, claims, entry.experiment, parameter, (response,))
    parts = [(stream, part) for stream, own in rows.groupby("stream", sort=True)
             for part in panels_of(_series(own, entry.experiment))]  # fmt: skip
    across = 2 if sum(len(part) for _, part in parts) > FULL else 3
    plate = page.plate(len(parts), min(across, len(parts)), height=2.3 if len(parts) == 1 else 1.95)
    curves: dict[str, Found] = {}
    for index, (stream, part) in enumerate(parts):
        own = rows.loc[rows["stream"] == stream]
        shown = curves.setdefault(str(stream), {})
        exponents = [each for each in found if each.claim.stream == stream and _same(each, entry)]
        axis = plate.axes[index]
        value_axis(axis, parameter, rows[column].to_numpy(dtype=float))
        axis.set_yscale("linear" if entry.scaled else "log")
        for each in part:
            drawn = curve(own, each, column).scaled(entry.scaled)
            shown |= {f"{each.learner}.{each.variant}": drawn} | ({} if each.free else {each.learner: drawn})
            plate.curve(index, each.name(page), drawn.values, drawn.means, each.look(page), drawn.reach,
                        hollow=drawn.saturated, legend=_legend(page, each, exponents))  # fmt: skip
        trivial = own.groupby(column)["trivial_regret"].mean()
        trivial = trivial.loc[
            trivial.index >= min(float(shown[f"{one.learner}.{one.variant}"].values[0]) for one in part)
        ]
        plate.line(index, TRIVIAL[response], trivial.index, trivial / trivial.index**entry.scaled, what="trivial point",
                   dash=":", legend=TRIVIAL[response])  # fmt: skip
        axis.set_xlabel(axis_label(parameter, response))
        axis.set_ylabel(RESPONSES[response] + _over(parameter, response, entry.scaled))
        if len({name for name, _ in parts}) > 1:
            axis.set_title(page.name(f"stream:{stream}"))
        if entry.scaled:  # small differences are what such a figure is for
            axis.set_ylim(0.0, 1.15 * max(float(each.means.max()) for each in shown.values()))
        else:
            _law(plate, index, [each for each in exponents if _drawn(each, part)], parameter)
            style.readable_log(axis)
    _shared(plate, entry)
    private = {f"{each.learner}.{each.variant}" for _, part in parts for each in part if each.private and not each.free}
    crossed = _crossed(plate, page, entry, curves, [str(stream) for stream, _ in parts], response)
    plate.finding = crossed or (verdict_sentence([each for each in found if _same(each, entry)]) or
                                _least(page, curves, parameter, response, private))  # fmt: skip
    told = setting(rows, page.names, (_parameter_words(parameter), *(["stream"] if len(curves) > 1 else [])))
    fit = " Numbers in the legend: fitted exponent [95 %]." if any(each.exponent for each in found) else ""
    plate.setting = f"{run_count(rows)}, bands 95 %; hollow: saturated.{fit} {told}"
    return plate


def _series(rows: pd.DataFrame, experiment: str) -> list[Series]:
    return [replace(each, free=each.variant == FREE) for each in series_of(rows, experiment)]


def _same(each: Fitted, entry: FigureEntry) -> bool:
    """Whether a claim speaks of the settings that the figure shows."""
    where = {key: value for key, value in each.claim.where.items() if not isinstance(value, str)}
    return all(entry.where.get(key, value) == value for key, value in where.items())


def _drawn(each: Fitted, part: Sequence[Series]) -> bool:
    return (each.claim.learner, each.claim.variant) in {(one.learner, one.variant) for one in part}


def _legend(page: Page, each: Series, found: Sequence[Fitted]) -> str:
    name = each.name(page)
    own = [one for one in found if _drawn(one, [each]) and one.exponent]
    if len(own) != 1 or each.free:
        return name
    estimate = own[0].found
    return f"{name}: {interval(estimate.fitted, estimate.fitted_low, estimate.fitted_high)}"


def _law(plate: Plate, place: int, found: Sequence[Fitted], parameter: Parameter) -> None:
    """The predicted law below the lowest curve that has one, as a dashed slope with its exponent."""
    fits_here = [each for each in found if each.exponent and parameter not in COORDINATES and each.rate.symbol]
    if not fits_here:
        return
    low = min(fits_here, key=lambda each: float(np.exp(each.found.log_level)))
    used, means = low.cells.used, low.cells.responses.mean(axis=0)
    law = low.law[used]
    guide = np.exp(law - law.mean() + np.log(means[used]).mean()) / 2.2
    plate.line(place, "predicted law", low.cells.values[used], guide, what=f"law {low.rate}, scaled",
               colour=style.GUIDE, text=f"$\\propto {rate_math(low.rate)}$", below=True)  # fmt: skip


def _over(parameter: Parameter, response: Response, power: float) -> str:
    symbol = axis_label(parameter, response).split("$")[1]
    return f" / ${symbol}^{{{power_text(power)}}}$" if power else ""


def _parameter_words(parameter: str) -> str:
    return {"samples": "horizon", "experts": "dimension", "mu": "epsilon"}.get(parameter, parameter)


def _shared(plate: Plate, entry: FigureEntry) -> None:
    """The same limits for all panels, so that they can be compared."""
    if len(plate.axes) < 2:
        return
    limits = np.array([axis.get_ylim() for axis in plate.axes])
    for axis in plate.axes:
        axis.set_ylim(limits[:, 0].min(), limits[:, 1].max())
        if axis.get_yscale() == "log":
            style.readable_log(axis)


def _crossed(
    plate: Plate, page: Page, entry: FigureEntry, curves: dict[str, Found], streams: Sequence[str], response: Response
) -> str:
    """Mark where the two curves of the entry cross, and say it."""
    if entry.crossing is None:
        return ""
    said = ""
    first, second = entry.crossing
    symbol = axis_label(entry.parameter or "horizon", response).split("$")[1]
    for stream, found in curves.items():
        if not {first, second} <= set(found):
            continue
        for value in crossings(found[first], found[second]):
            at_value = found[first].values >= value
            ahead = found[first].means[at_value][:1] < np.interp(
                found[first].values[at_value][:1], found[second].values, found[second].means
            )
            wins, loses = (first, second) if ahead.all() else (second, first)
            said = said or f"{page.spoken(wins)} overtakes {page.spoken(loses)} at ${symbol} \\approx$ {rounded(value)}"
            for place in (number for number, each in enumerate(streams) if each == stream):
                plate.axes[place].axvline(value, color=style.GUIDE, linewidth=0.8, linestyle=style.DASHED)
                high = plate.axes[place].get_ylim()[1]
                plate.text(place, (value, high), rounded(value), "left", "top")
                plate.keep(place, "crossing", [value], [np.nan], what="where the curves cross")
    return said


def _least(
    page: Page, curves: dict[str, Found], parameter: Parameter, response: Response, private: Collection[str]
) -> str:
    """Which private learner has the least response at the last value that all have, and by what factor."""
    if len(curves) != 1:
        return ""
    found = {key: each for key, each in next(iter(curves.values())).items() if key in private}
    if len(found) < 2:
        return ""
    last = min(float(each.values.max()) for each in found.values())
    at_last = {key: float(each.means[each.values == last][0]) for key, each in found.items() if last in each.values}
    positive = {key: value for key, value in at_last.items() if value > 0}
    if len(positive) < 2:
        return ""
    (best, least), (other, more) = sorted(positive.items(), key=lambda item: item[1])[:2]
    symbol = axis_label(parameter, response).split("$")[1]
    return (f"At ${symbol} =$ {count(last)} {page.spoken(best)} has the least {SPOKEN[response]}, "
            f"{share(more / least)} times less than {page.spoken(other)}")  # fmt: skip


def at(rows: pd.DataFrame, entry: FigureEntry) -> pd.DataFrame:
    """Rows at the settings of the entry of private learners that vary them, all rows of others, and its counterpart."""
    learners = rows.groupby(["learner", "variant"])
    private = learners["epsilon"].transform(lambda epsilons: np.isfinite(epsilons).any()).to_numpy(dtype=bool)
    kept = np.ones(len(rows), dtype=bool)
    for key, value in entry.where.items():
        varied = learners[key].transform("nunique").to_numpy() > 1  # one without a window has that of its horizon
        kept &= np.isclose(rows[key].astype(float), value) | ~(private & varied)
    chosen: pd.DataFrame = rows.loc[kept]
    if entry.counterpart is None:
        return chosen
    learner, variant = entry.counterpart.split(".", 1)
    free = (rows["learner"] == learner) & (rows["variant"] == variant) & np.isinf(rows["epsilon"])
    both: pd.DataFrame = pd.concat([chosen, rows.loc[free].assign(variant=FREE)], ignore_index=True)
    return both


def value_axis(axis: Axes, parameter: str, values: Array) -> None:
    """The axis of a swept parameter; one that starts at zero is linear there."""
    if (values <= 0).any():
        first = float(values[values > 0].min())
        axis.set_xscale("symlog", linthresh=first)
        axis.set_xlim(-0.2 * first, 1.3 * float(values.max()))  # no decades below zero
    elif parameter in (*LENGTHS, "dimension", "experts", "window", "length"):
        style.log_axis(axis, "x", base=2)
    else:
        style.log_axis(axis, "x", values)


def crossings(first: Curve, second: Curve) -> Array:
    """Where two curves cross, interpolated in logarithms between neighbouring common positive values."""
    common, at_first, at_second = np.intersect1d(first.values, second.values, return_indices=True)
    positive = (common > 0) & (first.means[at_first] > 0) & (second.means[at_second] > 0)
    common, at_first, at_second = common[positive], at_first[positive], at_second[positive]
    ratio = np.log(first.means[at_first] / second.means[at_second])
    change = np.flatnonzero(np.sign(ratio[:-1]) * np.sign(ratio[1:]) < 0)
    place = ratio[change] / (ratio[change] - ratio[change + 1])
    logs = np.log(common)
    return np.asarray(np.exp(logs[change] + place * (logs[change + 1] - logs[change])), dtype=np.float64)


def bounds(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Measured response between its bounds, one panel a learner that has an explicit upper bound; raises NotRun.

    Dashed above: the learner's own explicit bound; dotted below: the lower bound of the stream, where it has one.
    """
    parameter, response = entry.parameter or "horizon", claims.response
    rows, column = rows_of(runs, entry.experiment), VALUE_COLUMN[parameter]
    bounded = [
        (series, own) for series, own in learners_of(rows, entry.experiment)
        if own["bound"].notna().all() and np.isfinite(own["epsilon"]).all()
    ]  # fmt: skip
    if not bounded:
        raise NotRun(f"no learner with an explicit bound in {entry.experiment}")
    plate = page.plate(len(bounded), 3 if len(bounded) != 4 else 2, height=2.0)
    shares, lower = [], False
    for index, (series, own) in enumerate(bounded):
        look, name, axis = series.look(page), series.name(page), plate.axes[index]
        value_axis(axis, parameter, rows[column].to_numpy(dtype=float))
        axis.set_yscale("log")
        for stream, part in own.groupby("stream", sort=True):
            drawn = cell_means([(number_of(value), cell["regret"].to_numpy(dtype=float))
                                for value, cell in part.groupby(column, sort=True)])  # fmt: skip
            above = part.groupby(column)["bound"].mean()
            plate.curve(index, name, drawn.values, drawn.means, look, drawn.reach, legend="",
                        hollow=saturated(part, column), what=f"mean on {stream}")  # fmt: skip
            plate.line(index, f"bound of {name}", above.index, above, what="explicit bound", legend="explicit bound")
            shares.append(float((drawn.means / above.to_numpy()).max()))
            if "lower_bound" in part.columns and part["lower_bound"].notna().all():
                below = part.groupby(column)["lower_bound"].mean()
                plate.line(index, "lower bound", below.index, below, what="lower bound", dash=":", legend="lower bound")
                lower = True
        axis.set_xlabel(axis_label(parameter, response))
        axis.set_ylabel(RESPONSES[response])
        axis.set_title(name, fontsize=style.SMALL)
        style.readable_log(axis)
    plate.key("measured", color=style.GUIDE, marker="o", linestyle="-")
    _shared(plate, entry)
    how = "stays below" if max(shares) <= 1 else "crosses"
    plate.finding = f"Measured {SPOKEN[response]} {how} the explicit bound: at most {max(shares):.2f} of it"
    also = " Dotted: lower bound of the instance." if lower else ""
    told = setting(rows, page.names, (_parameter_words(parameter),))
    plate.setting = f"{run_count(rows)}, bands 95 %; hollow: saturated.{also} {told}"
    return plate

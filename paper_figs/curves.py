"""What every figure is drawn from: curves of runs, and the cells of a claim with their fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpregret.core.arrays import Array
from dpregret.paper_figs import fits
from dpregret.paper_figs.cells import Cells, NotRun, coordinate, direction, log_factor
from dpregret.paper_figs.claims import Claim
from dpregret.paper_figs.figure_style import MARKERS, Colour

Curve = tuple[Array, Array, Array]
FIRST_ROUND: Final = 64
"""Curves against T start here."""


@dataclass(frozen=True)
class Series:
    """A learner to draw: `learner.variant`, at one window where the experiment has several."""

    learner: str
    variant: str
    window: int | None = None
    private: bool = True

    @property
    def name(self) -> str:
        """Text of the legend."""
        variant = "" if self.variant == "plain" else f" {self.variant}"
        return f"{self.learner}{variant}" + (f", W = {self.window}" if self.window else "")


def series_of(runs: pd.DataFrame, experiment: str, skip_variants: Sequence[str] = ()) -> list[Series]:
    """All learners of an experiment; a windowed learner at its median window."""
    rows = runs.loc[(runs["experiment"] == experiment) & ~runs["variant"].isin(list(skip_variants))]
    found = []
    for (learner, variant), group in rows.groupby(["learner", "variant"], sort=True):
        windows = sorted(set(group["window"])) if group["anytime"].all() else []
        window = int(windows[len(windows) // 2]) if len(windows) > 1 else None
        found.append(Series(str(learner), str(variant), window, bool(np.isfinite(group["epsilon"]).all())))
    return sorted(found, key=lambda series: not series.private)


def printed_pairs(runs: pd.DataFrame, experiment: str) -> list[Series]:
    """The learners of an experiment that have a printed variant, with all their variants."""
    every = series_of(runs, experiment)
    printed = {series.learner for series in every if series.variant.startswith("printed")}
    return [series for series in every if series.learner in printed]


def curve(runs: pd.DataFrame, experiment: str, series: Series, column: str = "checkpoint") -> Curve:
    """Values of `column`, mean regrets and half widths of their 95 % intervals, (cells,) each; raises NotRun."""
    rows = runs.loc[
        (runs["experiment"] == experiment) & (runs["learner"] == series.learner)
        & (runs["variant"] == series.variant) & (runs["status"] == "ok")
    ]  # fmt: skip
    if series.window is not None:
        rows = rows.loc[rows["window"] == series.window]
    ends = rows["checkpoint"] == rows["horizon"]
    rows = rows.loc[np.where(rows["anytime"], rows["horizon"] == rows["horizon"].max(), ends)]
    if column == "checkpoint":
        rows = rows.loc[rows["checkpoint"] >= FIRST_ROUND]
    if rows.empty:
        raise NotRun(f"{series.name} has no rows in {experiment}")
    table = rows.pivot_table(index="run", columns=column, values="regret", aggfunc="mean")
    values = table.to_numpy(dtype=float)
    means, reach = means_of(values)
    return table.columns.to_numpy(dtype=float), means, reach


def means_of(responses: Array) -> tuple[Array, Array]:
    """Means of (runs, cells) over runs, and half widths of their 95 % intervals."""
    intervals = [fits.mean_interval(column) for column in responses.T]
    means = np.array([estimate.value for estimate in intervals])
    return means, np.array([estimate.high - estimate.value for estimate in intervals])


def band(axis: Axes, horizons: Array, means: Array, reach: Array, colour: Colour, place: int, name: str) -> None:
    """A curve with its band."""
    axis.plot(horizons, means, marker=MARKERS[place % len(MARKERS)], color=colour, label=name)
    axis.fill_between(horizons, means - reach, means + reach, color=colour, alpha=0.2, linewidth=0)


def exponent_series(axes: Sequence[Axes], claim: Claim, cells: Cells, colour: Colour, marker: str) -> None:
    """Cells of a claim with the fitted power on the first axes, local slopes of response / bound on the second."""
    variable = np.exp(coordinate(claim, cells.values))
    means, reach = means_of(cells.responses)
    shown = means > 0
    name = f"{claim.learner} {claim.variant}, {claim.stream}"
    name += "".join(f", {key} = {value}" for key, value in claim.where.items())
    name += ", overhead" if claim.response == "overhead" else ""
    axes[0].errorbar(variable[shown], means[shown], np.minimum(reach, 0.95 * np.abs(means))[shown], fmt="none",
                     color=colour, linewidth=0.8)  # fmt: skip
    for kept, face in ((cells.used, colour), (~cells.used, "white")):
        axes[0].plot(variable[kept & shown], means[kept & shown], linestyle="none", marker=marker, color=colour,
                     markerfacecolor=face, label=name if face == colour else None)  # fmt: skip
    rate = claim.rate
    used = cells.used & shown
    if rate is None or used.sum() < 2:
        return
    axis = np.log(variable)
    slope = float(np.log(means[used]) @ fits.slope_weights(axis[used]))
    line = np.exp(np.log(means[used]).mean() + slope * (axis[used] - axis[used].mean()))
    axes[0].plot(variable[used], line, color=colour, linewidth=0.9)
    law = log_factor(claim, rate, cells) + rate.power * axis
    ratio = (np.log(np.where(shown, means, 1.0)) - law)[used]
    middle, local = fits.local_slopes(ratio, axis[used])
    axes[1].plot(np.exp(middle), direction(claim) * local, marker=marker, color=colour)


def rows_of(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Finished rows of an experiment; raises NotRun."""
    rows = runs.loc[(runs["experiment"] == experiment) & (runs["status"] == "ok")]
    if rows.empty:
        raise NotRun(f"no rows of {experiment}")
    return rows


def learners_of(rows: pd.DataFrame, experiment: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every learner and variant of an experiment with its rows; private ones first."""
    for each in series_of(rows, experiment):
        yield each.name, rows.loc[(rows["learner"] == each.learner) & (rows["variant"] == each.variant)]

"""The curves of an experiment: whose, their means with intervals, which cells are saturated, and in which panel."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures.layout import MOST, Mask, Page
from dpregret.paper_figs.figures.markers import Look
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import SATURATED_DISPLACEMENT, SATURATED_SHARE, NotRun

FIRST_ROUND: Final = 64
"""Curves against T start here."""
FREE: Final = "without noise"
"""Variant of a private learner's plays at an infinite budget, where a figure shows both."""


@dataclass(frozen=True)
class Series:
    """A learner to draw: learner.variant, at one window where the experiment has several."""

    learner: str
    variant: str
    window: int | None = None
    private: bool = True
    free: bool = False

    def name(self, page: Page) -> str:
        """Text of the legend."""
        text = page.name(f"{self.learner}.{self.variant}")
        if self.free:
            text = f"{page.name(self.learner)}, {FREE}"
        return text + (f", $W = {self.window}$" if self.window else "")

    def look(self, page: Page) -> Look:
        """How it is drawn."""
        look = page.looks.of(self.learner, self.variant, self.private)
        return look.without_noise() if self.free else look


class Curve(NamedTuple):
    """Values of the swept column, mean responses, half widths of their 95 % intervals and saturation, (cells,) each."""

    values: Array
    means: Array
    reach: Array
    saturated: Mask

    def scaled(self, power: float) -> Curve:
        """Responses divided by a power of the values."""
        factor = self.values**power
        return self._replace(means=self.means / factor, reach=self.reach / factor)


def series_of(runs: pd.DataFrame, experiment: str, skip_variants: Sequence[str] = ()) -> list[Series]:
    """All learners of an experiment, private ones first; a windowed learner at its median window."""
    rows = runs.loc[(runs["experiment"] == experiment) & ~runs["variant"].isin(list(skip_variants))]
    found = []
    for (learner, variant), group in rows.groupby(["learner", "variant"], sort=True):
        windows = sorted(set(group["window"])) if group["anytime"].all() else []
        window = int(windows[len(windows) // 2]) if len(windows) > 1 else None
        found.append(Series(str(learner), str(variant), window, bool(np.isfinite(group["epsilon"]).all())))
    return sorted(found, key=lambda series: not series.private)


def rows_of(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Finished rows of an experiment; raises NotRun."""
    rows = runs.loc[(runs["experiment"] == experiment) & (runs["status"] == "ok")]
    if rows.empty:
        raise NotRun(f"no rows of {experiment}")
    return rows


def learners_of(rows: pd.DataFrame, experiment: str) -> Iterator[tuple[Series, pd.DataFrame]]:
    """Every learner and variant of an experiment with its rows; private ones first."""
    for each in series_of(rows, experiment):
        yield each, rows.loc[(rows["learner"] == each.learner) & (rows["variant"] == each.variant)]


def curve(rows: pd.DataFrame, series: Series, column: str = "checkpoint") -> Curve:
    """The curve of a learner from the finished rows of an experiment; raises NotRun."""
    own = rows.loc[(rows["learner"] == series.learner) & (rows["variant"] == series.variant)]
    if series.window is not None:
        own = own.loc[own["window"] == series.window]
    ends = own["checkpoint"] == own["horizon"]
    own = own.loc[np.where(own["anytime"], own["horizon"] == own["horizon"].max(), ends)]
    if column == "checkpoint":
        own = own.loc[own["checkpoint"] >= FIRST_ROUND]
    if own.empty:
        raise NotRun(f"{series.learner}.{series.variant} has no rows")
    table = own.pivot_table(index="run", columns=column, values="regret", aggfunc="mean")
    means, reach = means_of(table.to_numpy(dtype=float))
    return Curve(table.columns.to_numpy(dtype=float), means, reach, saturated(own, column, series.private))


def saturated(rows: pd.DataFrame, column: str, private: bool = True) -> Mask:
    """Which cells carry no information on a law, (cells,): regret near the trivial one, or noise larger than the
    set."""
    means = rows.groupby(column, sort=True)[["regret", "trivial_regret", "displacement"]].mean()
    near = means["regret"] > SATURATED_SHARE * means["trivial_regret"]
    return np.asarray((near | (means["displacement"] > SATURATED_DISPLACEMENT)) & private)


def means_of(responses: Array) -> tuple[Array, Array]:
    """Means of (runs, cells) over runs, and half widths of their 95 % intervals."""
    intervals = [fits.mean_interval(column) for column in responses.T]
    means = np.array([estimate.value for estimate in intervals])
    return means, np.array([estimate.high - estimate.value for estimate in intervals])


def interval_of(sample: Iterable[float]) -> tuple[float, float]:
    """Ends of the 95 % interval of a mean over runs, as seaborn requests them."""
    found = fits.mean_interval(np.asarray(list(sample), dtype=float))
    return found.low, found.high


def number_of(key: object) -> float:
    """A key of a group as a number."""
    return float(key)  # type: ignore[arg-type]


def cell_means(groups: Collection[tuple[float, Array]]) -> Curve:
    """A curve from values and the responses of their runs."""
    pairs = [means_of(np.asarray(sample, dtype=np.float64)[:, None]) for _, sample in groups]
    means, reach = (np.array([pair[which][0] for pair in pairs]) for which in (0, 1))
    return Curve(np.array([value for value, _ in groups], dtype=float), means, reach, np.zeros(len(pairs), dtype=bool))


def panels_of(series: Sequence[Series], most: int = MOST) -> list[list[Series]]:
    """Series in panels of at most `most`, variants of a learner together, private ones first."""
    groups: dict[tuple[bool, str], list[Series]] = {}
    for each in series:
        groups.setdefault((not each.private and not each.free, each.learner), []).append(each)
    parts: list[list[Series]] = []
    for _, own in sorted(groups.items(), key=lambda item: item[0][0]):
        parts += [own[start : start + most] for start in range(0, len(own), most)]
    count = len(_filled(parts, most))
    even = next(cap for cap in range(1, most + 1) if len(_filled(parts, cap)) <= count and cap >= max(map(len, parts)))
    return _filled(parts, even)


def _filled(parts: Sequence[Sequence[Series]], most: int) -> list[list[Series]]:
    """Groups in their order, as many to a panel as fit."""
    panels: list[list[Series]] = [[]]
    for part in parts:
        if panels[-1] and len(panels[-1]) + len(part) > most:
            panels.append([])
        panels[-1] += part
    return panels

"""Predict regret that was not measured from measured cells: a power law with interpolated residuals.

For one learner on one stream, set and kind of privacy let x = (ln T, ln d, ln eps, ln(1 + log2 W)) (experts:
ln(1 + log2 d) for ln d; without a window W = T, and the last coordinate is left out where a learner never has one) and
y = ln(mean regret). Then

    y(x) = b0 + <b, x> + g(x) + noise,   b ~ N(m, diag(s)^2),   g a Gaussian process of covariance
    v^2 exp(-|x - x'|^2 / (2 l^2)),      noise of variance (s.e. / mean)^2 + q^2:

the law C T^a d^b eps^c ..., and its residuals interpolated over a distance l. The prediction is the mean of y(x) given
the cells (kriging), the interval +-1.96 of its standard deviation, times the root mean square of standardised
leave-one-out residuals where that is above one; a distance D beyond the measured range adds (BEND D)^2 to its square,
since a power may change there. v, l and q are those of a small grid with the largest likelihood. The
prior PRIOR decides only powers that were not measured: a parameter with one value has b ~ N(m, s^2), and an interval
that shows it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from scipy import linalg

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.winners.table import CELLS, LAWS, SAME

PARAMETERS: Final = ("rounds", "dimension", "epsilon", "window")
PRIOR: Final = {"rounds": (0.5, 0.5), "dimension": (0.5, 0.5), "epsilon": (-0.5, 0.5), "window": (0.5, 0.75)}
"""Power of a parameter: mean and standard deviation. Excess risk is an average, its power of n is lower by one."""
AVERAGES: Final = ("erm", "population")
"""Feedback whose regret is an excess risk."""
LEVEL: Final = 10.0
"""Standard deviation of b0."""
LENGTHS, SPREADS, NUGGETS = (1.0, 2.0, 4.0), (0.03, 0.1, 0.3, 1.0), (0.003, 0.03, 0.15)
FEWEST: Final = 3
"""Least number of cells of a law."""
QUANTILE: Final = 1.96
BEND: Final = 0.05
"""Standard deviation of the change of a power beyond the measured range."""
GROUP: Final = ("feedback", "learner", "stream", "set", "options", "pure")
"""Columns whose cells share a law."""
OF_LAW: Final = ("feedback", "learner", "stream", "set", "options", "private", "pure")
"""Columns whose cells share a law of `dpregret advise`."""


def coordinates(cells: pd.DataFrame, feedback: str) -> pd.DataFrame:
    """x of cells, one column per parameter; window 0 is the whole sequence."""
    return pd.DataFrame({name: _coordinate(name, cells, feedback) for name in PARAMETERS}, index=cells.index)


def _coordinate(name: str, cells: pd.DataFrame, feedback: str) -> Array:
    """x of one parameter."""
    values: Array = cells[name].to_numpy(dtype=float)
    if name == "window":
        return np.asarray(np.log1p(np.log2(np.where(values > 0, values, cells["rounds"].to_numpy(dtype=float)))))
    if name == "dimension" and feedback == "experts":
        return np.asarray(np.log1p(np.log(values) / np.log(2)))
    return np.asarray(np.log(values))


def numbered(cells: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of `table.measure` with the number of their law, and the laws: what their cells share.

    What a law's cells share is stored once, in a table of its own.
    """
    cells = cells.assign(pure=cells["delta"] == 0)
    cells = cells.assign(law=cells.groupby(list(OF_LAW), sort=True).ngroup())
    laws = cells.drop_duplicates("law").sort_values("law", ignore_index=True)[["law", *OF_LAW]]
    return cells[["law", *(name for name in cells if name not in ("law", *OF_LAW))]], laws


def stored_cells(folder: Path) -> pd.DataFrame:
    """The table of cells as it was written, sizes such as 2^100 as numbers, with the columns that the cells of a law
    share; laws are of these rows.

    Raises OSError, ValueError or KeyError for other files.
    """
    cells = stored(folder / CELLS)
    laws = stored(folder / LAWS).set_index("law").loc[cells["law"]]
    shared = {name: laws[name].astype(object).fillna("").to_numpy() for name in OF_LAW}
    shared |= {name: shared[name].astype(bool) for name in ("private", "pure")}
    barred = cells["barred"].astype(object).fillna("")
    return cells.assign(**shared, barred=barred, dimension=cells["dimension"].map(size_of))


def stored(file: Path) -> pd.DataFrame:
    """A table of winners as it was written; empty cells are not known."""
    return formats.read_csv(file, keep_default_na=False, na_values=[""])


def size_of(text: object) -> float:
    """The number of a text such as 1000 or 2^100."""
    base, raised, power = str(text).partition("^")
    return float(base) ** float(power) if raised else float(base)


class Prediction(NamedTuple):
    """Mean regret with its 95 % interval. beyond: parameter -> what was measured, for those that are out of range."""

    regret: float
    low: float
    high: float
    beyond: dict[str, str]


class Fit(NamedTuple):
    """The fit at a grid point: factor of the covariance, weights of the residuals, log likelihood."""

    length: float
    spread: float
    nugget: float
    factor: Any
    weights: Array
    likelihood: float


def used_by(cells: pd.DataFrame) -> list[str]:
    """Parameters that the law of these cells has: no window where there never is one, no eps without privacy."""
    idle = {"window"} if not (cells["window"] > 0).any() else set()
    idle |= {"epsilon"} if not np.isfinite(cells["epsilon"]).all() else set()
    return [name for name in PARAMETERS if name not in idle]


def within(cells: pd.DataFrame, row: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
    """Whether a setting (one row) lies inside what was measured, for the cells of one feedback grouped by keys.

    Groups of fewer than FEWEST cells are left out.
    """
    feedback = str(cells["feedback"].iloc[0]) if len(cells) else ""
    grouped = coordinates(cells, feedback).groupby([cells[key] for key in keys], sort=True)
    lowest, highest, value = grouped.min(), grouped.max(), coordinates(row, feedback).iloc[0]
    inside = (lowest - SAME <= value) & (value <= highest + SAME)
    windowed = (cells["window"] > 0).groupby([cells[key] for key in keys], sort=True).any()
    inside["window"] |= ~windowed
    return inside.all(axis=1).loc[grouped.size() >= FEWEST]


def setting(rounds: float, dimension: float, epsilon: float, window: float = 0) -> pd.DataFrame:
    """One row to be predicted; window 0 is the whole sequence."""
    return pd.DataFrame([{"rounds": rounds, "dimension": dimension, "epsilon": epsilon, "window": window}])


class Chosen(NamedTuple):
    """The point of the grid with the largest likelihood, and the factor of intervals."""

    length: float
    spread: float
    nugget: float
    caution: float


def digest(cells: pd.DataFrame) -> str:
    """A name of what decides a law: settings, means and errors of its cells, to the digits of a table."""
    columns = (cells[name].to_numpy(dtype=float) for name in (*PARAMETERS, "regret", "error"))
    text = "\n".join(" ".join(f"{value:.6g}" for value in row) for row in zip(*columns, strict=True))
    return hashlib.sha256(f"{cells['feedback'].iloc[0]}\n{text}".encode()).hexdigest()[:16]


class Law:
    """The law of one learner on one problem's cells (rows of `table.measure`, of one GROUP).

    chosen: what an earlier fit of the same cells chose (see `with_fits`); else the whole grid is fitted.
    """

    def __init__(self, cells: pd.DataFrame, chosen: Chosen | None = None):
        self.feedback = str(cells["feedback"].iloc[0])
        self.cells = cells.loc[cells["regret"] > 0]
        if len(self.cells) < FEWEST:
            raise ValueError(f"{len(self.cells)} cells with a positive regret, fewer than {FEWEST}")
        self.used = used_by(self.cells)
        self.points = coordinates(self.cells, self.feedback)[self.used].to_numpy()
        means = self.cells["regret"].to_numpy(dtype=float)
        self.noise = (self.cells["error"].to_numpy(dtype=float) / means) ** 2
        self.start = self.points.mean(axis=0)
        self.response = np.log(means)
        self.middle = float(self.response.mean())
        self.chosen = chosen
        points = itertools.product(LENGTHS, SPREADS, NUGGETS) if chosen is None else [chosen[:3]]
        self.fit = max((self._fit(*point) for point in points), key=lambda fit: fit.likelihood)

    @cached_property
    def prior(self) -> tuple[Array, Array]:
        """Means and standard deviations of the powers."""
        pairs = [PRIOR[name] for name in self.used]
        mean, deviation = (np.array(part) for part in zip(*pairs, strict=True))
        if self.feedback in AVERAGES:
            mean = mean - np.array([name == "rounds" for name in self.used])
        return mean, deviation

    def _trend(self, first: Array, second: Array) -> Array:
        """Covariance of b0 + <b, x>."""
        deviation = self.prior[1]
        product: Array = ((first - self.start) * deviation) @ ((second - self.start) * deviation).T
        return product + LEVEL**2

    def _smooth(self, first: Array, second: Array, length: float, spread: float) -> Array:
        """Covariance of g."""
        square = ((first[:, None, :] - second[None, :, :]) ** 2).sum(axis=2)
        return spread**2 * np.exp(-square / (2 * length**2))

    def _expected(self, points: Array) -> Array:
        return self.middle + (points - self.start) @ self.prior[0]

    @cached_property
    def _of_points(self) -> tuple[Array, Array]:
        """Covariance of the trend at the points, and what the trend leaves of the responses."""
        return self._trend(self.points, self.points), self.response - self._expected(self.points)

    def _fit(self, length: float, spread: float, nugget: float) -> Fit:
        trend, residual = self._of_points
        smooth = trend + self._smooth(self.points, self.points, length, spread)
        factor = linalg.cho_factor(smooth + np.diag(self.noise + nugget**2), lower=True)
        weights = linalg.cho_solve(factor, residual)
        likelihood = -0.5 * float(residual @ weights) - float(np.log(np.diag(factor[0])).sum())
        return Fit(length, spread, nugget, factor, weights, likelihood)

    @cached_property
    def left_out(self) -> tuple[Array, Array]:
        """Residual of every cell from what the others predict, and its standard deviation (the cell's noise in it)."""
        inverse = np.diag(linalg.cho_solve(self.fit.factor, np.eye(len(self.points))))
        return self.fit.weights / inverse, 1 / np.sqrt(inverse)

    @cached_property
    def caution(self) -> float:
        """Factor of intervals: root mean square of standardised leave-one-out residuals, at least one."""
        if self.chosen is not None:
            return self.chosen.caution
        residuals, deviations = self.left_out
        return float(max(1.0, np.sqrt(np.mean((residuals / deviations) ** 2))))

    def predicted(self, cells: pd.DataFrame) -> tuple[Array, Array]:
        """ln(mean regret) at other settings, and its standard deviation, caution included."""
        points, fit = coordinates(cells, self.feedback)[self.used].to_numpy(), self.fit
        across = self._trend(points, self.points) + self._smooth(points, self.points, fit.length, fit.spread)
        variance = np.diag(self._trend(points, points)) + fit.spread**2 + fit.nugget**2
        remaining = variance - np.einsum("ij,ji->i", across, linalg.cho_solve(fit.factor, across.T))
        outside = np.maximum(self.points.min(axis=0) - points, 0) + np.maximum(points - self.points.max(axis=0), 0)
        bend = BEND**2 * (outside**2).sum(axis=1)
        mean: Array = self._expected(points) + across @ fit.weights
        return mean, self.caution * np.sqrt(np.maximum(remaining, fit.nugget**2) + bend)

    def predict(self, row: pd.DataFrame) -> Prediction:
        """At one setting (a row)."""
        mean, deviation = (float(values[0]) for values in self.predicted(row))
        half_width = QUANTILE * deviation
        return Prediction(np.exp(mean), np.exp(mean - half_width), np.exp(mean + half_width), self._beyond(row))

    def _beyond(self, row: pd.DataFrame) -> dict[str, str]:
        """Parameters of a setting outside what was measured, with the range."""
        ranges = {}
        lowest, highest = self.points.min(axis=0) - SAME, self.points.max(axis=0) + SAME
        for name, least, most in zip(self.used, lowest, highest, strict=True):
            if not least <= _coordinate(name, row, self.feedback)[0] <= most:
                column = self.cells[name].where(self.cells[name] > 0, self.cells["rounds"])
                low, high = column.min(), column.max()
                ranges[name] = f"only {low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
        return ranges


def with_fits(laws: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """The table of laws with what the fit of each chooses, of cells that are not barred, and the digest of these cells.

    cells: as `stored_cells` gives them, since what is stored must be what a fit of the stored cells chooses.

    It is stored with the cells, so that advice fits no grid; a law whose cells have another digest is fitted again. A
    law of too few cells has no fit.
    """
    usable, rows = cells.loc[cells["barred"] == ""], []
    for number, part in usable.groupby("law", sort=True):
        if (part["regret"] > 0).sum() >= FEWEST:
            law = Law(part)
            rows.append((number, digest(part), *Chosen(law.fit.length, law.fit.spread, law.fit.nugget, law.caution)))
    return laws.merge(pd.DataFrame(rows, columns=["law", "cells", *Chosen._fields]), on="law", how="left")


def by_digest(laws: pd.DataFrame) -> dict[str, Chosen]:
    """Digest of a law's cells -> what its fit chose; of the table of `with_fits`."""
    fitted = laws.loc[laws["cells"].notna()]
    columns = [fitted[name].astype(float) for name in Chosen._fields]
    return {str(key): Chosen(*numbers) for key, *numbers in zip(fitted["cells"], *columns, strict=True)}


def coverage(cells: pd.DataFrame, known: Mapping[str, Chosen] | None = None) -> pd.DataFrame:
    """How often 95 % intervals hold a cell that was left out, one row per feedback and kind of test.

    Of all private learners with enough cells, by GROUP. each cell: every cell from the others of its law. largest T:
    all cells of the largest number of rounds from the rest, where at least FEWEST cells and two values of T remain.
    error: median of |ln(predicted / measured)|. known: digest of a law's cells -> what its fit chose.
    """
    tested = []
    private = cells.loc[cells["private"]]
    for (feedback, *_), group in private.assign(pure=private["delta"] == 0).groupby(list(GROUP), sort=True):
        if (group["regret"] > 0).sum() < FEWEST:
            continue
        law = Law(group, (known or {}).get(digest(group)))
        residuals, deviations = law.left_out
        if len(residuals) > FEWEST:
            tested.append((feedback, "each cell", residuals, law.caution * deviations))
        ends = (law.cells["rounds"] == law.cells["rounds"].max()).to_numpy()
        rest = law.cells.loc[~ends]
        if len(rest) >= FEWEST and rest["rounds"].nunique() >= 2:
            mean, deviation = Law(rest).predicted(law.cells.loc[ends])
            wide = np.sqrt(deviation**2 + law.noise[ends])
            tested.append((feedback, "largest T", law.response[ends] - mean, wide))
    columns = ["feedback", "left_out", "error", "width"]
    tests = pd.DataFrame(tested, columns=columns).explode(["error", "width"]).astype({"error": float, "width": float})
    tests = tests.assign(error=tests["error"].abs(), width=QUANTILE * tests["width"])
    grouped = tests.assign(held=tests["error"] <= tests["width"]).groupby(["feedback", "left_out"], sort=True)
    aggregates = {"cells": ("held", "size"), "held": ("held", "mean"), "error": ("error", "median")}
    return grouped.agg(**aggregates, width=("width", "median")).reset_index()

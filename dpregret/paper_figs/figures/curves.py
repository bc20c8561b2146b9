"""What figures of runs draw: learners, their means with intervals, fits of claims; and `draw`, the form that most types
share: a curve for every learner, a panel for every group of rows, guides behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.grammar import Curve, Mask, Panel, PanelFigure, Source, Theme
from dpregret.paper_figs.figures.style import MOST, CurveStyle
from dpregret.paper_figs.judge import cells as rules
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import LENGTHS, Cells, NotRun, collect_cells, coordinate, log_factor
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.verdicts import Judgement, judge_cells
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN, Parameter, Rate, Response

FIRST_ROUND: Final = 64
"""Curves against T start here."""
TOP: Final = 1.15
"""End of a linear axis over its largest mean."""
FREE: Final = "without noise"
"""Variant of a private learner's plays at an infinite budget, where a figure shows both."""


@dataclass(frozen=True)
class Series:
    """A learner to draw: learner.variant, at one window where the experiment has several."""

    learner: str
    variant: str
    window: int | None = None
    private: bool = True

    @property
    def noiseless(self) -> bool:
        """Whether it is a private learner that was run without noise."""
        return self.variant == FREE

    def name(self, theme: Theme) -> str:
        """Text of the legend."""
        short = self.noiseless or "*" in self.variant  # the learner without noise, or the best of its variants
        text = theme.name(self.learner if short else f"{self.learner}.{self.variant}") + f", {FREE}" * self.noiseless
        return text + (f", $W = {self.window}$" if self.window else "")

    def style(self, theme: Theme) -> CurveStyle:
        """The style of its curve."""
        curve_style = theme.styles.of(self.learner, self.variant, self.private)
        return curve_style.without_noise() if self.noiseless else curve_style


def series_of(rows: pd.DataFrame) -> list[Series]:
    """All learners of some rows, private ones first; a windowed learner at its median window."""
    entries = []
    for (learner, variant), group in rows.groupby(["learner", "variant"], sort=True):
        windows = sorted(group["window"].unique()) if group["anytime"].all() else []
        window = int(windows[len(windows) // 2]) if len(windows) > 1 else None
        private = bool(np.isfinite(group["epsilon"]).any())
        entries.append(Series(str(learner), str(variant), window, private))
    return sorted(entries, key=lambda series: not series.private)


def of_learner(rows: pd.DataFrame, series: Series) -> pd.DataFrame:
    """The rows of a learner in its variant."""
    return rows.loc[(rows["learner"] == series.learner) & (rows["variant"] == series.variant)]


def curve_of(rows: pd.DataFrame, series: Series, column: str = "checkpoint") -> Curve:
    """The curve of a learner from the finished rows of an experiment; raises NotRun."""
    group = of_learner(rows, series)
    if series.window is not None:
        group = group.loc[group["window"] == series.window]
    ends = group["checkpoint"] == group["horizon"]
    group = group.loc[np.where(group["anytime"], group["horizon"] == group["horizon"].max(), ends)]
    if column == "checkpoint":
        group = group.loc[group["checkpoint"] >= FIRST_ROUND]
    if group.empty:
        raise NotRun(f"{series.learner}.{series.variant} has no rows")
    return means_by(group, column)._replace(hollow=saturated(group, column, series.private))


def saturated(rows: pd.DataFrame, column: str, private: bool = True) -> Mask:
    """Which cells are hollow, (cells,): those of a private learner that carry no information on a law."""
    means = rows.groupby(column, sort=True)[["regret", "trivial_regret", "displacement"]].mean()
    return np.asarray(rules.saturated(means) & private)


def without_fixed_points(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows without learners that are the fixed point itself, where its line stands beside them."""
    moves = np.isfinite(rows["epsilon"]) | ~np.isclose(rows["regret"], rows["trivial_regret"], rtol=1e-6)
    kept: pd.DataFrame = rows.loc[moves.groupby([rows["learner"], rows["variant"]]).transform("any")]
    return kept


def by_run(rows: pd.DataFrame, column: str, response: str = "regret") -> pd.DataFrame:
    """A response by run (rows) and value of a column (columns)."""
    return rows.pivot_table(index="run", columns=column, values=response, aggfunc="mean")


def means_by(rows: pd.DataFrame, column: str) -> Curve:
    """Mean regret at every value of a column."""
    table = by_run(rows, column)
    return means_of(table.columns, table.to_numpy(dtype=float))


def means_of(values: Iterable[Any], responses: Array, hollow: Mask | None = None) -> Curve:
    """Means of (runs, cells) over runs, with half widths of their 95 % intervals."""
    intervals = [fits.mean_interval(column[~np.isnan(column)]) for column in responses.T]
    means, _, high = np.array(intervals, dtype=float).reshape(-1, 3).T
    return Curve(np.array(values, dtype=float), means, high - means, hollow)


def panels_of(entries: Sequence[Series], room: int = MOST) -> list[list[Series]]:
    """Series in as few panels of at most `room` as hold them, evenly, variants of a learner together; the learners
    without privacy, which the others are compared with, in every panel where they take less than half of it."""
    others = [series for series in entries if not series.private and not series.noiseless]
    shared = others if len(others) < len(entries) and len(others) <= room // 2 else []
    groups: dict[tuple[bool, str], list[Series]] = {}
    for series in entries:
        if series not in shared:
            groups.setdefault((not series.private and not series.noiseless, series.learner), []).append(series)
    most = room - len(shared)
    parts = [
        group[start : start + most]
        for _, group in sorted(groups.items(), key=lambda item: item[0][0])
        for start in range(0, len(group), most)
    ]

    def packed(size: int) -> list[list[Series]]:
        panels: list[list[Series]] = [[]]
        for part in parts:
            if panels[-1] and len(panels[-1]) + len(part) > size:
                panels.append([])
            panels[-1] += part
        return [[*panel, *shared] for panel in panels]

    return min((packed(size) for size in range(max(map(len, parts)), most + 1)), key=len)  # the most even of the fewest


class FittedClaim(NamedTuple):
    """A claim of a power with its cells and its judgement.

    `means` are those of the cells; `used` are fitted cells with a positive mean; `variable` is the coordinate of the
    fit, not its logarithm; `law` the logarithm of the predicted law at the cells, up to a constant; `exponent` is
    written `0.51 [0.50, 0.52]`, empty where nothing was fitted.
    """

    claim: Claim
    cells: Cells
    judgement: Judgement
    means: Array
    used: Mask
    variable: Array
    rate: Rate
    law: Array
    exponent: str

    def of(self, entries: Sequence[Series]) -> bool:
        """Whether it is the fit of one of these learners, in its window where it has one."""
        claim = self.claim
        return any(
            (series.learner, series.variant) == (claim.learner, claim.variant)
            and series.window in (None, claim.where.get("window", series.window))
            for series in entries
        )


def fit_claims(
    runs: pd.DataFrame, claims: ClaimsFile, experiment: str, parameter: Parameter, responses: Collection[str]
) -> list[FittedClaim]:
    """Claims of powers of a parameter with rows in an experiment; one per learner, variant, stream and setting."""
    chosen: dict[tuple[str, ...], Claim] = {}
    for claim in claims.claims:
        matches = claim.type == "exponent" and claim.response in responses
        if matches and (claim.parameter, claim.experiment) == (parameter, experiment):
            key = (claim.learner, claim.variant, claim.stream, claim.response, str(claim.where))
            chosen.setdefault(key, claim)
    fitted = []
    for claim in chosen.values():
        try:
            cells = collect_cells(runs, claim)
        except NotRun:
            continue
        judged, means = judge_cells(runs, claim, cells), np.asarray(cells.responses.mean(axis=0))
        rate, axis, used = claim.rate or Rate(), coordinate(claim, cells.values), cells.used & (means > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            law = np.asarray(log_factor(claim, rate, cells) + rate.power * axis)
        exponent = "" if np.isnan(judged.fitted.value) else style.interval(judged.fitted)
        fitted.append(FittedClaim(claim, cells, judged, means, used, np.exp(axis), rate, law, exponent))
    return fitted


def of_drawn(fitted: Iterable[FittedClaim], figure: PanelFigure) -> list[FittedClaim]:
    """The fits of learners that stand in a figure."""
    drawn = [series for panel in figure.panels for series in panel.curves]
    return [fit for fit in fitted if fit.of(drawn)]


def note(series: Series, fitted: Sequence[FittedClaim]) -> str:
    """The exponent of a learner, where it has one fit."""
    exponents = [fit.exponent for fit in fitted if fit.exponent and fit.of([series])]
    return exponents[0] if len(exponents) == 1 else ""


def noted(figure: PanelFigure) -> bool:
    """Whether a curve has a note at its end; the text of a law is without a name."""
    return any(bool(label.name and label.note) for panel in figure.panels for label in panel.labels)


def verdict_sentence(fitted: Sequence[FittedClaim]) -> str:
    """The law, the verdicts on it, and the range of the fitted powers; empty where nothing was fitted."""
    decided = [fit for fit in fitted if fit.exponent]
    if not decided:
        return ""
    laws = dict.fromkeys(f"${fit.rate.latex()}$" for fit in decided)
    counts = Counter(fit.judgement.verdict for fit in decided).most_common()
    verdicts = "; ".join(f"{count} × {verdict}" if len(decided) > 1 else verdict for verdict, count in counts)
    responses = " and ".join(dict.fromkeys(style.RESPONSES[fit.claim.response] for fit in decided))
    powers = sorted({round(fit.judgement.fitted.value, 2) + 0.0 for fit in decided})
    spread = " to ".join(f"{power:.2f}" for power in dict.fromkeys((powers[0], powers[-1])))
    power = decided[0].exponent if len(decided) == 1 else spread.replace("-", "\N{MINUS SIGN}")
    return f"Law {' or '.join(laws)}: {verdicts} (fitted power of {responses}: {power})"


Guide = Callable[[Panel, pd.DataFrame], None]
"""Draws behind the curves of a panel, from its rows."""


def draw(
    source: Source,
    rows: pd.DataFrame,
    x: Parameter,
    y: Response,
    over: Sequence[str] = ("stream",),
    guides: Iterable[Guide] = (),
    fitted: Sequence[FittedClaim] = (),
    scaled: float = 0.0,
    look: Callable[[Series], tuple[str, CurveStyle]] | None = None,
    across: int = 3,
    further: int = 0,
) -> PanelFigure:
    """Mean response `y` against the parameter `x`: a curve for every learner, in panels of at most `MOST`.

    over: columns of whose values each has panels of its own. guides: drawn after the curves. fitted: claims whose
    exponents stand beside the curves. scaled: everything is divided by this power of x, and the vertical axis is
    linear. look: a name and a style in place of the usual ones; no cell is hollow. further: panels to leave for the
    caller.
    """
    theme, column = source.theme, VALUE_COLUMN[x]
    groups = list(rows.groupby(list(over), sort=True))
    room = MOST if len(groups) > 1 else MOST * 3 // 2
    parts = [(keys, group, part) for keys, group in groups for part in panels_of(series_of(group), room)]
    figure = PanelFigure(len(parts) + further, across, height=2.6 if len(parts) + further == 1 else 2.0)
    power = f" / ${Rate(style.symbol_of(x, y), scaled).latex()}$" if scaled else ""
    several = [number for number in range(len(over)) if len({keys[number] for keys, _ in groups}) > 1]
    for panel, (keys, group, part) in zip(figure.panels, parts, strict=False):
        value_axis(panel.axis, x, rows[column].to_numpy(dtype=float))
        panel.axis.set(yscale="linear" if scaled else "log", xlabel=style.axis_label(x, y))
        panel.axis.set_ylabel(style.RESPONSES[y] + power)
        names = {"stream": "stream:{}", "learner": "{}"}
        titles = [theme.name(names[over[number]].format(keys[number])) for number in several]
        panel.axis.set_title(", ".join(titles))
        panel.curves = {series: curve_of(group, series, column).scaled(scaled) for series in part}
        streams = {*group["stream"].unique()}
        panel_fits = [fit for fit in fitted if fit.claim.stream in streams]
        for series, curve in panel.curves.items():
            name, curve_style = look(series) if look else (series.name(theme), series.style(theme))
            curve = curve._replace(hollow=None) if look else curve
            panel.curve(name, curve, curve_style, note=note(series, panel_fits))
        for guide in guides:
            guide(panel, group)
    if scaled:  # small differences are what such a figure is for
        for panel in figure.panels[: len(parts)]:
            panel.axis.set_ylim(0.0, TOP * largest(panel))
    else:
        figure.same_heights(figure.panels[: len(parts)])
    return figure


def largest(panel: Panel) -> float:
    """The largest mean of the curves of a panel."""
    return max(float(np.nanmax(curve.means)) for curve in panel.curves.values())


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


def draw_law(panel: Panel, fit: FittedClaim, values: Array, above: float) -> None:
    """The predicted law at all cells as a dashed slope, `above` times the fitted ones, its formula beside its end."""
    known, level = np.isfinite(fit.law), np.log(fit.means[fit.used]).mean() - fit.law[fit.used].mean()
    guide = np.exp(fit.law[known] + level) * above
    what, text = f"law {fit.rate}, scaled", f"$\\propto {fit.rate.latex()}$"
    panel.line("predicted law", values[known], guide, what, text, color=style.GUIDE)


def local_slopes(fit: FittedClaim) -> Curve:
    """Slopes of response / law between neighbouring fitted cells."""
    ratio = np.log(fit.means[fit.used]) - fit.law[fit.used]
    middle, slopes = fits.local_slopes(ratio, np.log(fit.variable)[fit.used])
    return Curve(np.exp(middle), slopes)

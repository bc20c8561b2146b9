"""A figure with its panels, its words and the data behind it; it has the width of a column of a paper, or of two."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.style import INK, SMALL, Look, Looks, span, tidy
from dpregret.paper_figs.judge.cells import LENGTHS
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN
from dpregret.paper_figs.text import formats

Style = dict[str, Any]
"""Arguments of matplotlib or seaborn."""
Values = Sequence[float] | Array | pd.Index | pd.Series
Mask = np.ndarray[Any, np.dtype[np.bool_]]
MOST: Final = 6
"""Curves of a panel."""
COLUMNS: Final = ("panel", "series", "x", "y", "low", "high", "what")
TITLE_SIZE: Final = 9.0
FULL: Final = 8
"""Entries of a legend; more of them are below their panels."""
LINE: Final = 0.135
"""Height of a line of a legend or of small print, inches."""


class Curve(NamedTuple):
    """Values of a variable, means, half widths of their 95 % intervals, and which cells are hollow, (cells,) each.

    Intervals that are not symmetric have half widths (2, cells), below and above.
    """

    values: Array
    means: Array
    reach: Array | None = None
    hollow: Mask | None = None

    def scaled(self, power: float) -> Curve:
        """Means divided by a power of the values."""
        factor = self.values**power
        return self._replace(means=self.means / factor, reach=None if self.reach is None else self.reach / factor)


class Page:
    """The settings of all figures: names of identifiers, and looks of algorithms."""

    def __init__(self, names: Mapping[str, str] | None = None):
        self.names = names or {}
        self.looks = Looks(self.names)

    def name(self, key: str) -> str:
        """The displayed name of an identifier, or the identifier without its hyphens."""
        return tidy(self.names.get(key, key.rpartition(":")[2].replace("-", " ").replace(".", ", ")))

    def setting(self, rows: pd.DataFrame, how: str, but: Iterable[str] = ()) -> str:
        """Small print: how many runs, `how` they are drawn, and the set, losses, sizes and budget that all share,
        without the parameters (or columns) in `but`, which the figure shows."""
        shown = {"horizon" if name in LENGTHS else VALUE_COLUMN.get(name, name) for name in but}
        excess = "iterations" in rows and rows["iterations"].notna().any()
        symbols = {
            "stream": "", "set": "", "dimension": "p" if excess else "d", "horizon": "n" if excess else "T",
            "window": "W", "epsilon": r"\varepsilon", "delta": r"\delta", "strong_convexity": r"\mu",
        }  # fmt: skip
        private = rows.loc[np.isfinite(rows["epsilon"])]
        parts = []
        for column in [column for column in symbols if column in rows and column not in shown]:
            values = (private if column in ("window", "epsilon", "delta") else rows)[column].dropna().unique()
            if len(values) == 1 and values[0] not in ("", 0):
                symbol, name = symbols[column], f"{column}:{values[0]}"
                parts.append(f"${symbol} =$\N{NO-BREAK SPACE}{style.number(values[0])}" if symbol else self.name(name))
        runs = span(rows.groupby(["learner", "variant"])["run"].nunique())
        return f"Mean of {runs} runs{how}" + (f" Setting: {', '.join(parts)}." if parts else "")


class Panel:
    """Axes of a plate; whatever is drawn through it is kept as data too."""

    def __init__(self, plate: Plate, number: int):
        self.plate, self.number = plate, number
        self.axis: Axes = plate.figure.add_subplot(plate.down, plate.across, number)
        self.entries: dict[str, Line2D] = {}

    @property
    def title(self) -> str:
        """What is above it."""
        return self.axis.get_title(loc="left") or self.axis.get_title()

    def curve(
        self, name: str, drawn: Curve, look: Look, what: str = "mean", band: bool = True, legend: str | None = None
    ) -> None:
        """Means with their half widths as a band (or bars); hollow cells have open markers."""
        axis, x, y, reach = self.axis, drawn.values, drawn.means, drawn.reach
        line: Style = {"color": look.colour, "linestyle": look.dash, "marker": look.marker}
        logarithmic = axis.get_yscale() == "log"
        shown = np.isfinite(y) & ((y > 0) | (not logarithmic))
        hollow = np.zeros(len(x), dtype=bool) if drawn.hollow is None else drawn.hollow
        axis.plot(x[shown], y[shown], **line)
        ends: tuple[Values, Values] = ((), ())
        if reach is not None:
            below, above = np.broadcast_to(reach, (2, len(y)))
            low, high = ends = np.maximum(y - below, 0.05 * np.abs(y)) if logarithmic else y - below, y + above
            if band:
                axis.fill_between(x[shown], low[shown], high[shown], color=look.colour, alpha=0.18, linewidth=0)
            else:
                axis.vlines(x[shown], low[shown], high[shown], color=look.colour, linewidth=0.8)
        open_ones: Style = {"linestyle": "none", "markerfacecolor": "white", "zorder": 3}
        axis.plot(x[shown & hollow], y[shown & hollow], **{**line, **open_ones})
        label = name if legend is None else legend
        if label:
            self.key(label, **line)
        self.keep(name, x, y, *ends, what)
        if hollow.any():
            self.keep(name, x[hollow], y[hollow], what=f"{what}, not fitted (hollow)")

    def line(
        self, name: str, x: Values, y: Values, what: str, text: str = "", key: str = "", up: str = "bottom", **look: Any
    ) -> None:
        """A law or a bound without markers; `text` is written at its lower end, `up` as in text.

        key: in the legend.
        """
        look = {"color": INK, "linestyle": style.DASHED, "linewidth": 0.8, **look}
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        self.axis.plot(x, y, **look)
        if text:
            end = -1 if y[-1] < y[0] else 0
            self.text((float(x[end]), float(y[end])), text, "right" if end else "left", up)
        if key:
            self.key(key, **look)
        self.keep(name, x, y, what=what)

    def text(self, at: tuple[float, float], text: str, across: str, up: str, **options: Any) -> None:
        """A few letters beside a line, on a white ground; across, up: which side of the text is at the point."""
        ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}
        small: Style = {"fontsize": SMALL, "color": INK, "zorder": 6, "bbox": ground}
        self.axis.annotate(text, at, ha=across, va=up, **small, **options)

    def key(self, label: str, **look: Any) -> None:
        """An entry of the legend."""
        self.entries[label] = self.plate.entries.setdefault(label, Line2D([], [], **look))

    def keep(self, name: str, x: Iterable[Any], y: Values, low: Values = (), high: Values = (), what: str = "") -> None:
        """Numbers that are drawn, for the data file."""
        for row in zip_longest(x, y, low, high, fillvalue=np.nan):
            self.plate.rows.append((self.number, name, *row, what))


class Plate:
    """`count` panels in reading order, `height` inches each, and the data of all in the order in which they were drawn.

    One panel alone is for one column of a paper unless `wide`. finding: what the data show, in a sentence (may be
    empty). setting: where, in small print.
    """

    def __init__(self, count: int, across: int = 3, height: float = 1.75, wide: bool = False):
        self.width = style.TWO_COLUMNS if wide or count > 1 else style.ONE_COLUMN
        self.figure = Figure(figsize=(self.width, height), layout="constrained")
        FigureCanvasAgg(self.figure)
        self.height, self.across = height, min(across, count)
        self.down = -(-count // self.across)
        self.finding, self.setting = "", ""
        self.rows: list[tuple[object, ...]] = []
        self.entries: dict[str, Line2D] = {}
        self.panels = [Panel(self, number) for number in range(1, count + 1)]

    def key(self, label: str, **look: Any) -> None:
        """An entry of the legend that belongs to all panels."""
        for panel in self.panels:
            panel.key(label, **look)

    def same_heights(self, panels: Sequence[Panel]) -> None:
        """Give some panels the same limits, so that they can be compared."""
        limits = np.array([panel.axis.get_ylim() for panel in panels])
        for panel in panels:
            panel.axis.set_ylim(limits[:, 0].min(), limits[:, 1].max())

    def data(self) -> pd.DataFrame:
        """Everything that is drawn, a row a number: `COLUMNS`; panel is its number and its title."""
        table = pd.DataFrame(self.rows, columns=list(COLUMNS))
        titles = {panel.number: f"{panel.number} {_bare(panel.title)}".strip() for panel in self.panels}
        return table.assign(panel=table["panel"].map(titles), series=table["series"].map(_bare))

    def lay_out(self) -> None:
        """The finding above the panels, legend and setting below them; the panels keep their height."""
        figure, letters = self.figure, 23 * self.width
        self.finding = self.finding[:1].upper() + self.finding[1:]
        title, foot = _filled(self.finding, 0.75 * letters), _filled(self.setting, letters)
        looks = {(line.get_color(), line.get_marker(), str(line.get_linestyle())) for line in self.entries.values()}
        apart = not len(looks) == len(self.entries) <= FULL
        longest = max((len(_bare(label)) for label in self.entries), default=0)
        columns = max(1, min(4, len(self.entries), int(0.9 * letters / (longest + 12))))
        rows = 0 if apart else -(-len(self.entries) // columns)
        for panel in self.panels:
            if panel.axis.get_yscale() == "log":
                style.readable_log(panel.axis)
            panel.axis.set_visible(panel.axis.has_data())
            if apart and panel.entries:
                below: Style = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.27), "borderpad": 0.5}
                panel.axis.legend(panel.entries.values(), panel.entries, **below)
        if apart:
            longer = [len(panel.entries) for panel in self.panels]
            rows += 1 + sum(max(longer[start : start + self.across]) for start in range(0, len(longer), self.across))
        lines = rows + 1.2 * (title.count("\n") + 1) + foot.count("\n") + 2
        figure.set_size_inches(self.width, self.down * self.height + LINE * lines)
        figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE_SIZE, weight="bold")
        entries, pad = ({}, 0.5) if apart else (self.entries, None)
        small: Style = {"title": foot, "title_fontsize": SMALL, "borderpad": pad}
        legend = figure.legend(entries.values(), entries, loc="outside lower center", ncols=columns, **small)
        legend.get_title().set(color=(0.3, 0.3, 0.3), linespacing=1.0)
        engine: Any = figure.get_layout_engine()
        engine.execute(figure)
        figure.set_layout_engine("none")  # else every file lays it out once more
        for axis in figure.axes:  # the solver's last bits depend on memory addresses, and names within an SVG on them
            axis.set_position(tuple(round(edge, 9) for edge in axis.get_position(original=True).bounds))

    def save(self, stem: Path, forms: Sequence[str] = ("pdf", "png", "svg"), data: str = "") -> list[Path]:
        """Write the figure, and where a PNG is requested its data as `stem`.csv, or `data`.csv; return the paths."""
        self.lay_out()
        about = _bare(". ".join(text.rstrip(".") for text in (self.finding, self.setting) if text))
        paths = style.save(self.figure, stem, forms, about)
        if "png" in forms:
            table = stem.with_name(f"{data or stem.name}.csv")
            formats.write_csv(self.data(), table)
            paths.append(table)
        return paths


def _bare(text: str) -> str:
    """Words without the signs of mathematics."""
    return re.sub(r"[$\\{}]", "", text)


def _filled(text: str, letters: float) -> str:
    """Lines of about so many letters; mathematics is not torn apart."""
    whole = re.sub(r"\$[^$]*\$", lambda formula: formula[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    lines = textwrap.fill(whole, int(letters), break_long_words=False, break_on_hyphens=False)
    return lines.replace("\N{NO-BREAK SPACE}", " ")

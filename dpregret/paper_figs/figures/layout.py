"""A figure with its panels, its words and the data behind it; finished, it has the width of a column of a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.style import INK, SMALL, Colour, Look, Looks, run_count, setting, tidy
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
LABELS: Final = 27
"""Points below a panel for the numbers and the label of its axis."""
MARGIN: Final = 0.06
GAP: Final = 0.07
BAND: Final[Style] = {"err_style": "band", "err_kws": {"alpha": 0.18, "linewidth": 0}}
BARS: Final[Style] = {"err_style": "bars", "err_kws": {"elinewidth": 0.8}}
LEADING: Final = 1.3
"""Line height over size of the letters, with formulas in the line."""


class Curve(NamedTuple):
    """Values of a variable, means, half widths of their 95 % intervals, and which cells are hollow, (cells,) each."""

    values: Array
    means: Array
    reach: Array | None = None
    hollow: Mask | None = None

    def scaled(self, power: float) -> Curve:
        """Means divided by a power of the values."""
        factor = self.values**power
        return self._replace(means=self.means / factor, reach=None if self.reach is None else self.reach / factor)


@dataclass(frozen=True)
class Page:
    """The settings of all figures: names of identifiers, and looks of algorithms."""

    names: Mapping[str, str] = field(default_factory=dict)
    looks: Looks = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "looks", Looks(self.names))

    def name(self, key: str) -> str:
        """The displayed name of an identifier, or the identifier without its hyphens."""
        return tidy(self.names.get(key, key.rpartition(":")[2].replace("-", " ").replace(".", ", ")))

    def spoken(self, key: str) -> str:
        """The name inside a sentence: what follows a comma is in brackets."""
        name, comma, variant = self.name(key).partition(", ")
        return f"{name} ({variant})" if comma and "(" not in name else f"{name}{comma}{variant}"

    def setting(self, rows: pd.DataFrame, how: str, but: Iterable[str] = ()) -> str:
        """Small print: how many runs, `how` they are drawn, and the setting that all share, without parameters in
        `but`."""
        return f"{run_count(rows)}{how} {setting(rows, self.names, but)}"

    def plate(self, count: int, across: int = 3, height: float = 1.75, wide: bool = False) -> Plate:
        """A figure of `count` panels, at most `across` beside each other; one alone is for one column unless `wide`."""
        if count == 1 and not wide:
            return Plate(1, 1, style.ONE_COLUMN, min(height, 1.55))
        return Plate(count, min(across, count), style.TWO_COLUMNS, height)


class Panel:
    """Axes of a plate; whatever is drawn through it is kept as data too."""

    def __init__(self, plate: Plate, number: int):
        self.plate, self.number = plate, number
        self.axis: Axes = plate.figure.add_subplot(plate.down, plate.across, number)
        self.entries: dict[str, Any] = {}
        self._seen: dict[tuple[Colour, str], str] = {}

    @property
    def title(self) -> str:
        """What is above it."""
        return self.axis.get_title(loc="left") or self.axis.get_title()

    def curve(
        self, name: str, drawn: Curve, look: Look, what: str = "mean", band: bool = True, legend: str | None = None
    ) -> None:
        """Means with their half widths as a band (or bars); hollow cells have open markers.

        Raises ValueError where another curve of the panel looks the same.
        """
        other = self._seen.setdefault((look.colour, look.marker), name)
        if other != name:
            raise ValueError(f"{name!r} looks like {other!r}")
        axis, x, y, reach = self.axis, drawn.values, drawn.means, drawn.reach
        logarithmic = axis.get_yscale() == "log"
        shown = np.isfinite(y) & ((y > 0) | (not logarithmic))
        hollow = np.zeros(len(x), dtype=bool) if drawn.hollow is None else drawn.hollow
        low, high = (y, y) if reach is None else (y - reach, y + reach)
        if logarithmic:
            low = np.maximum(low, 0.05 * np.abs(y))
        ends = np.stack([y] if reach is None else [low, y, high])[:, shown]
        line: Style = {"color": look.colour, "linestyle": look.dash}
        if ends.size:  # each value thrice: the median is the mean, and [low, high] all there is
            points: Style = {"x": np.tile(x[shown], len(ends)), "y": ends.ravel(), "ax": axis}
            spread = BAND if band else BARS
            seaborn.lineplot(**points, estimator="median", errorbar=("pi", 100), legend=False, **spread, **line)
        marks: Style = {"marker": look.marker, "color": look.colour, "markersize": look.size}
        for mask, face in ((shown & ~hollow, look.colour), (shown & hollow, (1.0, 1.0, 1.0))):
            if mask.any():
                axis.plot(x[mask], y[mask], linestyle="none", markerfacecolor=face, zorder=3, **marks)
        label = name if legend is None else legend
        if label:
            self.key(label, marker=look.marker, **line)
        if reach is None:
            self.keep(name, x, y, what=what)
        else:
            self.keep(name, x, y, low, high, what)
        if hollow.any():
            self.keep(name, x[hollow], y[hollow], what=f"{what}, not fitted (hollow)")

    def line(
        self,
        name: str,
        x: Values,
        y: Values,
        what: str,
        text: str = "",
        below: bool = False,
        key: str = "",
        **look: Any,
    ) -> None:
        """A law or a bound without markers; `text` is written above its lower end, or `below`. key: in the legend."""
        look = {"color": INK, "linestyle": style.DASHED, "linewidth": 0.8, **look}
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        self.axis.plot(x, y, **look)
        if text:
            end = -1 if below or y[-1] < y[0] else 0
            self.text((float(x[end]), float(y[end])), text, "right" if end else "left", "top" if below else "bottom")
        if key:
            self.key(key, **look)
        self.keep(name, x, y, what=what)

    def text(self, at: tuple[float, float], text: str, across: str, up: str) -> None:
        """A few letters beside a line, on a white ground; across, up: which side of the text is at the point."""
        offset = (-1 if across == "right" else 1, 2 if up == "bottom" else -2)
        ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}
        small: Style = {"fontsize": SMALL, "color": INK, "zorder": 6, "bbox": ground}
        self.axis.annotate(text, at, xytext=offset, textcoords="offset points", ha=across, va=up, **small)

    def beside(self, labels: Sequence[tuple[float, str, Colour]]) -> None:
        """Texts right of a panel at heights of its axis, moved apart where they would overlap; call when all is drawn.

        labels: (y, text, colour).
        """
        if not labels:
            return
        lines = max(text.count("\n") + 1 for _, text, _ in labels)
        steps = 1.25 * SMALL * lines / 72 / (0.72 * self.plate.height) * np.arange(len(labels))
        ends = self.axis.transData.transform([(1.0, y) for y, _, _ in labels])
        heights = self.axis.transAxes.inverted().transform(ends)[:, 1]
        order = np.argsort(heights, kind="stable")
        above = np.maximum.accumulate(heights[order] - steps)
        above[-1] = min(above[-1], 1.0 - steps[-1])  # back below the top, as far as there is room
        heights = np.minimum.accumulate(above[::-1])[::-1] + steps
        placed: Style = {"xycoords": "axes fraction", "xytext": (2, 0), "textcoords": "offset points"}
        for height, (_, text, colour) in zip(heights, (labels[index] for index in order), strict=True):
            written: Style = {"fontsize": SMALL, "color": style.shaded(colour, -0.3), "linespacing": 1.0}
            self.axis.annotate(text, (1.0, height), va="center", **placed, **written)

    def key(self, label: str, **look: Any) -> None:
        """An entry of the legend."""
        self.entries[label] = self.plate.entries.setdefault(label, Line2D([], [], **look))

    def keep(self, name: str, x: Iterable[Any], y: Values, low: Values = (), high: Values = (), what: str = "") -> None:
        """Numbers that are drawn, for the data file."""
        for row in zip_longest(x, y, low, high, fillvalue=np.nan):
            self.plate.rows.append((self.number, name, *row, what))


class Plate:
    """Panels in reading order, and the data of all in the order in which they were drawn.

    finding: what the data show, in a sentence (may be empty). setting: where, in small print.
    """

    def __init__(self, count: int, across: int, width: float, height: float):
        self.figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(self.figure)
        self.width, self.height, self.across, self.down = width, height, across, -(-count // across)
        self.finding, self.setting = "", ""
        self.rows: list[tuple[object, ...]] = []
        self.entries: dict[str, Any] = {}
        self.panels = [Panel(self, number) for number in range(1, count + 1)]
        self._finished = False

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

    @property
    def told(self) -> str:
        """The finding as a sentence begins."""
        return self.finding[:1].upper() + self.finding[1:]

    def finish(self) -> Figure:
        """Lay out panels, then legend and setting below them and the finding above; the panels keep their height."""
        if self._finished:
            return self.figure
        figure, inner = self.figure, self.width - 2 * MARGIN
        title, foot = _wrapped(self.told, inner, TITLE_SIZE, figure), _wrapped(self.setting, inner, SMALL, figure)
        above = _height(title, TITLE_SIZE) + (GAP if title else 0.02)
        legend, tall = self._place_legend()
        below = _height(foot, SMALL) + tall + MARGIN + (GAP if foot else 0.0)
        whole = above + below + self.down * self.height + self._legends_below()
        figure.set_size_inches(self.width, whole)
        engine: Any = figure.get_layout_engine()
        engine.set(rect=(0.0, below / whole, 1.0, 1 - (above + below) / whole), w_pad=0.03, h_pad=0.03)
        left, end = MARGIN / self.width, MARGIN / whole
        figure.text(left, 1 - end, title, fontsize=TITLE_SIZE, va="top", weight="bold", linespacing=1.0)
        figure.text(left, end, foot, fontsize=SMALL, va="bottom", color=(0.3, 0.3, 0.3), linespacing=1.0)
        if legend is not None:
            legend.set_bbox_to_anchor((0.5, (below - 0.02) / whole), transform=figure.transFigure)
        engine.execute(figure)
        figure.set_layout_engine(None)  # else every file lays it out once more
        for axis in figure.axes:  # the solver's last bits depend on memory addresses, and names within an SVG on them
            axis.set_position(tuple(round(each, 9) for each in axis.get_position(original=True).bounds))
        self._finished = True
        return figure

    def _place_legend(self) -> tuple[Any, float]:
        """The legend in as many columns as fit the width, and its height in inches."""
        if not self.entries or len(self.entries) > FULL:
            return None, 0.0
        columns = min(4 if self.width > style.ONE_COLUMN else 2, len(self.entries))
        while True:
            legend = self.figure.legend(
                self.entries.values(), self.entries, loc="upper center", ncols=columns, bbox_to_anchor=(0.5, 0.5)
            )
            legend.set_in_layout(False)
            box = legend.get_window_extent()
            if columns == 1 or box.width <= (self.width - MARGIN) * self.figure.dpi:
                return legend, box.height / self.figure.dpi + 0.03
            legend.remove()
            columns -= 1

    def _legends_below(self) -> float:
        """Legends of the panels, where one legend would be too long; the inches that their rows need."""
        if len(self.entries) <= FULL:
            return 0.0
        tall = [0.0] * self.down
        for index, panel in enumerate(self.panels):
            beneath = panel.axis.transAxes + ScaledTranslation(0, -LABELS / 72, self.figure.dpi_scale_trans)
            below: Style = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": beneath}
            legend = panel.axis.legend(panel.entries.values(), panel.entries, **below)
            row, height = index // self.across, legend.get_window_extent().height / self.figure.dpi
            tall[row] = max(tall[row], height)
        return sum(tall)

    def about(self) -> str:
        """Finding and setting in words, for readers who cannot see the figure."""
        return _bare(". ".join(text.rstrip(".") for text in (self.told, self.setting) if text))

    def save(self, stem: Path, forms: Sequence[str] = ("pdf", "png", "svg"), data: str = "") -> list[Path]:
        """Write the figure, and where a PNG is requested its data as `stem`.csv, or `data`.csv; return the paths."""
        with style.look():
            paths = style.save(self.finish(), stem, forms, self.about())
        if "png" in forms:
            table = stem.with_name(f"{data or stem.name}.csv")
            formats.write_csv(self.data(), table)
            paths.append(table)
        return paths


def _bare(text: str) -> str:
    """Words without the signs of mathematics."""
    return re.sub(r"[$\\{}]", "", text)


def _height(text: str, size: float) -> float:
    """Inches of some lines."""
    return (text.count("\n") + 1) * size * LEADING / 72 if text else 0.0


def _wrapped(text: str, width: float, size: float, figure: Figure) -> str:
    """Lines of at most `width` inches; mathematics is not torn apart."""
    renderer: Any = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    font = FontProperties(size=size, weight="bold" if size == TITLE_SIZE else "normal")
    lines, used = [""], 0.0
    for word in re.findall(r"(?:\$[^$]*\$|\\\$|[^\s$])+", text):
        wide = renderer.get_text_width_height_descent(f"{word} ", font, "$" in word)[0] / figure.dpi
        if lines[-1] and used + wide > width:
            lines.append("")
            used = 0.0
        lines[-1] += f"{word} "
        used += wide + 0.25 * size / 72
    return "\n".join(line.rstrip() for line in lines)

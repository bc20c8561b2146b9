"""A figure with its panels, its words and the data behind it; finished, it has the width of a column of a paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

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
from dpregret.paper_figs.figures.markers import Look, Looks
from dpregret.paper_figs.figures.style import INK, SMALL, Colour
from dpregret.paper_figs.figures.symbols import tidy
from dpregret.paper_figs.text import formats

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
LEADING: Final = 1.3
"""Line height over size of the letters, with formulas in the line."""


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

    def plate(self, count: int, across: int = 3, height: float = 1.75, wide: bool = False) -> Plate:
        """A figure of `count` panels, at most `across` beside each other; one alone is for one column unless `wide`."""
        narrow = count == 1 and not wide
        height = min(height, 1.55) if narrow else height
        across = 1 if narrow else min(across, count)
        return Plate(count, across, style.ONE_COLUMN if narrow else style.TWO_COLUMNS, height)


class Plate:
    """Panels in reading order; whatever is drawn through it is kept as data too.

    finding: what the data show, in a sentence (may be empty). setting: where, in small print.
    """

    def __init__(self, count: int, across: int, width: float, height: float):
        self.figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(self.figure)
        self.width, self.height, self.down = width, height, -(-count // across)
        self.axes: list[Axes] = [self.figure.add_subplot(self.down, across, index + 1) for index in range(count)]
        self.finding, self.setting = "", ""
        self._rows: list[tuple[object, ...]] = []
        self._legend: dict[str, Any] = {}
        self._entries: list[dict[str, Any]] = [{} for _ in range(count)]
        self._seen: dict[tuple[int, Colour, str], str] = {}
        self._finished = False

    def curve(
        self, place: int, name: str, x: Values, y: Array, look: Look,
        reach: Array | None = None, *, what: str = "mean", hollow: Mask | None = None, band: bool = True,
        joined: bool = True, legend: str | None = None, size: float | None = None,
    ) -> None:  # fmt: skip
        """Means with their half widths as a band (or bars); cells in the mask `hollow` have open markers.

        Raises ValueError where another curve of the panel looks the same.
        """
        other = self._seen.setdefault((place, look.colour, look.marker), name)
        if other != name:
            raise ValueError(f"{name!r} looks like {other!r}")
        axis, x, y = self.axes[place], np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        style_of: dict[str, Any] = {"color": look.colour, "linestyle": look.dash if joined else "none"}
        shown = np.isfinite(y) & ((y > 0) | (axis.get_yscale() != "log"))
        open_cells = np.zeros(len(x), dtype=bool) if hollow is None else np.asarray(hollow, dtype=bool)
        low, high = (y, y) if reach is None else (y - reach, y + reach)
        if axis.get_yscale() == "log":
            low = np.maximum(low, 0.05 * np.abs(y))
        ends = np.stack([y] if reach is None else [low, y, high])[:, shown]
        if ends.size:  # each value thrice: the median is the mean, and [low, high] all there is
            seaborn.lineplot(
                x=np.tile(x[shown], len(ends)), y=ends.ravel(), ax=axis, estimator="median", errorbar=("pi", 100),
                err_style="band" if band else "bars", legend=False, **style_of,
                err_kws={"alpha": 0.18, "linewidth": 0} if band else {"elinewidth": 0.8},
            )  # fmt: skip
        marks: dict[str, Any] = {"linestyle": "none", "marker": look.marker, "color": look.colour, "markersize": size}
        for mask, face in ((shown & ~open_cells, look.colour), (shown & open_cells, (1.0, 1.0, 1.0))):
            if mask.any():
                axis.plot(x[mask], y[mask], markerfacecolor=face, zorder=3, **marks)
        label = name if legend is None else legend
        if label:
            self._explain(place, label, marker=look.marker, **style_of)
        self.keep(place, name, x, y, None if reach is None else low, None if reach is None else high, what)
        if open_cells.any():
            self.keep(place, name, x[open_cells], y[open_cells], what=f"{what}, not fitted (hollow)")

    def line(
        self, place: int, name: str, x: Values, y: Values, *, what: str,
        colour: Colour = INK, dash: Any = style.DASHED, text: str = "", below: bool = False, legend: str = "",
        width: float = 0.8,
    ) -> None:  # fmt: skip
        """A law or a bound without markers; `text` is written above its lower end, or `below`."""
        axis, x, y = self.axes[place], np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        axis.plot(x, y, color=colour, linestyle=dash, linewidth=width)
        if text:
            end = -1 if below or y[-1] < y[0] else 0
            side = "right" if end else "left"
            self.text(place, (float(x[end]), float(y[end])), text, side, "top" if below else "bottom")
        if legend:
            self._explain(place, legend, color=colour, linestyle=dash, linewidth=width)
        self.keep(place, name, x, y, what=what)

    def text(self, place: int, at: tuple[float, float], text: str, across: str = "right", up: str = "bottom") -> None:
        """A few letters beside a line, on a white ground; across, up: which side of the text is at the point."""
        self.axes[place].annotate(
            text, at, xytext=(-1 if across == "right" else 1, 2 if up == "bottom" else -2), textcoords="offset points",
            fontsize=SMALL, ha=across, va=up, color=INK, zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3},
        )  # fmt: skip

    def beside(self, place: int, labels: Sequence[tuple[float, str, Colour]]) -> None:
        """Texts right of a panel at heights of its axis, moved apart where they would overlap; call when all is drawn.

        labels: (y, text, colour).
        """
        axis = self.axes[place]
        lines = max((text.count("\n") + 1 for _, text, _ in labels), default=1)
        step = 1.25 * SMALL * lines / 72 / (0.72 * self.height)
        spots = sorted(
            ((float(axis.transAxes.inverted().transform(axis.transData.transform((1.0, y)))[1]), text, colour)
             for y, text, colour in labels), key=lambda spot: spot[0],
        )  # fmt: skip
        heights: list[float] = []
        for height, _, _ in spots:
            heights.append(max(height, heights[-1] + step) if heights else height)
        over = max(0.0, heights[-1] - 1.0) if heights else 0.0
        for number in range(len(heights) - 1, -1, -1):  # back below the top, as far as there is room
            most = heights[number + 1] - step if number + 1 < len(heights) else heights[number] - over
            heights[number] = min(heights[number], most)
        for height, (_, text, colour) in zip(heights, spots, strict=True):
            axis.annotate(text, (1.0, height), xycoords="axes fraction", xytext=(2, 0), textcoords="offset points",
                          fontsize=SMALL, va="center", color=shaded_text(colour), linespacing=1.0)  # fmt: skip

    def key(self, label: str, place: int | None = None, **look: Any) -> None:
        """An entry of the legend that belongs to no single curve, for one panel or for all."""
        for each in range(len(self.axes)) if place is None else (place,):
            self._explain(each, label, **look)

    def _explain(self, place: int, label: str, **look: Any) -> None:
        """An entry of the legend for a panel."""
        self._entries[place][label] = self._legend.setdefault(label, Line2D([], [], **look))

    def keep(
        self, place: int, name: str, x: Sequence[Any] | Array, y: Values,
        low: Values | None = None, high: Values | None = None, what: str = "mean",
    ) -> None:  # fmt: skip
        """Numbers that are drawn, for the data file."""
        panel = place + 1
        blank = [np.nan] * len(x)
        for row in zip(x, y, blank if low is None else low, blank if high is None else high, strict=True):
            self._rows.append((panel, name, *row, what))

    def title(self, place: int) -> str:
        """The title of a panel."""
        return self.axes[place].get_title(loc="left") or self.axes[place].get_title()

    def data(self) -> pd.DataFrame:
        """Everything that is drawn, a row a number: `COLUMNS`; panel is its number or its title."""
        titles = [re.sub(r"[$\\{}]", "", self.title(index)) for index in range(len(self.axes))]
        table = pd.DataFrame(self._rows, columns=list(COLUMNS))
        table["panel"] = [f"{panel} {titles[panel - 1]}".strip() for panel in table["panel"]]
        return table.assign(series=table["series"].str.replace(r"[$\\{}]", "", regex=True))

    def finish(self) -> Figure:
        """Lay out panels, then legend and setting below them and the finding above; the panels keep their height."""
        if self._finished:
            return self.figure
        figure, inner = self.figure, self.width - 2 * MARGIN
        title = _wrapped(self.finding[:1].upper() + self.finding[1:], inner, TITLE_SIZE, figure)
        foot = _wrapped(self.setting, inner, SMALL, figure)
        above = _height(title, TITLE_SIZE) + (GAP if title else 0.02)
        legend, tall = self._place_legend()
        below = _height(foot, SMALL) + tall + MARGIN + (GAP if foot else 0.0)
        whole = above + below + self.down * self.height + self._legends_below()
        figure.set_size_inches(self.width, whole)
        engine: Any = figure.get_layout_engine()
        engine.set(rect=(0.0, below / whole, 1.0, 1 - (above + below) / whole), w_pad=0.03, h_pad=0.03)
        figure.text(MARGIN / self.width, 1 - MARGIN / whole, title, fontsize=TITLE_SIZE, va="top", weight="bold",
                    linespacing=1.0)  # fmt: skip
        figure.text(MARGIN / self.width, MARGIN / whole, foot, fontsize=SMALL, va="bottom", color=(0.3, 0.3, 0.3),
                    linespacing=1.0)  # fmt: skip
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
        if not self._legend or len(self._legend) > FULL:
            return None, 0.0
        most = 4 if self.width > style.ONE_COLUMN else 2
        labels = list(self._legend)
        for columns in range(min(most, len(labels)), 0, -1):
            legend = self.figure.legend(
                list(self._legend.values()), labels, loc="upper center", ncols=columns, bbox_to_anchor=(0.5, 0.5)
            )
            legend.set_in_layout(False)
            box = legend.get_window_extent()
            if columns == 1 or box.width <= (self.width - MARGIN) * self.figure.dpi:
                return legend, box.height / self.figure.dpi + 0.03
            legend.remove()
        return None, 0.0

    def _legends_below(self) -> float:
        """Legends of the panels, where one legend would be too long; the inches that their rows need."""
        if len(self._legend) <= FULL:
            return 0.0
        tall = [0.0] * self.down
        across = -(-len(self.axes) // self.down)
        for place, (axis, entries) in enumerate(zip(self.axes, self._entries, strict=True)):
            beneath = ScaledTranslation(0, -LABELS / 72, self.figure.dpi_scale_trans)
            legend = axis.legend(
                list(entries.values()), list(entries), loc="upper center", bbox_to_anchor=(0.5, 0.0),
                bbox_transform=axis.transAxes + beneath,
            )  # fmt: skip
            height = legend.get_window_extent().height / self.figure.dpi
            tall[place // across] = max(tall[place // across], height)
        return sum(tall)

    def about(self) -> str:
        """Finding and setting in words, for readers who cannot see the figure."""
        said = [text for text in (self.finding[:1].upper() + self.finding[1:], self.setting) if text]
        return re.sub(r"[$\\{}]", "", ". ".join(text.rstrip(".") for text in said))

    def save(self, stem: Path, forms: Sequence[str] = ("pdf", "png", "svg"), data: str = "") -> list[Path]:
        """Write the figure, and where a PNG is requested its data as `stem`.csv, or `data`.csv; return the paths."""
        with style.look():
            paths = style.save(self.finish(), stem, forms, self.about())
        if "png" in forms:
            table = stem.with_name(f"{data or stem.name}.csv")
            formats.write_csv(self.data(), table)
            paths.append(table)
        return paths


def shaded_text(colour: Colour) -> Colour:
    """A colour dark enough to be read."""
    return style.shaded(colour, -0.3)


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

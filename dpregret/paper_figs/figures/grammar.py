"""The grammar of all figures: series, panels, axes, curves with bands, laws, one legend, a title and a caption.

A type of figures is a function below `figure_type`, which names it and the keys that an entry of a claims file may
have; it says what stands in each panel, and `PanelFigure` lays it out. `draw` is the form that most types share: a
curve for every learner, a panel for every group of rows, guides behind them. Everything drawn is recorded as data.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.style import CurveStyle, CurveStyles
from dpregret.paper_figs.judge.cells import LENGTHS, NotRun
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN, Parameter
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formula import GREEK

if TYPE_CHECKING:
    from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry

Style = dict[str, Any]
"""Arguments of matplotlib."""
Values = Sequence[float] | Array | pd.Index | pd.Series
Mask = np.ndarray[Any, np.dtype[np.bool_]]
FORMS: Final = ("pdf", "png", "svg")
"""File formats of a figure."""
COLUMNS: Final = ("panel", "series", "x", "y", "low", "high", "what")
FULL: Final = 8
"""Most entries of the legend; with more curves, each has its name at its end."""
INNER: Final = 0.75
"""A line that ends before this share of its panel has its text at its end, and no other line to the column of texts."""
LINE: Final = 0.135
"""Height of a line of the legend, the caption or a label, inches."""
CAPTION, HEADING = 152, 108
"""Most characters of a line of the caption and of the title."""
SIGNS: Final = {
    "ell": "ℓ",
    "epsilon": "ε",
    "infty": "∞",
    "approx": "≈",
    "propto": "∝",
    "times": "×",
    "star": "*",
    "Gamma": "Γ",
    "log": "log",
    "mathrm": "",
}
"""Commands of formulas -> what they show; names of functions stay."""
CARD: Final = (400, 160)
"""Width of a card in pixels, and its pixels an inch."""


@dataclass(frozen=True)
class Source:
    """What a type draws from: the rows of the paper, its claims, the figure's entry; `file` holds a table, where the
    type draws one: oracle costs (Parquet) or exact numbers (CSV)."""

    theme: Theme
    runs: pd.DataFrame
    claims: ClaimsFile
    entry: FigureEntry
    file: Path | None = None

    @property
    def rows(self) -> pd.DataFrame:
        """The finished rows of the experiment; raises NotRun."""
        rows = self.runs.loc[(self.runs["experiment"] == self.entry.experiment) & (self.runs["status"] == "ok")]
        if rows.empty:
            raise NotRun(f"no rows of {self.entry.experiment}")
        return rows

    @property
    def ends(self) -> pd.DataFrame:
        """Those of the last round (or record) of each run; earlier ones, of learners that do not receive T, are of
        shorter runs."""
        rows = self.rows
        last: pd.DataFrame = rows.loc[rows["checkpoint"] == rows["horizon"]]
        return last

    @property
    def shown(self) -> pd.DataFrame:
        """The finished rows that belong into a figure against the parameter: `ends`, unless it is T or n itself."""
        return self.rows if VALUE_COLUMN[self.parameter] == "checkpoint" else self.ends

    @property
    def parameter(self) -> Parameter:
        """What is swept; the horizon where the entry says nothing."""
        return self.entry.parameter or "horizon"

    @property
    def table(self) -> Path:
        """The file; raises NotRun where there is none."""
        if self.file is None or not self.file.is_file():
            raise NotRun(f"no table for a figure of type {self.entry.type}")
        return self.file


Drawer = Callable[[Source], "PanelFigure"]
TYPES: Final[dict[str, Drawer]] = {}
"""Name of a type of figures -> its function."""


def figure_type(name: str, keys: str) -> Callable[[Drawer], Drawer]:
    """Register a type of figures where it is drawn.

    keys: of an entry of a claims file besides type and title; `experiment` and `parameter` are required where they
    stand here, the others are not. The claims file reads these two words from the source (`judge/claims.py`).
    """

    def register(drawer: Drawer) -> Drawer:
        TYPES[name] = drawer
        return drawer

    return register


class Curve(NamedTuple):
    """Values of a variable, means, half widths of their 95 % intervals, and which cells are hollow, (cells,) each.

    Intervals that are not symmetric have half widths (2, cells), below and above.
    """

    values: Array
    means: Array
    widths: Array | None = None
    hollow: Mask | None = None

    def scaled(self, power: float) -> Curve:
        """Means divided by a power of the values."""
        factor = self.values**power
        return self._replace(means=self.means / factor, widths=None if self.widths is None else self.widths / factor)


class Theme:
    """Names of identifiers, and the curve styles of one figure."""

    def __init__(self, names: Mapping[str, str] | None = None):
        self.names = names or {}
        self.styles = CurveStyles(self.names)

    def name(self, key: str) -> str:
        """The displayed name of an identifier, or the identifier without its hyphens."""
        return style.tidy(self.names.get(key, key.rpartition(":")[2].replace("-", " ").replace(".", ", ")))

    def setting(self, rows: pd.DataFrame, how: str, without: Iterable[str] = ()) -> str:
        """For the caption: the number of runs, `how` they are drawn, and the set, losses, sizes and budget that all
        share.

        without: parameters (or columns) that are left out, since the figure shows them.
        """
        shown_columns = {"horizon" if name in LENGTHS else VALUE_COLUMN.get(name, name) for name in without}
        excess = "iterations" in rows and rows["iterations"].notna().any()
        symbols = {
            "stream": "",
            "set": "",
            "dimension": "p" if excess else "d",
            "horizon": "n" if excess else "T",
            "window": "W",
            "epsilon": r"\varepsilon",
            "delta": r"\delta",
            "strong_convexity": r"\mu",
        }
        private = rows.loc[np.isfinite(rows["epsilon"])]
        parts = []
        for column in [column for column in symbols if column in rows and column not in shown_columns]:
            values = (private if column in ("window", "epsilon", "delta") else rows)[column].dropna().unique()
            if len(values) == 1 and values[0] not in ("", 0):
                symbol, name = symbols[column], f"{column}:{values[0]}"
                parts.append(
                    f"${symbol} =$\N{NO-BREAK SPACE}{style.latex_number(values[0])}" if symbol else self.name(name)
                )
        runs = style.span(rows.groupby(["learner", "variant"])["run"].nunique())
        return f"Mean of {runs} runs{how}" + (f" Setting: {', '.join(parts)}." if parts else "")


class Label(NamedTuple):
    """Text at the end of a line: of a curve its name and a note (its exponent, say), of a law the law."""

    x: float
    y: float
    name: str
    note: str
    colour: Any
    marker: str = ""

    def text(self, named: bool) -> str:
        """With its name or without; a law has no name."""
        return ": ".join(filter(None, (self.name if named else "", self.note)))


class Panel:
    """One panel of a figure; everything drawn through its methods is recorded in the data of the figure."""

    def __init__(self, figure: PanelFigure, number: int):
        self.figure, self.number = figure, number
        self.axis: Axes = figure.mpl_figure.add_subplot(figure.down, figure.across, number)
        self.labels: list[Label] = []
        self.curves: dict[Any, Curve] = {}
        self.drawn: set[str] = set()
        self.laws: dict[str, Line2D] = {}

    @property
    def title(self) -> str:
        """The title above the panel."""
        return self.axis.get_title(loc="left") or self.axis.get_title()

    def curve(
        self,
        name: str,
        curve: Curve,
        look: CurveStyle,
        what: str = "mean",
        band: bool = True,
        key: str | None = None,
        note: str = "",
    ) -> None:
        """Means with their half widths as a band (or bars); hollow cells have open markers.

        key: the entry of the legend, the name where none is given, "" for none. note: beside the end of the curve.
        """
        axis, x, y, widths = self.axis, curve.values, curve.means, curve.widths
        logarithmic = axis.get_yscale() == "log"
        drawable = np.isfinite(y) & ((y > 0) | (not logarithmic))
        shown = drawable & np.isfinite(x)
        hollow = np.zeros(len(x), dtype=bool) if curve.hollow is None else curve.hollow
        axis.plot(x[shown], y[shown], **look.line)
        ends: tuple[Values, Values] = ((), ())
        if widths is not None:
            below, above = np.broadcast_to(widths, (2, len(y)))
            low, high = ends = np.maximum(y - below, 0.05 * np.abs(y)) if logarithmic else y - below, y + above
            if band:
                axis.fill_between(x[shown], low[shown], high[shown], color=look.colour, alpha=0.18, linewidth=0)
            else:
                axis.vlines(x[shown], low[shown], high[shown], color=look.colour, linewidth=0.8)
        open_markers: Style = {"linestyle": "none", "markerfacecolor": "white", "zorder": 3}
        axis.plot(x[shown & hollow], y[shown & hollow], **look.line | open_markers)
        for level in y[drawable & ~np.isfinite(x)]:  # the same at every budget
            axis.axhline(level, color=look.colour, linestyle=style.DOTTED if shown.any() else look.dash)
            if shown.any():
                self.labels.append(Label(float(x[shown].max()), float(level), "", "without noise", look.colour))
        label = name if key is None else key
        if label and drawable.any():
            self.figure.key(label, own=True, **look.line)
            self.drawn.add(label)
        if (label or note) and shown.any():
            end = np.flatnonzero(shown)[np.argmax(x[shown])]
            at = float(x[end]), float(y[end])
            self.labels.append(Label(*at, label, note, style.shaded(look.colour, -0.3), look.marker))
        self.keep(name, x, y, *ends, what)
        if hollow.any():
            self.keep(name, x[hollow], y[hollow], what=f"{what}, not fitted (hollow)")

    def line(self, name: str, x: Values, y: Values, what: str, text: str = "", key: str = "", **kw: Any) -> None:
        """A law or a bound without markers; `text` stands beside its end.

        key: entry of the legend. kw: arguments of matplotlib.
        """
        kw = {"color": style.INK, "linestyle": style.DASHED, "linewidth": 0.8, **kw}
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        self.axis.plot(x, y, **kw)
        self.laws.setdefault(text or key or what, Line2D([], [], **kw))
        if text:
            end = int(np.argmax(x))
            self.labels.append(Label(float(x[end]), float(y[end]), "", text, style.GUIDE))
        if key:
            self.figure.key(key, **kw)
            self.drawn.add(key)
        self.keep(name, x, y, what=what)

    def keep(self, name: str, x: Iterable[Any], y: Values, low: Values = (), high: Values = (), what: str = "") -> None:
        """Record drawn numbers for the data file."""
        for row in zip_longest(x, y, low, high, fillvalue=np.nan):
            self.figure.rows.append((self.number, name, *row, what))

    def write_labels(self, named: bool, characters: int, height: float) -> None:
        """Texts in a column to the right of the panel, in the order of the ends of their lines and without overlaps.

        height: of the panel, inches.
        """
        bottom, top = self.axis.get_ylim()  # which settles the limits that the transform below has
        to_axes = self.axis.transData + self.axis.transAxes.inverted()
        texts = []
        for label in self.labels:
            text, look = label.text(named), {"fontsize": style.SMALL, "color": label.colour}
            if text and not named and to_axes.transform((label.x, label.y))[0] < INNER:
                offset: Style = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", **look}
                self.axis.annotate(text, (label.x, label.y), **offset)
            elif text:
                texts.append((label, _wrapped(text, characters)))
        if not texts:
            return
        at = np.clip([to_axes.transform((label.x, label.y))[1] for label, _ in texts], -0.05, 1.05)
        order = np.lexsort((-np.arange(len(at)), at))  # of equal ends the one that was drawn first stands above
        sizes = np.array([LINE * 0.83 * (texts[one][1].count("\n") + 1) / height for one in order])
        for place, one in zip(_apart(at[order], sizes), order, strict=True):
            label, text = texts[one]
            arrow: Style = {"arrowstyle": "-", "linewidth": 0.4, "color": label.colour, "shrinkA": 0, "shrinkB": 1}
            arrow["relpos"] = (0.0, 0.5)
            if marked := named and label.marker:  # before a name, as in a legend
                beside: Style = {"transform": self.axis.transAxes, "clip_on": False, "linestyle": "none"}
                self.axis.plot(1.05, place, marker=label.marker, color=label.colour, **beside)
            self.axis.annotate(
                text,
                (label.x, min(max(label.y, bottom), top)),
                (1.08 if marked else 1.04, place),
                textcoords="axes fraction",
                ha="left",
                va="center",
                fontsize=style.SMALL,
                color=label.colour,
                linespacing=0.95,
                arrowprops=arrow,
                annotation_clip=False,
            )


def _apart(heights: Array, sizes: Array) -> Array:
    """Sorted places moved as little as needed so that texts of these sizes do not overlap and stay beside the panel:
    where texts touch, they form a block about the mean of their places."""
    blocks: list[tuple[float, list[float]]] = []  # middle, sizes of its texts

    def within(middle: float, total: float) -> float:
        return min(max(middle, total / 2 - 0.12), 1.02 - total / 2)

    for place, size in zip(heights, sizes, strict=True):
        middle, texts = within(place, size), [float(size)]
        while blocks and blocks[-1][0] + sum(blocks[-1][1]) / 2 > middle - sum(texts) / 2:
            below, others = blocks.pop()
            middle = (sum(others) * below + sum(texts) * middle) / (sum(others) + sum(texts))
            texts = [*others, *texts]
            middle = within(middle, sum(texts))
        blocks.append((middle, texts))
    ends = [middle - sum(texts) / 2 + np.cumsum(texts) - np.array(texts) / 2 for middle, texts in blocks]
    return np.concatenate(ends)


class PanelFigure:
    """`count` panels in reading order, `height` inches each, and their data in the order of drawing.

    title: a sentence that says the finding. finding: what the data of this run show, generated; it is the title where
    none is written, and else stands in the caption. setting: the experiment's setting, for the caption.
    """

    def __init__(self, count: int, across: int = 3, height: float = 1.75):
        self.mpl_figure = Figure(figsize=(style.WIDTH, height), layout="constrained")
        FigureCanvasAgg(self.mpl_figure)
        self.height, self.across = height, min(across, count)
        self.down = -(-count // self.across)
        self.title, self.finding, self.setting = "", "", ""
        self.rows: list[tuple[object, ...]] = []
        self.entries: dict[str, Line2D] = {}
        self.guides: dict[str, Line2D] = {}
        self.panels = [Panel(self, number) for number in range(1, count + 1)]

    def key(self, label: str, own: bool = False, **options: Any) -> None:
        """An entry of the legend. own: of a curve, which may have its name at its end instead."""
        (self.entries if own else self.guides).setdefault(label, Line2D([], [], **options))

    def same_heights(self, panels: Sequence[Panel]) -> None:
        """Give some panels the same limits, so that they can be compared."""
        limits = np.array([panel.axis.get_ylim() for panel in panels])
        for panel in panels:
            panel.axis.set_ylim(limits[:, 0].min(), limits[:, 1].max())

    def data(self) -> pd.DataFrame:
        """All drawn data, one row per point: `COLUMNS`; panel is its number and its title."""
        table = pd.DataFrame(self.rows, columns=list(COLUMNS))
        titles = {panel.number: f"{panel.number} {bare(panel.title)}".strip() for panel in self.panels}
        return table.assign(panel=table["panel"].map(titles), series=table["series"].map(bare))

    @property
    def heading(self) -> str:
        """The written title, else the finding."""
        text = self.title or self.finding
        return text[:1].upper() + text[1:]

    @property
    def caption(self) -> str:
        """Setting and, below a written title, the finding."""
        finding = self.finding[:1].upper() + self.finding[1:] if self.title else ""
        return " ".join(f"{text.rstrip('.')}." for text in (finding, self.setting) if text)

    def copy_round(self, title: bool = True) -> None:
        """The title above the panels, legend and caption below them; the panels keep their height."""
        figure = self.mpl_figure
        named = len(self.entries) + len(self.guides) > FULL
        if named:  # names need room
            self.across = 1 if len(self.panels) < 3 else min(self.across, 2)
        self.down = -(-len(self.panels) // self.across)
        grid = GridSpec(self.down, self.across, figure=figure)
        room = {1: 60, 2: 32}.get(self.across, 24)
        height = self.height
        for place, panel in enumerate(self.panels):
            panel.axis.set_subplotspec(grid[place // self.across, place % self.across])
            panel.axis.set_visible(panel.axis.has_data())
            lines = sum(_wrapped(text, room).count("\n") + 1 for label in panel.labels if (text := label.text(named)))
            height = max(height, 0.83 * LINE * lines + 0.65)
            style.log_ticks(panel.axis, "x")
            style.log_ticks(panel.axis, "y")
            style.minor_ticks(panel.axis)
        entries = self.guides if named else {**self.entries, **self.guides}
        longest = max((style.text_width(label) for label in entries), default=0.0)
        columns = max(1, min(4, len(entries), int((style.WIDTH - 0.2) / (longest + 0.75))))
        rows = -(-len(entries) // columns)
        heading, foot = _wrapped(self.heading, HEADING), _wrapped(self.caption, CAPTION)
        outside = rows + 1.2 * (heading.count("\n") + 1) + foot.count("\n") + 2
        figure.set_size_inches(style.WIDTH, self.down * height + LINE * outside)
        figure.suptitle(heading, x=0.01, ha="left", fontsize=style.TITLE_SIZE, weight="bold")
        small: Style = {"title": foot, "title_fontsize": style.SMALL, "alignment": "left", "borderpad": 0.4}
        legend = figure.legend(entries.values(), entries, loc="outside lower left", ncols=columns, **small)
        legend.get_title().set(color=(0.3, 0.3, 0.3), linespacing=1.05)
        for panel in self.panels:
            panel.write_labels(named, room, height - 0.5)
        engine: Any = figure.get_layout_engine()
        engine.execute(figure)
        figure.set_layout_engine(None)  # else every file lays it out once more
        for panel in self.panels:  # the solver's last bits depend on memory addresses, and names within an SVG on them
            axis = panel.axis
            axis.set_position(tuple(round(edge, 9) for edge in axis.get_position(original=True).bounds))
            style.log_ticks(axis, "x", axis.get_position().width * style.WIDTH)
            style.fix_labels(axis)

    def save_card(self, path: Path) -> Path:
        """Write the first panel alone as a PNG of `CARD` pixels in width, after `save`: for a page's cards."""
        figure, (pixels, resolution) = self.mpl_figure, CARD
        width, first = pixels / resolution, self.panels[0]
        for panel in self.panels[1:]:
            panel.axis.remove()
        for text in list(first.axis.texts):
            text.remove()
        for legend in list(figure.legends):
            legend.remove()
        figure.suptitle("")
        first.axis.set_title("")
        entries = {label: line for label, line in {**self.entries, **self.guides}.items() if label in first.drawn}
        shown = dict(list((entries | first.laws).items())[:FULL])
        height = 1.55 + LINE * len(shown)
        figure.set_size_inches(width, height)
        first.axis.set_position((0.23, (0.42 + LINE * len(shown)) / height, 0.73, 1.07 / height))
        style.log_ticks(first.axis, "x", 0.73 * width)
        figure.legend(shown.values(), shown, loc="lower left", ncols=1)
        figure.savefig(path, dpi=resolution, metadata={"Software": None})
        return path

    def save(self, stem: Path, data: str = "") -> list[Path]:
        """Write `stem`.pdf, .png and .svg without dates or versions, and the data as `stem`.csv, or `data`.csv; return
        the paths. The metadata of the PNG have title and caption."""
        self.copy_round()
        said = {"Title": bare(self.heading), "Description": bare(self.caption)}
        table = stem.with_name(f"{data or stem.name}.csv")
        formats.write_csv(self.data(), table)
        metadata: dict[str, dict[str, str | None]] = {
            "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
            "png": {"Software": None, **{key: text for key, text in said.items() if text}},
            "svg": {"Date": None, "Creator": None},
        }
        paths = {form: stem.with_name(f"{stem.name}.{form}") for form in FORMS}
        for form, path in paths.items():
            self.mpl_figure.savefig(path, metadata=metadata[form])
        return [*paths.values(), table]


def bare(text: str) -> str:
    """Text with the letters and signs of its formulas in place of their commands."""
    text = re.sub(r"\\sqrt\{(\\?\w+)\}", r"√\1", text.replace(r"\,", " "))
    text = re.sub(r"\\(?:var)?([a-zA-Z]+)", lambda match: GREEK.get(match[1]) or SIGNS.get(match[1], match[1]), text)
    text = re.sub(r"\{([^{}]*/[^{}]*)\}", r"(\1)", text)  # T^(3/4) is not T^3/4
    return re.sub(r"[$\\{}]", "", text)


def _wrapped(text: str, characters: float) -> str:
    """Wrap at about so many visible characters, never within mathematics or an interval."""
    kept = re.findall(r"\$[^$]*\$|\[[^]]*\]", text)
    formulas = iter(kept)
    hidden = re.sub(r"\$[^$]*\$|\[[^]]*\]", lambda part: "\0" * max(1, style.visible(part[0])), text)
    lines = textwrap.fill(hidden, int(characters), break_long_words=False, break_on_hyphens=False)
    return re.sub("\0+", lambda _: next(formulas), lines)

"""One style for all figures: labels, column widths of a paper, fonts, axes, and the curve styles of algorithms; figures
with their panels, their captions and the data behind them. The same data give files of the same bytes.

An algorithm has the same colour and marker in all figures. Its hue is in `HUES`; that of a user's learner follows from
a hash of its name. A learner without privacy is grey. Within a hue every variant has its own shade and marker; a
variant as printed is dashed.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from matplotlib import style as sheets
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.cells import LENGTHS
from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.judge.vocabulary import RESPONSE_AXES, VALUE_COLUMN, Parameter, Response
from dpregret.paper_figs.text import formats

AXES: Final[Mapping[Parameter, str]] = {
    "horizon": "horizon $T$ (rounds)", "samples": "records $n$", "dimension": "dimension $d$",
    "experts": "number of experts $d$", "window": "window $W$", "landau": "Landau's constant $G_W$ of the window",
    "items": "window $W$", "width": "Gaussian width $G$ of the set", "epsilon": r"privacy budget $\varepsilon$",
    "mu": r"Gaussian-DP parameter $\mu_{\mathrm{GDP}}$", "best_loss": "loss $L^*$ of the best expert",
    "length": "rounds $k$ that tell the experts apart", "convexity": r"strong convexity $\mu$",
    "beta": r"$\ln(1/\beta)$ of the quantile at $1-\beta$", "corners": "number of corners $k$",
    "delta": r"$\ln(1/\delta)$ of the privacy budget",
    "curvature": r"curvature $\Gamma$", "smoothness": r"smoothness $\lambda$",
}  # fmt: skip
COORDINATES: Final[Mapping[Parameter, str]] = {
    "window": r"window: $\log_2 W + 1$",
    "experts": r"$\log_2$ of the number of experts $d$",
    "corners": r"$\log_2$ of the number of corners $k$",
}
"""Axis labels of fits whose coordinate is not the parameter itself."""
RESPONSES: Final = {
    **RESPONSE_AXES, "overhead": "regret above the non-private one", "log_slope": r"$dR\,/\,d\ln T$",
    "noise": "mean norm of the noise", "optimum": r"best $\lambda$",
}  # fmt: skip
_MATH: Final = (
    (r"\bl1\b", r"$\ell_1$"), (r"\bl_q\b", r"$\ell_q$"), (r"\bL\*", "$L^*$"), (r"\blambda\b", r"$\lambda$"),
    (r"\beta\b", r"$\eta$"), (r"\balpha\b", r"$\alpha$"), (r"\bK-arm\b", "$K$-arm"), (r"\bfor T\b", "for $T$"),
)  # fmt: skip


def tidy(text: str) -> str:
    """A name for a figure: dollar signs are escaped, and known mathematical terms are written in LaTeX."""
    text = text.replace("\\", "/").replace("$", r"\$")
    for pattern, formula in _MATH:
        text = re.sub(pattern, formula.replace("\\", r"\\"), text)
    return text


def axis_label(parameter: Parameter, response: Response, fitted: bool = False) -> str:
    """The label of the axis of a swept parameter; the dimension of a batch problem is p."""
    if parameter == "dimension" and response == "excess":
        return "dimension $p$"
    return COORDINATES.get(parameter, AXES[parameter]) if fitted else AXES[parameter]


def symbol_of(parameter: Parameter, response: Response = "regret") -> str:
    """The symbol of a swept parameter, without dollar signs."""
    return axis_label(parameter, response).split("$")[1]


def number(value: float) -> str:
    """At most three significant digits; powers of two from 64 on, and numbers with an exponent, in LaTeX."""
    if math.isinf(value):
        return r"$\infty$"
    if value >= 64 and math.log2(value).is_integer():
        return f"$2^{{{int(math.log2(value))}}}$"
    factor, long, exponent = f"{value:.3g}".partition("e")
    if not long:
        return factor
    times = "" if factor == "1" else f"{factor}\\times "
    return f"${times}10^{{{int(exponent)}}}$"


def interval(estimate: Estimate) -> str:
    """`0.51 [0.50, 0.52]`, with a third digit where the interval is narrow."""
    digits = 3 if estimate.high - estimate.low < 0.02 else 2
    return formats.with_interval(estimate, digits).replace("-", "\N{MINUS SIGN}")


def fixed(name: str, value: float | str) -> str:
    """A setting of a claim, for a title."""
    symbols = {"epsilon": r"$\varepsilon =$", "window": "$W =$", "dimension": "$d =$", "horizon": "$T =$"}
    return f"{symbols.get(name, f'{name} =')} {value if isinstance(value, str) else number(value)}"


def span(counts: Iterable[float]) -> str:
    """`16` where all counts are equal, else `8 to 32`."""
    low, high = min(counts), max(counts)
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


ONE_COLUMN, TWO_COLUMNS = 3.4, 7.0
"""Widths of a figure in a two-column paper, inches."""
SMALL: Final = 7.0
"""Font size of captions and of text in panels, points."""
Colour = tuple[float, float, float]
INK: Final[Colour] = (0.15, 0.15, 0.15)
GUIDE: Final[Colour] = (0.35, 0.35, 0.35)
DASHED: Final = (0, (4, 2))
PALETTE: Final[dict[str, Colour]] = {
    "blue": to_rgb("#0072B2"),
    "vermilion": to_rgb("#D55E00"),
    "green": to_rgb("#009E73"),
    "purple": to_rgb("#CC79A7"),
    "orange": to_rgb("#E69F00"),
    "sky": to_rgb("#56B4E9"),
    "wine": to_rgb("#882255"),
    "olive": to_rgb("#7A7A18"),
    "grey": to_rgb("0.4"),
}
"""Colours that colour-blind readers tell apart (Okabe and Ito 2008, without yellow, two of Tol's, and grey)."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8")
Dash = str | tuple[int, tuple[float, ...]]
DOTTED: Final[Dash] = (0, (1.2, 1.2))
SHADES: Final = (0.0, -0.35, 0.25, -0.2, -0.5)
GREY: Final = "grey"
_BY_HUE: Final = {
    "blue": "wdp-cocop-gaussian dp-ftrl sparse-vector private-bandit-gaussian noisy-gd private-ftrl "
    "online-to-batch.descent one-pass-ftrl private-blocked-descent wdp-cocop-solver "
    "noisy-smd",
    "vermilion": "wdp-cocop-gamma dp-ftrl-lipschitz private-bandit-laplace noisy-sgd noisy-eg private-ftpl phased-sgd "
    "restarted-ftal private-projected-descent adaptive-sparse-vector.cold epoch-leader epoch-phased-sgd pol",
    "green": "wdp-cocol-gaussian pftal shrinking-dartboard private-linear-bandit objective-perturbation noisy-qnorm "
    "private-fw.balanced online-to-batch.leader private-gauge-descent batched-arms noisy-oracle "
    "net-sparse-vector l2p-net dartboard-net l2p-sampled pocp-privacy apoly-sfw noisy-sfw",
    "purple": "wdp-cocol-gamma hedge-batched chaudhuri private-vr-fw online-to-batch.shrinking "
    "private-separation-descent adaptive-sparse-vector.restart thakurta-smith-gaussian pqftl noisy-nuclear "
    "point-moves",
    "orange": "wdp-scofw-gamma hedge-composition output-perturbation private-fw.gumbel online-to-batch.gauge "
    "pocp-giga adaptive-sparse-vector.warm thakurta-smith-laplace sampled-sparse-vector added-record",
    "sky": "wdp-scofw-gaussian private-bandit-doubling noisy-gd-strong online-to-batch.descent-tree ftal-endless "
    "noisy-grouped online-to-batch.descent-buffers private-sum",
    "wine": "noise-per-gradient batched-dartboard noisy-value-bandit private-fw private-fw-general "
    "online-to-batch.oracle online-to-batch.blocked pocp-doubling",
    "olive": "pocp-igd noise-per-prefix tree-counters noisy-md online-to-batch.local-oracle online-to-batch.implicit "
    "l2p",
    GREY: "ftal ogd ofw scofw stay lloo-ftal projected-descent blocked-descent separation-descent gauge-descent "
    "adaptive-descent ogd-small-loss hedge fkm garber-kretzu fw projected-gradient stay-at-zero "
    "ofw-explicit consensus noisy-oco norm-tail random-sum tree-error tree-privacy",
}
HUES: Final = {key: hue for hue, keys in _BY_HUE.items() for key in keys.split()}
"""learner, or learner.variant -> its hue, of all bundled learners: hashes can make two of one experiment look alike."""
STEPS: Final = ("blue", "vermilion", "green", "purple", "orange", "sky")
"""Hues of the values of a parameter."""
SHEET: Final = Path(__file__).with_name("templates") / "paper.mplstyle"


def style_context() -> AbstractContextManager[None]:
    """A context that sets the style for drawing and restores the caller's settings."""
    return sheets.context(["default", SHEET])


def shaded(colour: Colour, share: float) -> Colour:
    """The colour mixed with white (share > 0) or black (share < 0)."""
    towards = 1.0 if share > 0 else 0.0
    red, green, blue = (channel + abs(share) * (towards - channel) for channel in colour)
    return red, green, blue


@dataclass(frozen=True)
class CurveStyle:
    """Colour, marker and dash of a curve."""

    colour: Colour
    marker: str
    dash: Dash = "-"

    def without_noise(self) -> CurveStyle:
        """The same algorithm without privacy: grey, dotted, its own marker."""
        return replace(self, colour=(0.4, 0.4, 0.4), dash=DOTTED)


class CurveStyles:
    """The curve styles of all algorithms in `names`, and of others in the order of their first use."""

    def __init__(self, names: Mapping[str, str]):
        self._styles: dict[str, CurveStyle] = {}
        self._used: Counter[str] = Counter()
        rank = {key: index for index, key in enumerate(HUES)}
        keys = [key for key in names if "." in key.strip(".") and ":" not in key and not key.startswith(".")]
        for key in sorted(keys, key=lambda key: (rank.get(key, rank.get(key.partition(".")[0], len(rank))), key)):
            self.at(key)

    def of(self, learner: str, variant: str, private: bool = True) -> CurveStyle:
        """The style of a learner's variant; one without privacy is always grey."""
        key = f"{learner}.{variant}"
        if key not in self._styles:
            hue = hue_of(key) if private else GREY
            turn, start = self._used[hue], 7 * list(PALETTE).index(hue)
            self._used[hue] += 1
            dash = DASHED if variant.startswith("printed") else "-"
            marker = MARKERS[(start + turn) % len(MARKERS)]
            colour = shaded(PALETTE[hue], SHADES[turn // len(MARKERS) % len(SHADES)])
            self._styles[key] = CurveStyle(colour, marker, dash)
        style = self._styles[key]
        return style if private or hue_of(key) == GREY else style.without_noise()

    def at(self, key: str) -> CurveStyle:
        """The style of a private learner.variant."""
        return self.of(*key.partition(".")[::2])


def hue_of(key: str) -> str:
    """The hue of learner.variant."""
    learner = key.partition(".")[0]
    return HUES.get(key) or HUES.get(learner) or list(PALETTE)[crc32(learner.encode()) % (len(PALETTE) - 1)]


def stepped(number: int) -> CurveStyle:
    """The style of the n-th value of a parameter, where curves are not algorithms."""
    return CurveStyle(PALETTE[STEPS[number % len(STEPS)]], MARKERS[number % len(MARKERS)])


def log_axis(axis: Axes, which: str, values: Iterable[float] = (), base: int = 10) -> None:
    """A logarithmic axis (`x` or `y`) with ticks at powers, or at (at most seven of) the values of a sweep."""
    getattr(axis, f"set_{which}scale")("log", base=base)
    side: Axis = getattr(axis, f"{which}axis")
    side.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    ticks = sorted({float(value) for value in values if value > 0})
    if ticks:
        side.set_major_locator(FixedLocator(ticks[:: -(-len(ticks) // 7)]))
        side.set_minor_locator(NullLocator())


def readable_log(axis: Axes) -> None:
    """Label a vertical axis in powers of ten so that it has at least two numbers, whatever its range."""
    low, high = sorted(axis.get_ylim())
    decades = math.log10(high / low)
    subs: tuple[float, ...] = (1.0, 2.0, 5.0) if decades < 2 else (1.0,)
    if decades < 0.7:
        subs = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    axis.yaxis.set_major_locator(LogLocator(subs=subs, numticks=7 if decades >= 2 else 12))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


Style = dict[str, Any]
"""Arguments of matplotlib or seaborn."""
Values = Sequence[float] | Array | pd.Index | pd.Series
Mask = np.ndarray[Any, np.dtype[np.bool_]]
MOST: Final = 6
"""Most curves of a panel."""
FORMS: Final = ("pdf", "png", "svg")
"""File formats of a figure."""
COLUMNS: Final = ("panel", "series", "x", "y", "low", "high", "what")
TITLE_SIZE: Final = 9.0
FULL: Final = 8
"""Most entries of a common legend; with more, each panel has a legend below it."""
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


class Theme:
    """Names of identifiers and curve styles of algorithms, the same in all figures."""

    def __init__(self, names: Mapping[str, str] | None = None):
        self.names = names or {}
        self.styles = CurveStyles(self.names)

    def name(self, key: str) -> str:
        """The displayed name of an identifier, or the identifier without its hyphens."""
        return tidy(self.names.get(key, key.rpartition(":")[2].replace("-", " ").replace(".", ", ")))

    def small_print(self, rows: pd.DataFrame, how: str, without: Iterable[str] = ()) -> str:
        """Small print: the number of runs, `how` they are drawn, and the set, losses, sizes and budget that all share.

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
                parts.append(f"${symbol} =$\N{NO-BREAK SPACE}{number(values[0])}" if symbol else self.name(name))
        runs = span(rows.groupby(["learner", "variant"])["run"].nunique())
        return f"Mean of {runs} runs{how}" + (f" Setting: {', '.join(parts)}." if parts else "")


class Panel:
    """One panel of a figure; everything drawn through its methods is recorded in the data of the figure."""

    def __init__(self, figure: PanelFigure, number: int):
        self.figure, self.number = figure, number
        self.axis: Axes = figure.mpl_figure.add_subplot(figure.down, figure.across, number)
        self.entries: dict[str, Line2D] = {}

    @property
    def title(self) -> str:
        """The title above the panel."""
        return self.axis.get_title(loc="left") or self.axis.get_title()

    def curve(
        self, name: str, curve: Curve, style: CurveStyle, what: str = "mean", band: bool = True, key: str | None = None
    ) -> None:
        """Means with their half widths as a band (or bars); hollow cells have open markers."""
        axis, x, y, reach = self.axis, curve.values, curve.means, curve.reach
        line: Style = {"color": style.colour, "linestyle": style.dash, "marker": style.marker}
        logarithmic = axis.get_yscale() == "log"
        visible = np.isfinite(y) & ((y > 0) | (not logarithmic))
        hollow = np.zeros(len(x), dtype=bool) if curve.hollow is None else curve.hollow
        axis.plot(x[visible], y[visible], **line)
        ends: tuple[Values, Values] = ((), ())
        if reach is not None:
            below, above = np.broadcast_to(reach, (2, len(y)))
            low, high = ends = np.maximum(y - below, 0.05 * np.abs(y)) if logarithmic else y - below, y + above
            if band:
                axis.fill_between(x[visible], low[visible], high[visible], color=style.colour, alpha=0.18, linewidth=0)
            else:
                axis.vlines(x[visible], low[visible], high[visible], color=style.colour, linewidth=0.8)
        open_markers: Style = {"linestyle": "none", "markerfacecolor": "white", "zorder": 3}
        axis.plot(x[visible & hollow], y[visible & hollow], **{**line, **open_markers})
        label = name if key is None else key
        if label:
            self.key(label, **line)
        self.keep(name, x, y, *ends, what)
        if hollow.any():
            self.keep(name, x[hollow], y[hollow], what=f"{what}, not fitted (hollow)")

    def line(
        self, name: str, x: Values, y: Values, what: str, text: str = "", key: str = "", up: str = "bottom", **kw: Any
    ) -> None:
        """A law or a bound without markers; `text` is written at its lower end, `up` as in `text`.

        key: entry of the legend. kw: arguments of matplotlib.
        """
        kw = {"color": INK, "linestyle": DASHED, "linewidth": 0.8, **kw}
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        self.axis.plot(x, y, **kw)
        if text:
            end = -1 if y[-1] < y[0] else 0
            self.text((float(x[end]), float(y[end])), text, "right" if end else "left", up)
        if key:
            self.key(key, **kw)
        self.keep(name, x, y, what=what)

    def text(self, at: tuple[float, float], text: str, across: str, up: str, **options: Any) -> None:
        """Short text beside a line, on a white background; across, up: which side of the text is at the point."""
        ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}
        small: Style = {"fontsize": SMALL, "color": INK, "zorder": 6, "bbox": ground}
        self.axis.annotate(text, at, ha=across, va=up, **small, **options)

    def key(self, label: str, **options: Any) -> None:
        """An entry of the legend."""
        self.entries[label] = self.figure.entries.setdefault(label, Line2D([], [], **options))

    def keep(self, name: str, x: Iterable[Any], y: Values, low: Values = (), high: Values = (), what: str = "") -> None:
        """Record drawn numbers for the data file."""
        for row in zip_longest(x, y, low, high, fillvalue=np.nan):
            self.figure.rows.append((self.number, name, *row, what))


class PanelFigure:
    """`count` panels in reading order, `height` inches each, and their data in the order of drawing.

    A single panel is one paper column wide unless `wide`. finding: what the data show, in a sentence (may be empty).
    setting: the experiment's setting, in small print.
    """

    def __init__(self, count: int, across: int = 3, height: float = 1.75, wide: bool = False):
        self.width = TWO_COLUMNS if wide or count > 1 else ONE_COLUMN
        self.mpl_figure = Figure(figsize=(self.width, height), layout="constrained")
        FigureCanvasAgg(self.mpl_figure)
        self.height, self.across = height, min(across, count)
        self.down = -(-count // self.across)
        self.finding, self.setting = "", ""
        self.rows: list[tuple[object, ...]] = []
        self.entries: dict[str, Line2D] = {}
        self.panels = [Panel(self, number) for number in range(1, count + 1)]

    def key(self, label: str, **options: Any) -> None:
        """An entry of the legend that belongs to all panels."""
        for panel in self.panels:
            panel.key(label, **options)

    def same_heights(self, panels: Sequence[Panel]) -> None:
        """Give some panels the same limits, so that they can be compared."""
        limits = np.array([panel.axis.get_ylim() for panel in panels])
        for panel in panels:
            panel.axis.set_ylim(limits[:, 0].min(), limits[:, 1].max())

    def data(self) -> pd.DataFrame:
        """All drawn data, one row per point: `COLUMNS`; panel is its number and its title."""
        table = pd.DataFrame(self.rows, columns=list(COLUMNS))
        titles = {panel.number: f"{panel.number} {_bare(panel.title)}".strip() for panel in self.panels}
        return table.assign(panel=table["panel"].map(titles), series=table["series"].map(_bare))

    def lay_out(self) -> None:
        """The finding above the panels, legend and setting below them; the panels keep their height."""
        figure, characters = self.mpl_figure, 23 * self.width
        self.finding = self.finding[:1].upper() + self.finding[1:]
        title, foot = _wrapped(self.finding, 0.75 * characters), _wrapped(self.setting, characters)
        styles = {(line.get_color(), line.get_marker(), str(line.get_linestyle())) for line in self.entries.values()}
        separate = not len(styles) == len(self.entries) <= FULL
        longest = max((len(_bare(label)) for label in self.entries), default=0)
        columns = max(1, min(4, len(self.entries), int(0.9 * characters / (longest + 12))))
        rows = 0 if separate else -(-len(self.entries) // columns)
        for panel in self.panels:
            if panel.axis.get_yscale() == "log":
                readable_log(panel.axis)
            panel.axis.set_visible(panel.axis.has_data())
            if separate and panel.entries:
                below: Style = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.27), "borderpad": 0.5}
                panel.axis.legend(panel.entries.values(), panel.entries, **below)
        if separate:
            longer = [len(panel.entries) for panel in self.panels]
            rows += 1 + sum(max(longer[start : start + self.across]) for start in range(0, len(longer), self.across))
        lines = rows + 1.2 * (title.count("\n") + 1) + foot.count("\n") + 2
        figure.set_size_inches(self.width, self.down * self.height + LINE * lines)
        figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE_SIZE, weight="bold")
        entries, pad = ({}, 0.5) if separate else (self.entries, None)
        small: Style = {"title": foot, "title_fontsize": SMALL, "borderpad": pad}
        legend = figure.legend(entries.values(), entries, loc="outside lower center", ncols=columns, **small)
        legend.get_title().set(color=(0.3, 0.3, 0.3), linespacing=1.0)
        engine: Any = figure.get_layout_engine()
        engine.execute(figure)
        figure.set_layout_engine(None)  # else every file lays it out once more
        for axis in figure.axes:  # the solver's last bits depend on memory addresses, and names within an SVG on them
            axis.set_position(tuple(round(edge, 9) for edge in axis.get_position(original=True).bounds))

    def save(self, stem: Path, data: str = "") -> list[Path]:
        """Write `stem`.pdf, .png and .svg without dates or versions, and the data as `stem`.csv, or `data`.csv; return
        the paths. The title in the metadata of the PNG is the finding and the setting."""
        self.lay_out()
        title = _bare(". ".join(text.rstrip(".") for text in (self.finding, self.setting) if text))
        table = stem.with_name(f"{data or stem.name}.csv")
        formats.write_csv(self.data(), table)
        metadata: dict[str, dict[str, str | None]] = {
            "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
            "png": {"Software": None, **({"Title": title} if title else {})},
            "svg": {"Date": None, "Creator": None},
        }
        paths = {form: stem.with_name(f"{stem.name}.{form}") for form in FORMS}
        for form, path in paths.items():
            self.mpl_figure.savefig(path, metadata=metadata[form])
        return [*paths.values(), table]


def _bare(text: str) -> str:
    """Text without the signs of mathematics."""
    return re.sub(r"[$\\{}]", "", text)


def _wrapped(text: str, characters: float) -> str:
    """Wrap at about so many characters, never within mathematics."""
    unbroken = re.sub(r"\$[^$]*\$", lambda formula: formula[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    lines = textwrap.fill(unbroken, int(characters), break_long_words=False, break_on_hyphens=False)
    return lines.replace("\N{NO-BREAK SPACE}", " ")

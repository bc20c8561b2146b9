"""One style for all figures: labels, size, fonts, ticks, and the curve styles of algorithms. The same data give files
of the same bytes.

A private learner has a hue, which follows from its place in the list of all learners, family by family; the second one
of a figure that would have a hue that is taken gets the next free one. A learner without privacy is grey. Each variant
has its own marker and shade; a variant as printed is dashed, a private learner without noise dotted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from matplotlib import rcParams
from matplotlib import style as sheets
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.markers import TICKLEFT
from matplotlib.ticker import MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.judge.vocabulary import RESPONSE_AXES, Parameter, Response
from dpregret.paper_figs.text import formats

AXES: Final[Mapping[Parameter, str]] = {
    "horizon": "horizon $T$ (rounds)", "samples": "records $n$", "dimension": "dimension $d$",
    "experts": "number of experts $d$", "window": "window $W$", "landau": "Landau's constant $G_W$ of the window",
    "items": "window $W$", "width": "Gaussian width $G$ of the set", "epsilon": r"privacy budget $\varepsilon$",
    "mu": r"Gaussian-DP parameter $\mu_{\mathrm{GDP}}$", "best_loss": "loss $L^*$ of the best expert",
    "length": "rounds $k$ that tell the experts apart", "convexity": r"strong convexity $\mu$",
    "beta": r"$1/\beta$ of the quantile at $1-\beta$", "corners": "number of corners $k$",
    "delta": r"$1/\delta$ of the privacy budget",
    "curvature": r"curvature $\Gamma$", "smoothness": r"smoothness $\lambda$",
}  # fmt: skip
COORDINATES: Final[Mapping[Parameter, str]] = {
    "window": r"window: $\log_2 W + 1$",
    "experts": r"$\log_2$ of the number of experts $d$",
    "corners": r"$\log_2$ of the number of corners $k$",
    "beta": r"$\ln(1/\beta)$ of the quantile at $1-\beta$",
    "delta": r"$\ln(1/\delta)$ of the privacy budget",
}
"""Axis labels of fits whose coordinate is not the parameter itself."""
RESPONSES: Final = {
    **RESPONSE_AXES, "overhead": "regret above the non-private one", "log_slope": r"$dR\,/\,d\ln T$",
    "noise": "mean norm of the noise", "optimum": r"best $\lambda$",
}  # fmt: skip
_MATH: Final = (
    (r"\bl1\b", r"$\ell_1$"), (r"\bL\*", "$L^*$"), (r"\blambda\b", r"$\lambda$"),
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


def latex_number(value: float) -> str:
    """Three significant digits, integers below 10,000 in full; powers of two from 1024 on, and exponents, in LaTeX."""
    if math.isinf(value):
        return r"$\infty$"
    if value >= 1024 and math.log2(value).is_integer():
        return f"$2^{{{int(math.log2(value))}}}$"
    if 1 <= value < 10_000:
        return f"{value if float(value).is_integer() else float(f'{value:.3g}'):g}"
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
    return f"{symbols.get(name, f'{name} =')} {value if isinstance(value, str) else latex_number(value)}"


def span(counts: Iterable[float]) -> str:
    """`16` where all counts are equal, else `8 to 32`."""
    low, high = min(counts), max(counts)
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


WIDTH: Final = 7.0
"""Width of all figures, inches: that of a page, so that text has one size."""
SMALL: Final = 7.0
"""Font size of captions and of text beside lines, points."""
TITLE_SIZE: Final = 9.0
MOST: Final = 9
"""Most curves of a panel; of a figure's only one half as many more, since it has the whole width."""
Colour = tuple[float, float, float]
INK: Final[Colour] = (0.15, 0.15, 0.15)
GUIDE: Final[Colour] = (0.35, 0.35, 0.35)
PLAIN: Final[Colour] = (0.4, 0.4, 0.4)
"""Of learners without privacy."""
DASHED: Final = (0, (4, 2))
PALETTE: Final[tuple[Colour, ...]] = tuple(
    map(to_rgb, ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#7A7A18"))
)
"""Colours that colour-blind readers tell apart (Okabe and Ito 2008, without yellow, and two of Tol's)."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "d", "8")
"""Without a star, whose hollow form does not show."""
Dash = str | tuple[int, tuple[float, ...]]
DOTTED: Final[Dash] = (0, (1.2, 1.2))
SHADES: Final = (0.0, -0.35, 0.35, -0.55, 0.2)
CLOSE: Final = 0.35
"""Colours nearer than this (red, green, blue) do not tell two curves apart."""
DECADES: Final = 6
"""Most decades of an axis that has minor ticks within each."""
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
    """Colour, marker, dash and width (points) of a curve."""

    colour: Colour
    marker: str
    dash: Dash = "-"
    width: float = 1.0

    @property
    def line(self) -> dict[str, Any]:
        """Arguments of matplotlib."""
        return {"color": self.colour, "marker": self.marker, "linestyle": self.dash, "linewidth": self.width}

    def without_noise(self) -> CurveStyle:
        """The same algorithm without noise: grey, dotted, its own marker."""
        return replace(self, colour=PLAIN, dash=DOTTED)


class CurveStyles:
    """The curve styles of one figure. names: identifier -> displayed name, family by family."""

    def __init__(self, names: Mapping[str, str]):
        learners = dict.fromkeys(key.partition(".")[0] for key in names if ":" not in key and not key.startswith("."))
        self.known = {learner: number for number, learner in enumerate(learners)}
        self._styles: dict[str, CurveStyle] = {}
        self._hues: dict[str, int] = {}
        self._used: Counter[int] = Counter()

    def of(self, learner: str, variant: str, private: bool = True) -> CurveStyle:
        """The style of a learner's variant; one without privacy is grey, each with a marker of its own."""
        key = f"{learner}.{variant}"
        if key not in self._styles:
            hue = self._hue(learner) if private else -1
            turn = self._used[hue]
            self._used[hue] += 1
            shade = SHADES[turn % len(SHADES)] if private else 0.0
            colour = shaded(PALETTE[hue], shade) if private else PLAIN
            marker = self._marker(colour, hue + 1)
            self._styles[key] = CurveStyle(colour, marker, DASHED if variant.startswith("printed") else "-")
        return self._styles[key]

    def at(self, key: str) -> CurveStyle:
        """The style of a private learner.variant."""
        return self.of(*key.partition(".")[::2])

    def _marker(self, colour: Colour, first: int) -> str:
        """The first marker that no curve of a close colour has, where there is one."""
        turns = [MARKERS[(first + step) % len(MARKERS)] for step in range(len(MARKERS))]
        near = {style.marker for style in self._styles.values() if math.dist(style.colour, colour) < CLOSE}
        return next((marker for marker in turns if marker not in near), turns[0])

    def _hue(self, learner: str) -> int:
        """A place in the palette; a free one, where there is one."""
        if learner not in self._hues:
            first = self.known.get(learner, crc32(learner.encode()))
            turns = [(first + step) % len(PALETTE) for step in range(len(PALETTE))]
            self._hues[learner] = next((hue for hue in turns if hue not in self._hues.values()), turns[0])
        return self._hues[learner]


def stepped(number: int) -> CurveStyle:
    """The style of the n-th value of a parameter, where curves are not algorithms."""
    return CurveStyle(PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)])


def log_axis(axis: Axes, which: str, values: Iterable[float] = (), base: int = 10) -> None:
    """A logarithmic axis (`x` or `y`) with ticks at powers, or at the values of a sweep."""
    getattr(axis, f"set_{which}scale")("log", base=base)
    side: Any = getattr(axis, f"{which}axis")
    side.dpregret_values = tuple(sorted({float(value) for value in values if value > 0}))


def tick_values(low: float, high: float, base: float, values: Sequence[float] = ()) -> list[float]:
    """Ticks of a logarithmic axis: the values of its sweep, or about six numbers of its base between two ends."""
    given = [value for value in values if low <= value <= high]
    if given:
        return given
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    if last - first >= 2:
        step = -(-(last - first + 1) // 6)
        return [float(base) ** power for power in range(first, last + 1, step)]
    decade = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    for factors in ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        ticks = [power * factor for power in decade for factor in factors if low <= power * factor <= high]
        if len(ticks) >= 3:
            return ticks
    return [float(tick) for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]


def one_kind(values: Sequence[float]) -> list[str]:
    """Texts of the ticks of an axis, all written alike: plain numbers, or powers of two or ten, or with exponents."""
    if all(1e-2 <= value <= 1000 for value in values):
        return [f"{value:.3g}" if value < 1000 else "1000" for value in values]
    for base in (2, 10):
        powers = [math.log(value, base) for value in values]
        if all(abs(power - round(power)) < 1e-9 for power in powers):
            return [f"${base}^{{{round(power)}}}$" for power in powers]
    if all(10 <= value < 10_000 for value in values):
        return [f"{value:g}" for value in values]
    parts = [f"{value:.2e}".split("e") for value in values]
    return [f"${float(factor):g}{{\\times}}10^{{{int(power)}}}$" for factor, power in parts]


def thinned(
    values: Sequence[float], labels: Sequence[str], low: float, high: float, inches: float
) -> tuple[list[float], list[str]]:
    """Ticks of a horizontal logarithmic axis without those that would touch a neighbour; evenly where they are even."""
    positions = [inches * math.log(value / low) / math.log(high / low) for value in values]
    widths = [0.5 * text_width(label) for label in labels]
    for step in range(1, len(values) + 1):
        chosen = range(0, len(values), step)
        pairs = pairwise(chosen)
        if all(positions[b] - positions[a] > widths[a] + widths[b] + 0.06 for a, b in pairs):
            break
    return [values[one] for one in chosen], [labels[one] for one in chosen]


def text_width(text: str) -> float:
    """About how wide a line of text is, inches: formulas by their visible signs."""
    return visible(text) * 0.04608


def visible(text: str) -> int:
    """About how many characters of a text are seen."""
    return len(re.sub(r"[$\\{}^_ ]" if text.startswith("$") else r"[$\\{}^_]", "", re.sub(r"\\[a-zA-Z]+", "x", text)))


def log_ticks(axis: Axes, which: str, inches: float = 4.5) -> None:
    """Ticks of an axis (`x` or `y`) that is logarithmic, written alike; labels that would touch are left out.

    inches: width of the axes.
    """
    side: Any = getattr(axis, f"{which}axis")
    if side.get_scale() != "log":
        return
    low, high = sorted(getattr(axis, f"get_{which}lim")())
    values = tick_values(low, high, side.get_transform().base, getattr(side, "dpregret_values", ()))
    labels = one_kind(values)
    if which == "x":
        values, labels = thinned(values, labels, low, high, inches)
        side.set_minor_locator(NullLocator())
    side.set_ticks(values, labels)
    side.set_minor_formatter(NullFormatter())


def minor_ticks(axis: Axes) -> None:
    """The minor ticks of a vertical logarithmic axis with final limits: multiples of at most `DECADES`, else powers.

    They are one artist, since matplotlib lays out and draws each of its own ticks as three lines and two texts.
    """
    axis.yaxis.set_minor_locator(NullLocator())
    if axis.get_yscale() != "log":
        return
    low, high = axis.get_ylim()
    powers = np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = np.arange(1, 10) if len(powers) <= DECADES + 1 else np.ones(1)
    values = np.outer(10.0**powers, factors).ravel()
    major = np.isclose(values[:, None], axis.get_yticks(), rtol=1e-6, atol=0.0).any(axis=1)
    values = values[(low <= values) & (values <= high) & ~major]
    size, width = rcParams["ytick.minor.size"], rcParams["ytick.minor.width"]
    look: Any = {"marker": TICKLEFT, "s": size**2, "linewidth": width, "color": "black", "zorder": 2.01}
    axis.set_autoscaley_on(False)
    ticks = axis.scatter(0 * values, values, transform=axis.get_yaxis_transform(), clip_on=False, **look)
    ticks.set_in_layout(False)


def fix_labels(axis: Axes) -> None:
    """Keep the labels of axes whose ticks are final where they stand beside them; each file would look for it again."""
    figure: Any = axis.figure
    for side, middle in ((axis.xaxis, (0.5, 0.0)), (axis.yaxis, (0.0, 0.5))):
        side.get_tightbbox(figure.canvas.get_renderer())  # which places the label
        stands = side.label.get_transform().transform(side.label.get_position())
        right, up = (stands - axis.transAxes.transform(middle)) / figure.dpi
        side.set_label_coords(*middle, transform=axis.transAxes + ScaledTranslation(right, up, figure.dpi_scale_trans))

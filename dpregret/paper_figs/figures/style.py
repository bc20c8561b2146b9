"""One style for all figures: words, sizes of a paper's columns, fonts, axes, and the looks of algorithms; files of
the same bytes every time.

An algorithm has the same colour, marker and dashes in all figures, and no two are alike. It has a hue (`HUES`; others
take one by the letters of their name), a learner without privacy is grey. Within a hue every variant has a marker of
its own; what a paper prints is dashed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from dpregret.paper_figs.judge.cells import LENGTHS
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN, Parameter, Rate, Response

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
    "window": r"window: $\log_2 W + 1$", "experts": r"$\log_2$ of the number of experts $d$",
    "corners": r"$\log_2$ of the number of corners $k$",
}  # fmt: skip
"""Where the axis of a fit is not the parameter itself."""
RESPONSES: Final[Mapping[Response, str]] = {
    "regret": "total regret", "overhead": "regret above the non-private one", "log_slope": r"$dR\,/\,d\ln T$",
    "noise": "mean norm of the noise", "excess": "excess risk", "optimum": r"best $\lambda$",
    "calls": "calls of oracles", "draws": "draws of a new expert",
}  # fmt: skip
SPOKEN: Final[Mapping[Response, str]] = {
    "regret": "regret", "overhead": "the cost of privacy", "log_slope": r"regret per $\ln T$", "noise": "noise",
    "excess": "excess risk", "optimum": r"the best $\lambda$", "calls": "calls of oracles",
}  # fmt: skip
_MATH: Final = (
    (r"\bl1\b", r"$\ell_1$"), (r"\bl_q\b", r"$\ell_q$"), (r"\bL\*", "$L^*$"), (r"\blambda\b", r"$\lambda$"),
    (r"\beta\b", r"$\eta$"), (r"\balpha\b", r"$\alpha$"), (r"\bK-arm\b", "$K$-arm"), (r"\bfor T\b", "for $T$"),
)  # fmt: skip
SHORT: Final = 64


def tidy(text: str) -> str:
    """A name for a figure: a dollar sign is one, and what is mathematics is set as such."""
    text = text.replace("\\", "/").replace("$", r"\$")
    for pattern, math_text in _MATH:
        text = re.sub(pattern, lambda _, found=math_text: found, text)  # type: ignore[misc]
    return text


def axis_label(parameter: Parameter, response: Response, fitted: bool = False) -> str:
    """The label of the axis of a swept parameter; the dimension of a batch problem is p."""
    if parameter == "dimension" and response == "excess":
        return "dimension $p$"
    return COORDINATES.get(parameter, AXES[parameter]) if fitted else AXES[parameter]


def symbol_of(parameter: Parameter, response: Response = "regret") -> str:
    """The symbol of a swept parameter, without dollar signs."""
    return axis_label(parameter, response).split("$")[1]


def power_of_two(value: float) -> str:
    """2^14 as mathematics, small powers and other numbers as numbers."""
    if value <= 0:
        return f"{value:g}"
    exponent = math.log2(value)
    if abs(exponent - round(exponent)) > 1e-9:
        return plain_number(value)
    return f"{value:g}" if 1 <= value < SHORT else f"$2^{{{round(exponent)}}}$"


def all_powers(value: float) -> str:
    """2^4 as mathematics, for ticks that are all powers of two."""
    return f"$2^{{{round(math.log2(value))}}}$"


def decimal_power(value: float) -> str:
    """10^4 as mathematics, for ticks that are all powers of ten."""
    return f"$10^{{{round(math.log10(value))}}}$"


def plain_number(value: float) -> str:
    """A number of at most four characters, or a power of ten as mathematics."""
    if value == 0 or 1e-3 <= abs(value) < 1e4 - 0.5:
        return f"{value:g}" if abs(value) >= 1e3 else f"{value:.3g}"
    exponent = math.floor(math.log10(abs(value)) + 1e-9)
    factor = value / 10.0**exponent
    first = "" if abs(factor - 1) < 1e-9 else f"{factor:.2g}\\times "
    return f"${first}10^{{{exponent}}}$"


def count(value: float) -> str:
    """A size: a power of two from 64 on as such."""
    if math.isinf(value):
        return r"$\infty$"
    return power_of_two(value) if value >= SHORT else plain_number(value)


def share(value: float) -> str:
    """A factor with two or three digits."""
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def rounded(value: float) -> str:
    """A measured place with two or three digits."""
    return f"{value:.0f}" if 10 <= value < 1000 else plain_number(float(f"{value:.2g}"))


def power_text(power: float) -> str:
    """1/2, 3/4, -1: a power as people write it."""
    near = Fraction(power).limit_denominator(12)
    return str(near) if abs(float(near) - power) <= 1e-6 else f"{power:g}"


def rate_math(rate: Rate) -> str:
    """A rate as mathematics, without dollar signs, its powers as fractions."""
    text = rate.latex(written=power_text, gap=r"\,").replace(r"^\star", "^*")
    return text.strip("()") if rate.power == 1 and not rate.log_power and not rate.nodes else text


def interval(value: float, low: float, high: float) -> str:
    """`0.51 [0.50, 0.52]`, with a third digit where the interval is narrow."""
    digits = 3 if high - low < 0.02 else 2
    shown = [f"{round(each, digits) + 0.0:.{digits}f}" for each in (value, low, high)]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]".replace("-", "\N{MINUS SIGN}")


def setting(rows: pd.DataFrame, names: Mapping[str, str], but: Iterable[str] = ()) -> str:
    """The setting that all rows of a figure share: set, losses, sizes and budget; the figure itself shows the
    parameters (or columns) in `but`."""
    shown = {"horizon" if each in LENGTHS else VALUE_COLUMN.get(each, each) for each in but}
    parts = []
    for column in ("stream", "set"):
        found = sorted(set(rows[column].astype(str)) - {""})
        if len(found) == 1 and column not in shown:
            parts.append(tidy(names.get(f"{column}:{found[0]}", found[0])))
    excess = "iterations" in rows and rows["iterations"].notna().any()
    private = rows.loc[np.isfinite(rows["epsilon"])]
    columns = (
        ("dimension", "p" if excess else "d", rows), ("horizon", "n" if excess else "T", rows),
        ("window", "W", private), ("epsilon", r"\varepsilon", private), ("delta", r"\delta", private),
        ("strong_convexity", r"\mu", rows),
    )  # fmt: skip
    for column, symbol, own in columns:
        values = own[column].dropna().unique() if column in own and column not in shown else []
        if len(values) == 1 and values[0] > 0:
            parts.append(f"${symbol} =$ {count(float(values[0]))}")
    return f"Setting: {', '.join(parts)}." if parts else ""


def run_count(rows: pd.DataFrame) -> str:
    """`Mean of 32 runs`, or the range where learners have different numbers."""
    return f"Mean of {span(rows.groupby(['learner', 'variant'])['run'].nunique())} runs"


def span(counts: Iterable[float]) -> str:
    """The one number that all are, or `8 to 32`."""
    low, high = min(counts), max(counts)
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


ONE_COLUMN, TWO_COLUMNS = 3.4, 7.0
"""Widths of a figure in a two-column paper, inches."""
DPI: Final = 170
SMALL: Final = 7.0
"""Size of captions, and of what is written into panels, points."""
FINEST: Final = 0.1
LARGEST: Final = 999
"""Ticks that are all powers of two are written as such if one of them is smaller or larger than these."""
LEAST, MOST = 1e-3, 1e4
"""The same for powers of ten."""
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
}
"""Colours that colour-blind readers tell apart (Okabe and Ito 2008, without yellow, and two of Tol's)."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8")
Dash = str | tuple[int, tuple[float, ...]]
PLAIN_DASHES: Final[tuple[Dash, ...]] = ("-", (0, (7, 1.2, 1.2, 1.2)), (0, (7, 1, 1, 1, 1, 1)), (0, (9, 1.5)))
PRINTED_DASHES: Final[tuple[Dash, ...]] = ((0, (4, 1.8)), (0, (2, 1.2)))
SHADES: Final = (0.0, -0.35, 0.25, -0.2, -0.5)
NEAR: Final = {"sky": "blue", "blue": "sky", "vermilion": "orange", "orange": "vermilion"}
"""Hues that shades may bring close to each other: their markers differ as far as there are enough."""
GREYS: Final = (0.25, 0.5, 0.65)
GREY_DASHES: Final[tuple[Dash, ...]] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)))
GREY: Final = "grey"
_BY_HUE: Final = {
    "blue": "wdp-cocop-gaussian dp-ftrl sparse-vector private-bandit-gaussian noisy-gd private-ftrl "
            "online-to-batch.descent one-pass-ftrl private-blocked-descent wdp-cocop-solver",
    "vermilion": "wdp-cocop-gamma dp-ftrl-lipschitz private-bandit-laplace noisy-sgd noisy-eg private-ftpl phased-sgd "
                 "restarted-ftal private-projected-descent adaptive-sparse-vector.cold epoch-leader",
    "green": "wdp-cocol-gaussian pftal shrinking-dartboard private-linear-bandit objective-perturbation noisy-qnorm "
             "private-fw.balanced online-to-batch.leader private-gauge-descent batched-arms noisy-oracle "
             "net-sparse-vector l2p-net",
    "purple": "wdp-cocol-gamma hedge-batched chaudhuri private-vr-fw online-to-batch.shrinking "
              "private-separation-descent adaptive-sparse-vector.restart thakurta-smith-gaussian pqftl noisy-nuclear",
    "orange": "wdp-scofw-gamma hedge-composition output-perturbation private-fw.gumbel online-to-batch.gauge "
              "pocp-giga adaptive-sparse-vector.warm thakurta-smith-laplace sampled-sparse-vector",
    "sky": "wdp-scofw-gaussian private-bandit-doubling noisy-gd-strong online-to-batch.descent-tree ftal-endless "
           "noisy-grouped online-to-batch.descent-buffers",
    "wine": "noise-per-gradient batched-dartboard noisy-value-bandit private-fw private-fw-general "
            "online-to-batch.oracle online-to-batch.blocked",
    "olive": "pocp-igd noise-per-prefix tree-counters noisy-md online-to-batch.local-oracle online-to-batch.implicit",
    GREY: "ftal ogd ofw scofw stay lloo-ftal projected-descent blocked-descent separation-descent gauge-descent "
          "adaptive-descent ogd-small-loss hedge fkm garber-kretzu fw projected-gradient stay-at-zero "
          "ofw-explicit consensus noisy-oco norm-tail random-sum tree-error tree-privacy",
}  # fmt: skip
HUES: Final = {key: hue for hue, keys in _BY_HUE.items() for key in keys.split()}
"""learner, or learner.variant -> its hue."""
STEPS: Final = ("blue", "vermilion", "green", "purple", "orange", "sky")
"""Hues of the values of a parameter."""
SETTINGS: Final[dict[str, Any]] = {
    "font.family": "STIXGeneral", "font.size": 8.0, "axes.titlesize": 8.0, "axes.labelsize": 8.0,
    "xtick.labelsize": 7.2, "ytick.labelsize": 7.2, "legend.fontsize": 7.2, "legend.frameon": False,
    "legend.handlelength": 3.0, "legend.columnspacing": 1.2, "legend.labelspacing": 0.3, "legend.borderpad": 0.1,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "grid.linewidth": 0.4, "axes.linewidth": 0.6, "axes.titlelocation": "left", "axes.titlepad": 3.0,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.minor.width": 0.4, "ytick.minor.width": 0.4,
    "xtick.major.size": 2.5, "ytick.major.size": 2.5, "xtick.minor.size": 1.5, "ytick.minor.size": 1.5,
    "lines.markersize": 3.4, "lines.linewidth": 1.0, "lines.markeredgewidth": 0.7, "axes.axisbelow": True,
    "mathtext.fontset": "stix", "pdf.fonttype": 42, "svg.hashsalt": "dpregret", "path.simplify": False,
    "savefig.dpi": DPI, "figure.dpi": DPI, "savefig.facecolor": "white",
}  # fmt: skip


@contextmanager
def look() -> Iterator[None]:
    """Draw inside this context: it sets the style and restores the caller's settings."""
    if mpl.rcParams["svg.hashsalt"] == SETTINGS["svg.hashsalt"]:  # inside already: to set all again takes its time
        yield
        return
    with mpl.rc_context():
        mpl.rcdefaults()
        for name, value in SETTINGS.items():
            mpl.rcParams[name] = value  # type: ignore[index]
        yield


def shaded(colour: Colour, share: float) -> Colour:
    """The colour mixed with white (share > 0) or black (share < 0)."""
    towards = 1.0 if share > 0 else 0.0
    red, green, blue = (each + abs(share) * (towards - each) for each in colour)
    return red, green, blue


@dataclass(frozen=True)
class Look:
    """How a curve is drawn; `size` of its markers, None: as all."""

    colour: Colour
    marker: str
    dash: Dash = "-"
    size: float | None = None

    def without_noise(self) -> Look:
        """The same algorithm without privacy: grey, dotted, its own marker."""
        return replace(self, colour=(0.4, 0.4, 0.4), dash=(0, (1.2, 1.2)))


class Looks:
    """The looks of all algorithms in `names`, and of others as they come."""

    def __init__(self, names: Mapping[str, str]):
        variants: dict[str, list[str]] = {}
        for key in sorted(names, key=lambda name: name.partition(".")[2].startswith("printed")):  # solid curves first
            learner, dot, variant = key.partition(".")
            if learner and dot and ":" not in key:
                variants.setdefault(learner, []).append(variant)
        self._known: dict[str, Look] = {}
        self._hues: dict[str, str] = {}
        rank = {key: index for index, key in enumerate(HUES)}
        for learner in sorted(variants, key=lambda name: (rank.get(name, len(rank)), name)):
            self._assign(f"{learner}.{variants[learner][0]}")
        for learner in sorted(variants):
            for index, variant in enumerate(variants[learner]):
                self._assign(f"{learner}.{variant}", index)

    def of(self, learner: str, variant: str, private: bool = True) -> Look:
        """The look of a learner's variant; one without privacy is never coloured."""
        key = f"{learner}.{variant}"
        if key not in self._known:
            self._assign(key, hue=None if private else GREY)
        found = self._known[key]
        return found if private or hue_of(key) == GREY else found.without_noise()

    def at(self, key: str) -> Look:
        """The look of a private learner.variant."""
        return self.of(*key.partition(".")[::2])

    def _assign(self, key: str, index: int = 0, hue: str | None = None) -> None:
        """The free look of its hue whose marker is rarest, first among its own variants, then in hues close by."""
        if key in self._known:
            return
        hue, (learner, _, variant) = hue or hue_of(key), key.partition(".")
        taken = {(look.colour, look.marker) for look in self._known.values()}
        options = _options(hue, 0 if key in HUES else index, variant.startswith("printed"))
        free = [look for look in options if (look.colour, look.marker) not in taken]
        own = Counter(look.marker for name, look in self._known.items() if name.partition(".")[0] == learner)
        near = Counter(look.marker for name, look in self._known.items() if self._hues[name] in (hue, NEAR.get(hue)))
        if hue != GREY:
            free.sort(key=lambda look: (own[look.marker], near[look.marker]))
        self._known[key], self._hues[key] = (free or [Look(PALETTE["blue"], "o")])[0], hue


def _options(hue: str, index: int, printed: bool) -> Iterator[Look]:
    """The looks of a hue in the order in which the `index`-th variant tries them; greys as different as can be."""
    if hue == GREY:
        for number in range(len(GREYS) * len(MARKERS)):
            marker = MARKERS[(number + number // len(MARKERS)) % len(MARKERS)]
            yield Look((GREYS[number % len(GREYS)],) * 3, marker, GREY_DASHES[number % len(GREY_DASHES)])
        return
    dashes = PRINTED_DASHES if printed else PLAIN_DASHES
    turn, start = index % len(SHADES), list(PALETTE).index(hue)
    for shade, marker in product(SHADES[turn:] + SHADES[:turn], MARKERS[start:] + MARKERS[:start]):
        yield Look(shaded(PALETTE[hue], shade), marker, dashes[index % len(dashes)])


def hue_of(key: str) -> str:
    """The hue of learner.variant."""
    learner = key.partition(".")[0]
    return HUES.get(key) or HUES.get(learner) or list(PALETTE)[crc32(learner.encode()) % len(PALETTE)]


def stepped(number: int) -> Look:
    """The look of the n-th value of a parameter, which is no algorithm."""
    return Look(PALETTE[STEPS[number % len(STEPS)]], MARKERS[number % len(MARKERS)])


def log_axis(axis: Axes, which: str, values: Iterable[float] = (), base: int = 10) -> None:
    """A logarithmic axis (`x` or `y`): powers of two, ticks at the values of a sweep, or plain numbers and powers."""
    getattr(axis, f"set_{which}scale")("log", base=base)
    side: Axis = getattr(axis, f"{which}axis")
    ticks = sorted({float(value) for value in values if value > 0})
    if base == 2:
        side.set_major_formatter(FuncFormatter(lambda value, _: _halves(value, *sorted(side.get_view_interval()))))
        side.set_minor_locator(NullLocator())
    if ticks:
        ticks = [tick for index, tick in enumerate(ticks) if index % -(-len(ticks) // 7) == 0]
        side.set_major_locator(FixedLocator(ticks))
        side.set_minor_locator(NullLocator())
        powers = (min(ticks) < FINEST or max(ticks) > LARGEST) and all(math.log2(tick).is_integer() for tick in ticks)
        written = all_powers if powers else plain_number
        side.set_major_formatter(FuncFormatter(lambda value, _: written(value)))


def _halves(value: float, low: float, high: float) -> str:
    """A power of two at an axis from low to high: all ticks of an axis in one form."""
    return all_powers(value) if low < FINEST or high > LARGEST else plain_number(value)


def readable_log(axis: Axes, which: str = "y") -> None:
    """Label a logarithmic axis so that it has at least two numbers, whatever its range."""
    side: Axis = getattr(axis, f"{which}axis")
    low, high = sorted(side.get_view_interval())
    decades = np.log10(high / max(low, 1e-300))
    subs: tuple[float, ...] = (1.0, 2.0, 5.0) if decades < 2 else (1.0,)
    if decades < 0.7:
        subs = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    side.set_major_locator(LogLocator(subs=subs, numticks=7 if decades >= 2 else 12))
    powers = decades >= 2 and (low < LEAST or high > MOST)
    written = decimal_power if powers else plain_number
    side.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
    side.set_minor_formatter(NullFormatter())


def save(figure: Figure, stem: Path, forms: Iterable[str] = ("pdf", "png", "svg"), about: str = "") -> list[Path]:
    """Write `stem`.pdf, .png and .svg without dates or versions; return the paths.

    `about`: what is seen, in words, which the PNG keeps as its title.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    nothing: dict[str, dict[str, str | None]] = {
        "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None, **({"Title": about} if about else {})},
        "svg": {"Date": None, "Creator": None},
    }
    paths = []
    with look():
        for form in forms:
            path = stem.with_name(f"{stem.name}.{form}")
            figure.savefig(path, metadata=nothing[form])
            paths.append(path)
    return paths

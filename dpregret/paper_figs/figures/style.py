"""One style for all figures: words, sizes of a paper's columns, fonts, axes, and the looks of algorithms; files of
the same bytes every time.

An algorithm has the same colour and marker in all figures. It has a hue (`HUES`; others take one by the letters of
their name), a learner without privacy is grey. Within a hue every variant has a shade and marker of its own; what a
paper prints is dashed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from dpregret.paper_figs.judge.vocabulary import Parameter, Response

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
_MATH: Final = (
    (r"\bl1\b", r"$\ell_1$"), (r"\bl_q\b", r"$\ell_q$"), (r"\bL\*", "$L^*$"), (r"\blambda\b", r"$\lambda$"),
    (r"\beta\b", r"$\eta$"), (r"\balpha\b", r"$\alpha$"), (r"\bK-arm\b", "$K$-arm"), (r"\bfor T\b", "for $T$"),
)  # fmt: skip


def tidy(text: str) -> str:
    """A name for a figure: a dollar sign is one, and what is mathematics is set as such."""
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
    """A number with three digits at most: a power of two from 64 on, and what is long, as mathematics."""
    if math.isinf(value):
        return r"$\infty$"
    if value >= 64 and math.log2(value).is_integer():
        return f"$2^{{{int(math.log2(value))}}}$"
    factor, long, exponent = f"{value:.3g}".partition("e")
    if not long:
        return factor
    times = "" if factor == "1" else f"{factor}\\times "
    return f"${times}10^{{{int(exponent)}}}$"


def interval(value: float, low: float, high: float) -> str:
    """`0.51 [0.50, 0.52]`, with a third digit where the interval is narrow."""
    digits = 3 if high - low < 0.02 else 2
    shown = [f"{round(end, digits) + 0.0:.{digits}f}" for end in (value, low, high)]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]".replace("-", "\N{MINUS SIGN}")


def fixed(name: str, value: float | str) -> str:
    """A setting of a claim, for a title."""
    symbols = {"epsilon": r"$\varepsilon =$", "window": "$W =$", "dimension": "$d =$", "horizon": "$T =$"}
    return f"{symbols.get(name, f'{name} =')} {value if isinstance(value, str) else number(value)}"


def span(counts: Iterable[float]) -> str:
    """The one number that all are, or `8 to 32`."""
    low, high = min(counts), max(counts)
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


ONE_COLUMN, TWO_COLUMNS = 3.4, 7.0
"""Widths of a figure in a two-column paper, inches."""
DPI: Final = 170
SMALL: Final = 7.0
"""Size of captions, and of what is written into panels, points."""
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
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)  # type: ignore[arg-type]
        yield


def shaded(colour: Colour, share: float) -> Colour:
    """The colour mixed with white (share > 0) or black (share < 0)."""
    towards = 1.0 if share > 0 else 0.0
    red, green, blue = (part + abs(share) * (towards - part) for part in colour)
    return red, green, blue


@dataclass(frozen=True)
class Look:
    """How a curve is drawn."""

    colour: Colour
    marker: str
    dash: Dash = "-"

    def without_noise(self) -> Look:
        """The same algorithm without privacy: grey, dotted, its own marker."""
        return replace(self, colour=(0.4, 0.4, 0.4), dash=DOTTED)


class Looks:
    """The looks of all algorithms in `names`, and of others as they come."""

    def __init__(self, names: Mapping[str, str]):
        self._known: dict[str, Look] = {}
        self._used: Counter[str] = Counter()
        rank = {key: index for index, key in enumerate(HUES)}
        keys = [key for key in names if "." in key.strip(".") and ":" not in key and not key.startswith(".")]
        for key in sorted(keys, key=lambda key: (rank.get(key, rank.get(key.partition(".")[0], len(rank))), key)):
            self.at(key)

    def of(self, learner: str, variant: str, private: bool = True) -> Look:
        """The look of a learner's variant; one without privacy is never coloured."""
        key = f"{learner}.{variant}"
        if key not in self._known:
            hue = hue_of(key) if private else GREY
            turn, start = self._used[hue], 7 * list(PALETTE).index(hue)
            self._used[hue] += 1
            dash = DASHED if variant.startswith("printed") else "-"
            marker = MARKERS[(start + turn) % len(MARKERS)]
            self._known[key] = Look(shaded(PALETTE[hue], SHADES[turn // len(MARKERS) % len(SHADES)]), marker, dash)
        found = self._known[key]
        return found if private or hue_of(key) == GREY else found.without_noise()

    def at(self, key: str) -> Look:
        """The look of a private learner.variant."""
        return self.of(*key.partition(".")[::2])


def hue_of(key: str) -> str:
    """The hue of learner.variant."""
    learner = key.partition(".")[0]
    return HUES.get(key) or HUES.get(learner) or list(PALETTE)[crc32(learner.encode()) % (len(PALETTE) - 1)]


def stepped(number: int) -> Look:
    """The look of the n-th value of a parameter, which is no algorithm."""
    return Look(PALETTE[STEPS[number % len(STEPS)]], MARKERS[number % len(MARKERS)])


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
    for form in forms:
        path = stem.with_name(f"{stem.name}.{form}")
        figure.savefig(path, metadata=nothing[form])
        paths.append(path)
    return paths

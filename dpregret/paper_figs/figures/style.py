"""One style for all figures: sizes of a paper's columns, fonts, colours, axes; files of the same bytes every time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from dpregret.paper_figs.figures.symbols import all_powers, decimal_power, plain_number

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
    name: (int(code[:2], 16) / 255, int(code[2:4], 16) / 255, int(code[4:], 16) / 255)
    for name, code in {
        "blue": "0072B2", "vermilion": "D55E00", "green": "009E73", "purple": "CC79A7", "orange": "E69F00",
        "sky": "56B4E9", "wine": "882255", "olive": "7A7A18",
    }.items()
}  # fmt: skip
"""Colours that colour-blind readers tell apart (Okabe and Ito 2008, without yellow, and two of Tol's)."""
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

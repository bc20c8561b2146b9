"""One look for every figure, and files with the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

WIDTH: Final = 4.6
HEIGHT: Final = 3.4
"""Size of one panel in inches."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHED: Final = (0, (4, 2))
Colour = tuple[float, float, float]
GREY: Final[Colour] = (0.45, 0.45, 0.45)
"""Learners without privacy."""
SETTINGS: Final[dict[str, Any]] = {
    "font.family": "DejaVu Sans", "font.size": 9.0, "axes.titlesize": 9.0, "legend.fontsize": 7.5,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.3,
    "lines.markersize": 4.0, "lines.linewidth": 1.3, "legend.frameon": False, "pdf.fonttype": 42,
    "svg.hashsalt": "dpregret", "path.simplify": False, "savefig.dpi": 150,
}  # fmt: skip


@contextmanager
def look() -> Iterator[None]:
    """Draw inside this context: it sets the style and restores the caller's settings."""
    with mpl.rc_context():
        mpl.rcdefaults()
        sns.set_theme(context="paper", style="ticks", palette="colorblind", rc=SETTINGS)
        yield


def panels(columns: int, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure with rows x columns panels, not attached to any window; axes in reading order."""
    figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(rows * columns)]


def legend_below(figure: Figure, axis: Axes, columns: int) -> None:
    """The legend of `axis` below all panels, in as many columns as fit the figure's width, at most `columns`."""
    handles, labels = axis.get_legend_handles_labels()
    for count in range(columns, 0, -1):
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=count)
        if count == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def value_ticks(axis: Axis, values: Iterable[float]) -> None:
    """Ticks of a logarithmic axis at the values of a sweep."""
    ticks = sorted({round(float(value), 6) for value in values})
    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_minor_locator(NullLocator())


def readable_log(axis: Axis) -> None:
    """Label a logarithmic axis at 1, 2 and 5 times powers of ten, as plain numbers."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def colours(names: list[str]) -> dict[str, Colour]:
    """A colour per name from a palette that colour-blind readers can tell apart, in order of `names`."""
    palette = sns.color_palette("colorblind", n_colors=max(len(names), 1))
    return dict(zip(names, palette, strict=False))


def save(figure: Figure, stem: Path | str) -> list[Path]:
    """Write `stem`.pdf and `stem`.png without dates or versions; return the paths."""
    base = Path(stem)
    base.parent.mkdir(parents=True, exist_ok=True)
    paths = [base.with_name(f"{base.name}.pdf"), base.with_name(f"{base.name}.png")]
    nothing: dict[str, None] = {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None}
    with look():
        figure.savefig(paths[0], metadata=nothing)
        figure.savefig(paths[1], metadata={"Software": None})
    return paths

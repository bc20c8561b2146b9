"""What is wrong with how a figure is laid out: what no figure of the project may have."""

import re
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from dpregret.paper_figs.figures.grammar import FULL, PanelFigure

SIZES = {7.0, 7.2, 8.0, 9.0}
"""Of text in points: captions and labels of lines, ticks and legends, axes and panels, the title."""
EDGE = 2
"""Pixels at the border of a picture without ink."""
TOUCH = 0.5
"""Texts may share so much of a pixel."""
SENTENCE = re.compile(r"[A-Z(\\$][^.]*[^.\s]|[A-Z].*\d\.\d.*[^.]")


def faults(figure: PanelFigure) -> Iterator[str]:
    """Draw a figure that was not laid out yet, and say what is wrong in a line each."""
    figure.copy_round()
    drawing = figure.mpl_figure
    drawing.canvas.draw()
    ink = np.asarray(drawing.canvas.buffer_rgba())[..., :3].min(axis=2) < 250
    for name, strip in {
        "left": ink[:, :EDGE],
        "right": ink[:, -EDGE:],
        "top": ink[:EDGE],
        "bottom": ink[-EDGE:],
    }.items():
        if strip.any():
            yield f"ink within {EDGE} pixels of the {name} edge"
    if empty := [panel.number for panel in figure.panels if not panel.axis.get_visible()]:
        yield f"nothing in the panels {empty}"
    boxes = [(text, Text.get_window_extent(text)) for text in texts(figure)]  # of an annotation without its line
    for (one, first), (two, second) in combinations(boxes, 2):
        common = Bbox.intersection(first, second)
        if common is not None and min(common.width, common.height) > TOUCH:
            yield f"{one.get_text()!r} lies on {two.get_text()!r}"
    for legend in drawing.legends:
        if len(legend.texts) > FULL:
            yield f"{len(legend.texts)} entries in the legend"
    if any(axis.get_legend() for axis in drawing.axes):
        yield "a legend in a panel"
    if odd := {text.get_fontsize() for text, _ in boxes} - SIZES:
        yield f"text of {sorted(odd)} points"
    for axis in visible(figure):
        for side in (axis.xaxis, axis.yaxis):
            if side.get_scale() == "log" and not alike([tick.label1.get_text() for tick in side._update_ticks()]):
                yield f"ticks of several kinds: {[tick.label1.get_text() for tick in side._update_ticks()]}"
    if written := [text for text in (figure.heading, figure.caption) if re.search(r"[{\[(]'|\bnan\b", text)]:
        yield f"a value is written as Python writes it: {written}"
    if not re.fullmatch(SENTENCE, figure.heading) or len(figure.heading.split()) < 4:
        yield f"the title is no sentence: {figure.heading!r}"


def alike(labels: list[str]) -> bool:
    """Whether all labels are plain numbers, or all have exponents."""
    written = [label for label in labels if label]
    return len({"^" in label for label in written}) <= 1


def visible(figure: PanelFigure) -> list[Axes]:
    return [axis for axis in figure.mpl_figure.axes if axis.get_visible()]


def texts(figure: PanelFigure) -> list[Text]:
    """All texts that are drawn."""
    drawing = figure.mpl_figure
    found = [drawing._suptitle]
    for legend in drawing.legends:
        found += [*legend.texts, legend.get_title()]
    for axis in visible(figure):
        ticks = [tick for side in (axis.xaxis, axis.yaxis) for tick in side._update_ticks()]
        minor = [tick.label1 for tick in ticks]
        found += [*axis.texts, axis.title, axis._left_title, axis.xaxis.label, axis.yaxis.label, *minor]
    return [text for text in found if text is not None and text.get_visible() and text.get_text().strip()]

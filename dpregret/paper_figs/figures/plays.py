"""Plays as a caller's figures: curves on axes of matplotlib, in the colours and names of all figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.axes import Axes

from dpregret.core.errors import ConfigError
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.grammar import Theme
from dpregret.paper_figs.figures.style import CurveStyle

if TYPE_CHECKING:
    import pandas as pd

Played = Any
"""A play: its `frame`, `curve`, `learner`, `title`, `family`, `epsilon`."""

DASHES: Final = ("-", style.DASHED, style.DOTTED, (0, (6, 1, 1, 1)), (0, (1, 3)))
"""Of the values of what varies beside x."""
FEW: Final = 6
"""Curves that have bands where they do not show a course."""
PARAMETERS: Final[Mapping[str, Any]] = {
    "rounds": "horizon", "dimension": "dimension", "window": "window", "epsilon": "epsilon",
}  # fmt: skip
"""Column of a frame -> the parameter of figures."""


@contextmanager
def _axes(ax: Axes | None) -> Iterator[Axes]:
    """The axes, in the caller's style, or new ones of a figure that notebooks show, in that of all figures."""
    if ax is not None:
        if not isinstance(ax, Axes):
            raise ConfigError(f"plot: ax: must be axes of matplotlib, not {type(ax).__name__}")
        yield ax
        return
    from matplotlib import pyplot

    with style.style_context():
        yield pyplot.subplots(figsize=(style.WIDTH, 3.2), layout="constrained")[1]


def _theme(plays: Sequence[Played], names: Mapping[str, str]) -> Theme:
    """Names and styles of figures; names of a caller's own learners from their cards."""
    theme = Theme(names)
    theme.names = {play.learner: play.title for play in plays} | {**names}
    return theme


def draw_curve(play: Played, names: Mapping[str, str], ax: Axes | None = None) -> Axes:
    """Mean regret of one play against rounds; see `Played.plot`. names: displayed names of identifiers."""
    theme = _theme([play], names)
    with _axes(ax) as axes:
        _curve(axes, play.curve.rename(columns={"rounds": "x"}), _style(theme, play), theme.name(play.learner))
        _baseline(axes, play.curve["rounds"], play.curve["baseline"])
        if play.curve["bound"].notna().all():
            dotted: dict[str, Any] = {"color": style.GUIDE, "linestyle": style.DOTTED, "label": "explicit bound"}
            axes.plot(play.curve["rounds"], play.curve["bound"], **dotted)
        _finish(axes, play.family, "rounds")
        return axes


def draw_plays(
    plays: Sequence[Played], x: str, names: Mapping[str, str], ax: Axes | None = None, quiet: Sequence[Played] = ()
) -> Axes:
    """Regret against one column of the frame: a curve for each algorithm, and for each value of what else varies.

    x: `rounds` draws the course of each play where one number of rounds was played. The algorithms stand in the order
    of their last values. quiet: plays without noise of learners that are private in others.
    """
    import pandas as pd

    theme = _theme(plays, names)
    frame = pd.concat([play.frame for play in plays], ignore_index=True)
    frame["noise"] = [play not in quiet for play in plays]
    courses = x == "rounds" and frame["rounds"].nunique() == 1
    by_learner = frame.groupby(["learner", "noise"])
    varied = [name for name in PARAMETERS if name != x and by_learner[name].nunique().max() > 1]
    dashes = {value: DASHES[at % len(DASHES)] for at, value in enumerate(_values(frame, varied))}
    groups: dict[Any, Any] = frame.groupby(["learner", "noise", *varied]).indices
    order = sorted(groups.items(), key=lambda item: -frame["regret"][item[1][-1]])
    with _axes(ax) as axes:
        for key, rows in order:
            first, (_, noise, *values) = plays[rows[0]], key
            label = theme.name(first.learner) + ", without noise" * (not noise)
            with_value = [(name, value) for name, value in zip(varied, values, strict=True) if 0 < value < math.inf]
            label += "".join(f", {_setting(name, value)}" for name, value in with_value)
            course = first.curve.rename(columns={"rounds": "x"}) if courses else None
            curve = frame.iloc[rows].rename(columns={x: "x"}).sort_values("x") if course is None else course
            look = _style(theme, first)
            look = replace(look, dash=dashes[tuple(values)]) if varied else look
            if math.isfinite(curve["x"].iloc[0]) and curve["x"].iloc[0] > 0:
                _curve(axes, curve, look, label, band=courses or len(order) <= FEW)
            else:  # an algorithm without this parameter has one value
                axes.axhline(float(curve["regret"].iloc[0]), color=look.colour, linestyle=look.dash, label=label)
        baselines = plays[0].curve.rename(columns={"rounds": "x"}) if courses else frame.rename(columns={x: "x"})
        baselines = baselines.loc[np.isfinite(baselines["x"]) & (baselines["x"] > 0)]
        baselines = baselines.groupby("x")["baseline"].agg(["min", "max"])
        if len(baselines) > 1 and np.allclose(baselines["min"], baselines["max"]):
            _baseline(axes, baselines.index, baselines["max"])
        ticks = [] if courses else _values(frame, [x])
        _finish(axes, plays[0].family, x, [value for (value,) in ticks if 0 < value < math.inf])
        return axes


def _values(frame: pd.DataFrame, names: Sequence[str]) -> list[tuple[float, ...]]:
    """The combinations of values of columns, in order."""
    return sorted(set(frame[[*names]].itertuples(index=False, name=None)))


def _setting(name: str, value: float) -> str:
    symbol = {"rounds": "T", "dimension": "d", "window": "W", "epsilon": r"\varepsilon"}[name]
    return f"${symbol} = {value:g}$"


def _style(theme: Theme, play: Played) -> CurveStyle:
    """An algorithm of the caller's own is black."""
    learner, _, variant = play.learner.partition(".")
    if learner not in theme.styles.known:
        return CurveStyle(style.INK, "o")
    return theme.styles.of(learner, variant, math.isfinite(play.epsilon))


def _curve(ax: Axes, curve: pd.DataFrame, look: CurveStyle, label: str, band: bool = True) -> None:
    """Means that are positive, with their intervals: a band, or bars, which many curves leave readable."""
    positive = curve.loc[curve["regret"] > 0]
    ax.plot(positive["x"], positive["regret"], label=label, **look.line | {"markersize": 4, "linewidth": 1.2})
    low = positive["low"].clip(lower=positive["regret"] / 100)  # a logarithmic axis has no zero
    if band:
        ax.fill_between(positive["x"], low, positive["high"], color=look.colour, alpha=0.2, linewidth=0)
    else:
        ax.vlines(positive["x"], low, positive["high"], color=look.colour, linewidth=0.8)


def _baseline(ax: Axes, x: Any, regret: Any) -> None:
    """The fixed-point baseline."""
    ax.plot(x, regret, color=style.GUIDE, linewidth=0.9, linestyle=style.DASHED, label="fixed-point baseline")


def _finish(ax: Axes, family: str, x: str, values: Sequence[float] = ()) -> None:
    excess = "excess" if family == "erm" else "regret"
    parameter = "samples" if x == "rounds" and family == "erm" else PARAMETERS[x]
    parameter = "experts" if x == "dimension" and family == "experts" else parameter
    powers = x in ("rounds", "window")
    style.log_axis(ax, "x", values, base=2 if powers else 10)
    ax.set_yscale("log")
    style.log_ticks(ax, "x")
    style.log_ticks(ax, "y")
    ax.set_xlabel(style.axis_label(parameter, excess))  # type: ignore[arg-type]
    ax.set_ylabel("excess risk" if family == "erm" else "regret")
    ax.legend(frameon=False, fontsize=style.SMALL, loc="center left", bbox_to_anchor=(1.0, 0.5))

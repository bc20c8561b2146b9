"""How mechanisms of sums are drawn, and from which horizon on a tree has the smaller bound."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.compare import stepped
from dpregret.paper_figs.figures.layout import MOST, Page, Plate
from dpregret.paper_figs.figures.markers import Look
from dpregret.paper_figs.figures.style import INK, PALETTE, shaded
from dpregret.paper_figs.figures.symbols import AXES, count
from dpregret.paper_figs.judge.gains import ratio

MEASURED: Final = 4
"""Dimension whose measured cells are drawn beside the bounds."""
VALUES: Final = "noisy-value-bandit"
TREES: Final = {"Laplace tree": "private-bandit-laplace", "Gaussian tree": "private-bandit-gaussian"}
WINS: Final = {"tree ahead": "^", "every value ahead": "v", "undecided": "x"}
LONG: Final = (0, (6, 1.5))
MECHANISMS: Final = {
    "tree": Look(PALETTE["vermilion"], "s"), "window tree": Look(PALETTE["vermilion"], "s"),
    "tree, best decoder": Look(PALETTE["orange"], "D", LONG),
    "window tree, best decoder": Look(PALETTE["orange"], "D", LONG),
    "root": Look(PALETTE["blue"], "o"), "window root": Look(PALETTE["blue"], "o"),
    "normalised root": Look(shaded(PALETTE["blue"], -0.5), "h", LONG), "no horizon": Look(PALETTE["wine"], "X"),
    "banded root, 64": Look(PALETTE["sky"], "<", LONG), "banded inverse root, 64": Look(PALETTE["sky"], ">"),
    "1 buffer": Look(shaded(PALETTE["green"], 0.45), "^"), "2 buffers": Look(PALETTE["green"], "v"),
    "3 buffers": Look(shaded(PALETTE["green"], -0.35), "P"), "4 buffers": Look(PALETTE["purple"], "p", LONG),
    "5 buffers": Look(shaded(PALETTE["purple"], -0.4), "*", LONG), "buffers": Look(PALETTE["green"], "v"),
    "noise on every item": Look(PALETTE["olive"], "d", (0, (1.5, 1.2))),
    "noise on every gradient": Look(PALETTE["olive"], "d", (0, (1.5, 1.2))),
    "noise on every prefix": Look(style.INK, "8", (0, (1.5, 1.2))),
    "noise on every sum": Look(style.INK, "8", (0, (1.5, 1.2))),
    "constant point": Look((0.6, 0.6, 0.6), "h"),
}  # fmt: skip
"""Mechanisms of sums, in the same look everywhere."""


def mechanism_look(name: str, number: int = 0) -> Look:
    """How a mechanism is drawn."""
    return MECHANISMS.get(name, stepped(number))


def crossover(page: Page, table: pd.DataFrame, runs: pd.DataFrame) -> Plate:
    """The horizon from which a tree's explicit bound is below that of noise on every value, against eps.

    Beside it, cells of the runs on the unit ball in dimension `MEASURED`: who had the smaller regret.
    """
    trees = [name.removeprefix("log2 T*, ") for name in table.columns if name.startswith("log2 T*, ")]
    sizes = sorted(set(table["n"]))
    plate = page.plate(len(trees), 2, height=2.2)
    tally = dict.fromkeys(WINS, 0)
    for index, tree in enumerate(trees):
        axis = plate.axes[index]
        style.log_axis(axis, "x", base=2)
        style.log_axis(axis, "y", base=2)
        for number, size in enumerate(sizes[:MOST]):
            own = table.loc[table["n"] == size]
            horizons = 2.0 ** own[f"log2 T*, {tree}"].to_numpy(dtype=float)
            plate.curve(index, f"$d =$ {count(size)}", own["eps"].to_numpy(dtype=float), horizons, stepped(number),
                        what="horizon from which the tree's bound is less")  # fmt: skip
        measured = measured_crossing(runs, TREES[tree])
        for word, marker in WINS.items():
            own = measured.loc[measured["ahead"] == word]
            tally[word] += len(own)
            face = INK if word == "tree ahead" else "none"
            axis.plot(own["epsilon"], own["horizon"], color=INK, marker=marker, linestyle="", markersize=4.0,
                      markerfacecolor=face)  # fmt: skip
            plate.key(f"measured, $d =$ {MEASURED}: {word}", color=INK, marker=marker, linestyle="none",
                      markerfacecolor=face)  # fmt: skip
            plate.keep(index, f"measured, {word}", own["epsilon"].to_numpy(), own["horizon"].to_numpy(dtype=float),
                       what="who had the smaller regret")  # fmt: skip
        axis.set_xlabel(AXES["epsilon"])
        axis.set_ylabel("horizon $T^*$ (rounds)")
        axis.set_title(tree)
    if sum(tally.values()):
        plate.finding = (f"Measured at $d =$ {MEASURED}: the tree is ahead in {tally['tree ahead']}, noise on every "
                         f"value in {tally['every value ahead']} of {sum(tally.values())} cells")  # fmt: skip
    plate.setting = ("Curves: horizon from which the explicit bound of the tree is less than that of noise on every "
                     "value. Triangles: 95 % interval of the ratio of measured regrets, unit ball.")  # fmt: skip
    return plate


def measured_crossing(runs: pd.DataFrame, tree: str) -> pd.DataFrame:
    """A row per horizon and finite eps in dimension `MEASURED` on the tight stream of the ball, with who is ahead.

    By the 95 % interval of the ratio of mean regrets; of experiments with the same cell that with most runs.
    """
    found: dict[tuple[float, float], tuple[int, str]] = {}
    if not runs.empty:
        kept = runs["learner"].isin([tree, VALUES]) & (runs["variant"] == "corrected") & (runs["status"] == "ok")
        kept &= (runs["set"] == "ball") & (runs["stream"] == "cone") & (runs["dimension"] == MEASURED)
        cells = runs.loc[kept & np.isfinite(runs["epsilon"])]
        for (_, horizon, epsilon), cell in cells.groupby(["experiment", "horizon", "epsilon"]):
            played = {name: own.sort_values("run")["regret"].to_numpy() for name, own in cell.groupby("learner")}
            if len(played) < 2:
                continue
            runs_of, quotient = min(map(len, played.values())), ratio(played[tree], played[VALUES])
            word = "tree ahead" if quotient.high < 1 else "every value ahead" if quotient.low > 1 else "undecided"
            found[horizon, epsilon] = max(found.get((horizon, epsilon), (0, "")), (runs_of, word))
    rows = [(horizon, epsilon, word) for (horizon, epsilon), (_, word) in sorted(found.items())]
    return pd.DataFrame(rows, columns=["horizon", "epsilon", "ahead"])

"""Figures of exact tables: mechanisms beside their lower bound, loss by age, maps, and where bounds meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.compare import stepped
from dpregret.paper_figs.figures.layout import MOST, Page, Plate
from dpregret.paper_figs.figures.markers import Look
from dpregret.paper_figs.figures.style import DASHED, GUIDE, INK, PALETTE, shaded
from dpregret.paper_figs.figures.symbols import AXES, count, plain_number, share
from dpregret.paper_figs.judge.gains import ratio

Tables = Mapping[str, pd.DataFrame]
WORST: Final = 60.0
"""Mechanisms that stay above so many times the bound would flatten all others."""
FEWEST: Final = 4
"""Sizes at which a mechanism must be below that to be drawn."""
SHOWN_WINDOW: Final = 64
MEASURED: Final = 4
"""Dimension whose measured cells are drawn beside the bounds."""
VALUES: Final = "noisy-value-bandit"
TREES: Final = {"Laplace tree": "private-bandit-laplace", "Gaussian tree": "private-bandit-gaussian"}
WINS: Final = {"tree ahead": "^", "every value ahead": "v", "undecided": "x"}
DRAWN_MAP: Final = ((2**12, 256), (2**16, 256), (2**16, 4096))
"""(T, W) of the panels of the map."""
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


def league(page: Page, tables: Tables) -> Plate:
    """Mean error over the lower bound, whole sequences against T and windows against W, six mechanisms a panel."""
    parts: list[tuple[str, str, pd.DataFrame, list[str]]] = []
    best: dict[str, tuple[float, str, float]] = {}
    for name, size in (("sequences", "T"), ("windows", "W")):
        table = tables[name]
        table = table.loc[np.isfinite(table["mean / bound"])]
        last = table.loc[table[size] == table[size].max()]
        top = last.loc[last["mean / bound"].idxmin()]
        best[name] = float(top["mean / bound"]), str(top["mechanism"]), float(top[size])
        most = table.groupby("mechanism")["mean / bound"].transform("min")
        table = table.loc[(most < WORST) & (table["mean / bound"] < WORST)]
        table = table.groupby("mechanism", sort=False).filter(lambda own: len(own) >= FEWEST)
        mechanisms = list(dict.fromkeys(table["mechanism"]))
        chunks = -(-len(mechanisms) // MOST)
        step = -(-len(mechanisms) // chunks)
        parts += [(name, size, table, mechanisms[start : start + step]) for start in range(0, len(mechanisms), step)]
    plate = page.plate(len(parts), 2, height=1.9)
    for index, (name, size, table, mechanisms) in enumerate(parts):
        axis = plate.axes[index]
        style.log_axis(axis, "x", base=2)
        style.log_axis(axis, "y")
        for number, mechanism in enumerate(mechanisms):
            own = table.loc[table["mechanism"] == mechanism]
            plate.curve(index, mechanism, own[size].to_numpy(dtype=float), own["mean / bound"].to_numpy(),
                        mechanism_look(mechanism, number), what="mean error over lower bound")  # fmt: skip
        axis.axhline(1.0, color=GUIDE, linewidth=0.7)
        axis.set_xlabel({"T": AXES["horizon"], "W": AXES["window"]}[size])
        axis.set_ylabel("mean error / lower bound")
        axis.set_title({"sequences": "whole sequences", "windows": "windows"}[name])
        axis.set_ylim(0.9, 1.1 * min(WORST, float(table["mean / bound"].max())))
        style.readable_log(axis)
    whole, window = best["sequences"], best["windows"]
    plate.finding = (f"Nearest to the lower bound: {whole[1]}, {whole[0]:.3f} times at $T =$ {count(whole[2])}; "
                     f"{window[1]}, {window[0]:.3f} times at $W =$ {count(window[2])}")  # fmt: skip
    plate.setting = "Exact mean squared error over all sums, same privacy; 1 is the lower bound of any factorisation."
    return plate


def ages(page: Page, tables: Tables) -> Plate:
    """Squared loss by age for one window, and curves of expiry that a mechanism might be asked to keep."""
    table = tables["ages"]
    table = table.loc[table["W"] == SHOWN_WINDOW]
    mechanisms = list(dict.fromkeys(table["mechanism"]))
    chunks = [mechanisms[start : start + 4] for start in range(0, len(mechanisms), 4)]
    plate = page.plate(2 * len(chunks), 2, height=1.8)
    ends = {}
    for index in range(2 * len(chunks)):
        axis, windows = plate.axes[index], (1, 16)[index % 2]
        for mechanism in chunks[index // 2]:
            own = table.loc[(table["mechanism"] == mechanism) & (table["age"] < windows * SHOWN_WINDOW)]
            kept = own.iloc[:: max(1, len(own) // 16)]
            plate.curve(index, mechanism, (kept["age"].to_numpy(dtype=float) + 1) / SHOWN_WINDOW,
                        kept["loss"].to_numpy(), mechanism_look(mechanism), what="squared loss")  # fmt: skip
            if windows > 1:
                ends[mechanism] = float(own["loss"].iloc[-1])
        seen = np.linspace(1 / SHOWN_WINDOW, windows, 200)
        for text, dash, curve in (
            ("expiry curve: linear", ":", seen),
            (r"expiry curve: $1 + \log_2$(age)", DASHED, 1 + np.log2(np.maximum(1.0, seen))),
        ):
            plate.line(index, text, seen, curve, what="expiry curve", colour=GUIDE, dash=dash, legend=text)
        axis.set_xlabel("age of the item, in windows")
        axis.set_ylabel("squared loss (protected: 1)")
        axis.set_title(("while it is protected", "after expiry")[index % 2])
        if windows > 1:
            axis.set_ylim(0.0, 8.0)
    least, most = min(ends, key=ends.__getitem__), max(ends, key=ends.__getitem__)
    plate.finding = (f"16 windows on, an item has lost {share(ends[least])} ({least}) to {share(ends[most])} ({most}) "
                     "times the squared promise")  # fmt: skip
    plate.setting = f"Exact squared Gaussian-DP loss of one item by its age; $W =$ {count(SHOWN_WINDOW)}; promised: 1."
    return plate


def bound_map(page: Page, tables: Tables) -> Plate:
    """The mechanism of least explicit bound by d and eps, a panel a pair (T, W)."""
    bounds = tables["bounds"]
    learners = [name for name in bounds.columns if name not in ("T", "W", "d", "eps")]
    bounds = bounds.assign(best=bounds[learners].to_numpy().argmin(axis=1))
    plate = page.plate(len(DRAWN_MAP), height=2.2)
    colours = [shaded(mechanism_look(name, number).colour, 0.35) for number, name in enumerate(learners)]
    for index, (horizon, window) in enumerate(DRAWN_MAP):
        axis = plate.axes[index]
        own = bounds.loc[(bounds["T"] == horizon) & (bounds["W"] == window)]
        grid = own.pivot(index="d", columns="eps", values="best")
        axis.imshow(grid.to_numpy(), origin="lower", aspect="auto", cmap=ListedColormap(colours), vmin=-0.5,
                    vmax=len(learners) - 0.5)  # fmt: skip
        for (row, column), number in np.ndenumerate(grid.to_numpy()):
            look = mechanism_look(learners[int(number)], int(number))
            axis.plot(column, row, marker=look.marker, color=look.colour, markersize=2.6)
            x = f"eps = {grid.columns[column]:g}, d = {grid.index[row]:g}"
            plate.keep(index, learners[int(number)], [x], [np.nan], what="mechanism of least bound")
        tree = own.assign(tree_wins=own["noise on every gradient"] < own["tree"])
        marks = tree.pivot(index="d", columns="eps", values="tree_wins").to_numpy()
        for row, column in zip(*np.nonzero(marks), strict=True):
            axis.plot(column, row, marker="x", color=INK, markersize=4.5, markeredgewidth=0.8)
        axis.set_xticks(range(len(grid.columns)), [plain_number(float(value)) for value in grid.columns])
        axis.set_yticks(range(len(grid.index)), [count(value) for value in grid.index])
        axis.grid(visible=False)
        axis.set_xlabel(AXES["epsilon"])
        axis.set_ylabel(AXES["dimension"])
        axis.set_title(f"$T =$ {count(horizon)}, $W =$ {count(window)}")
    for number, name in enumerate(learners):
        if (bounds["best"] == number).any():
            look = mechanism_look(name, number)
            plate.key(f"least bound: {name}", marker=look.marker, linestyle="none", color=look.colour)
    plate.key("noise on every gradient beats the tree", marker="x", linestyle="none", color=INK)
    shown = pd.concat([bounds.loc[(bounds["T"] == t) & (bounds["W"] == w)] for t, w in DRAWN_MAP])
    wins = {name: int((shown["best"] == number).sum()) for number, name in enumerate(learners)}
    best = max(wins, key=wins.__getitem__)
    plate.finding = (
        f"{best[:1].upper() + best[1:]} has the least explicit bound in {wins[best]} of {len(shown)} settings"
    )
    plate.setting = "Explicit bounds on regret, computed; no run."
    return plate


def crossing(page: Page, tables: Tables) -> Plate:
    """Where two learners' bounds meet: sqrt(d) / mu_gdp against W, and the dimension at one eps, for finite T too."""
    table = tables["crossing"]
    curves = [name for name in table.columns if name.startswith("mu D")]
    dimensions = [name for name in table.columns if name.startswith("d, eps = 8")]
    plate = page.plate(2, 2, height=2.1)
    for index, names in enumerate((curves, dimensions)):
        axis = plate.axes[index]
        style.log_axis(axis, "x", base=2)
        style.log_axis(axis, "y", base=2)
        for number, name in enumerate(names):
            plate.curve(index, _mathematical(name), table["W"].to_numpy(dtype=float), table[name].to_numpy(dtype=float),
                        stepped(number + 2 * index), what="bounds are equal")  # fmt: skip
        axis.set_xlabel(AXES["window"])
    plate.axes[0].set_ylabel(r"$\sqrt{d} \,/\, \mu_{\mathrm{GDP}}$")
    plate.axes[0].set_title(r"equal growth in $\ln T$ (above: the tree's bound is less)")
    plate.axes[1].set_ylabel(AXES["dimension"])
    plate.axes[1].set_title(r"at $\varepsilon = 8$; with $T$: whole bounds are equal")
    last = table.iloc[-1]
    if dimensions:
        plate.finding = (f"At $\\varepsilon = 8$ and $W =$ {count(float(last['W']))} the tree's bound grows more "
                         f"slowly from $d =$ {last[dimensions[0]]:.0f} on")  # fmt: skip
    plate.setting = "Noise on every gradient against the window tree; explicit bounds, computed; no run."
    return plate


def _mathematical(name: str) -> str:
    name = name.removeprefix("d, ").replace("eps = ", r"$\varepsilon =$ ").replace("mu D", r"$\mu D$")
    name = name.replace("<< L", r"$\ll L$").replace("0.8 L", "$0.8\\,L$")
    return name.replace("T = 2^14", "$T = 2^{14}$").replace("T = 2^17", "$T = 2^{17}$")


def crossover(page: Page, tables: Tables, runs: pd.DataFrame) -> Plate:
    """The horizon from which a tree's explicit bound is below that of noise on every value, against eps.

    Beside it, cells of the runs on the unit ball in dimension `MEASURED`: who had the smaller regret.
    """
    table = tables["crossover"]
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

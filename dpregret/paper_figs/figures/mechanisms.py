"""Mechanisms and oracles: the gain of a learner from another mechanism, from which horizon on a tree has the smaller
bound, and what oracle calls cost."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.layout import MOST, Curve, Page, Plate, Style
from dpregret.paper_figs.figures.style import PALETTE, Look, shaded
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import NotRun
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry
from dpregret.paper_figs.judge.gains import gains, ratio

MECHANISM_OF: Final = {
    "root": "root",
    "buffers": "buffers",
    "corrected-reduced": "tree, best decoder",
    "gaussian-reduced": "tree, best decoder",
}
"""Variant of a learner -> its mechanism of sums; where all that is compared are such, the other one is the tree."""
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
OPERATIONS: Final = {
    "projection": Look(PALETTE["vermilion"], "s"),
    "projection (solver)": Look(PALETTE["wine"], "D", (0, (4, 1.8))),
    "linear oracle": Look(PALETTE["blue"], "o"),
    "local oracle": Look(PALETTE["green"], "^"),
    "gauge": Look(PALETTE["orange"], "v"),
    "separation": Look(PALETTE["purple"], "P"),
}
EXPENSIVE, CHEAP = "projection", "linear oracle"


def gain(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Ratios of regret with intervals and of noise (dashed), a panel a learner, stream and budget; raises NotRun."""
    parameter = entry.parameter or "horizon"
    groups = []
    for each in claims.gains:
        if (each.experiment, each.parameter) != (entry.experiment, entry.parameter):
            continue
        where = [
            f"$\\varepsilon =$ {style.count(float(value))}" if key == "epsilon" else f"{key} = {value}"
            for key, value in each.where.items()
            if not isinstance(value, str)
        ]
        found = gains(runs, claims.model_copy(update={"gains": (each,)}))
        for (learner, stream), own in found.groupby(["learner", "stream"], sort=True):
            groups.append(([page.name(str(learner)), page.name(f"stream:{stream}"), *where], str(learner), own))
    if not groups:
        raise NotRun(f"no gain of {entry.experiment} has rows")
    common = [part for part in groups[0][0] if len(groups) > 1 and all(part in title for title, _, _ in groups)]
    plate = page.plate(len(groups), 2 if len(groups) in (2, 4) else 3, height=1.85)
    gained: list[tuple[float, str, str, float]] = []
    for panel, (title, learner, own) in zip(plate.panels, groups, strict=True):
        style.log_axis(panel.axis, "x", base=2)
        for number, (variant, part) in enumerate(own.groupby("with", sort=True)):
            other, _, plain = str(variant).rpartition(".")
            name = page.name(str(variant)) if other else MECHANISM_OF.get(plain, page.name(f".{plain}"))
            if not other and plain in MECHANISM_OF:
                look = MECHANISMS.get(name, style.stepped(number))
            else:
                look = page.looks.of(other or learner, plain)
            values, ratios = part["value"].to_numpy(dtype=float), part["ratio"].to_numpy()
            reach, hollow = (part["ratio_high"] - part["ratio"]).to_numpy(), (part["cell"] != "used").to_numpy()
            drawn = Curve(values, ratios, reach, hollow)
            panel.curve(name, drawn, look, "ratio of regrets", band=False, legend=f"{name}: regret")
            if part["noise"].notna().any():
                panel.line(name, values, part["noise"], "ratio of noise", key=f"{name}: noise", color=look.colour)
            above = part.loc[part["ratio_low"] > 1]
            if len(above):
                best = above.iloc[int(above["ratio"].to_numpy().argmax())]
                gained.append((float(best["ratio"]), name, title[0], float(best["value"])))
        panel.axis.axhline(1.0, color=style.GUIDE, linewidth=0.7)
        sums = all(each in MECHANISM_OF for each in own["with"])
        over = "tree" if sums else page.name(f".{own['over'].iloc[0]}")
        panel.axis.set(xlabel=style.AXES[parameter], ylabel=f"{over} / other")
        panel.axis.set_title(", ".join(part for part in title if part not in common), fontsize=style.SMALL)
        low, high = panel.axis.get_ylim()
        panel.axis.set_ylim(min(0.9, low), max(1.1, high))
    if gained:
        most, name, learner, value = max(gained)
        lower = f"{name} {'lower' if name.endswith('s') else 'lowers'} {style.SPOKEN[groups[0][2]['response'].iloc[0]]}"
        size = f"(${style.symbol_of(parameter)} =$ {style.count(value)})"
        plate.finding = f"{lower} of {learner} up to {style.share(most)} times {size}"
    every = pd.concat([own for _, _, own in groups])
    spoken = " and ".join(sorted({style.SPOKEN[value] for value in every["response"]}))
    plate.setting = (
        f"Ratio of {spoken} (solid) and of the mean norm of noise (dashed), same losses, "
        f"{style.span(every['runs'])} runs, bars 95 %; hollow: saturated. Above 1 the other is better."
        + (f" Setting: {', '.join(common)}." if common else "")
    )
    return plate


def crossover(page: Page, table: pd.DataFrame, runs: pd.DataFrame) -> Plate:
    """The horizon from which a tree's explicit bound is below that of noise on every value, against eps.

    Beside it, cells of the runs on the unit ball in dimension `MEASURED`: who had the smaller regret.
    """
    trees = [name.removeprefix("log2 T*, ") for name in table.columns if name.startswith("log2 T*, ")]
    plate = page.plate(len(trees), 2, height=2.2)
    tally = dict.fromkeys(WINS, 0)
    for panel, tree in zip(plate.panels, trees, strict=True):
        style.log_axis(panel.axis, "x", base=2)
        style.log_axis(panel.axis, "y", base=2)
        for number, size in enumerate(sorted(set(table["n"]))[:MOST]):
            own = table.loc[table["n"] == size]
            drawn = Curve(own["eps"].to_numpy(dtype=float), 2.0 ** own[f"log2 T*, {tree}"].to_numpy(dtype=float))
            what = "horizon from which the tree's bound is less"
            panel.curve(f"$d =$ {style.count(size)}", drawn, style.stepped(number), what)
        measured = measured_crossing(runs, TREES[tree])
        for word, marker in WINS.items():
            own = measured.loc[measured["ahead"] == word]
            tally[word] += len(own)
            face = style.INK if word == "tree ahead" else "none"
            look: Style = {"color": style.INK, "marker": marker, "markerfacecolor": face}
            panel.axis.plot(own["epsilon"], own["horizon"], linestyle="", markersize=4.0, **look)
            plate.key(f"measured, $d =$ {MEASURED}: {word}", linestyle="none", **look)
            horizons = own["horizon"].astype(float)
            panel.keep(f"measured, {word}", own["epsilon"], horizons, what="who had the smaller regret")
        panel.axis.set(xlabel=style.AXES["epsilon"], ylabel="horizon $T^*$ (rounds)", title=tree)
    if sum(tally.values()):
        values = f"noise on every value in {tally['every value ahead']} of {sum(tally.values())} cells"
        plate.finding = f"Measured at $d =$ {MEASURED}: the tree is ahead in {tally['tree ahead']}, {values}"
    plate.setting = (
        "Curves: horizon from which the explicit bound of the tree is less than that of noise on every "
        "value. Triangles: 95 % interval of the ratio of measured regrets, unit ball."
    )
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


def costs(page: Page, table: pd.DataFrame) -> Plate:
    """Microseconds per call of projection and oracles against the dimension, one panel a set."""
    shapes, operations = sorted(set(table["set"])), sorted(set(table["operation"]))
    plate = page.plate(len(shapes), height=1.75)
    ratios = []
    for panel, shape in zip(plate.panels, shapes, strict=True):
        own = table.loc[table["set"] == shape]
        style.log_axis(panel.axis, "x", own["dimension"], base=2)
        style.log_axis(panel.axis, "y")
        beside = []
        for number, operation in enumerate(operations):
            rows = own.loc[own["operation"] == operation].sort_values("dimension")
            if rows.empty:
                continue
            look = OPERATIONS.get(operation, style.stepped(number))
            sizes, microseconds = rows["dimension"].to_numpy(dtype=float), 1e6 * rows["seconds"].to_numpy(dtype=float)
            panel.curve(operation, Curve(sizes, microseconds), look, "microseconds per call")
            if len(rows) > 1:
                power = float(np.log(microseconds) @ fits.slope_weights(np.log(sizes)))
                beside.append((float(microseconds[-1]), f"$d^{{{power:.2f}}}$", look.colour))
        both = [own.loc[own["operation"] == name].set_index("dimension")["seconds"] for name in (EXPENSIVE, CHEAP)]
        quotient = (both[0] / both[1]).dropna()
        if len(quotient):
            ratios.append((float(quotient.max()), page.name(f"set:{shape}"), float(quotient.idxmax())))
        panel.axis.set(xlabel=style.AXES["dimension"], ylabel=r"$\mu$s per call", title=page.name(f"set:{shape}"))
        style.readable_log(panel.axis)
        panel.beside(beside)
    if ratios:
        most, where, size = max(ratios)
        factor = f"A projection costs up to {style.share(most)} times a call of the linear oracle"
        plate.finding = f"{factor} ({where}, $d =$ {style.count(size)})"
    plate.setting = "CPU time of one call on one core; right of a panel the fitted powers of $d$."
    return plate

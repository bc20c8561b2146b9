"""Mechanisms and oracles: the gain of a learner from another mechanism, from which horizon on a tree has the smaller
bound, and what oracle calls cost."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.layout import MOST, Curve, Page, Plate, Style
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


def gain(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Ratios of regret with intervals and of noise (dashed), a panel a learner, stream and budget; raises NotRun."""
    parameter = entry.parameter or "horizon"
    groups = []
    for each in claims.gains:
        if (each.experiment, each.parameter) != (entry.experiment, entry.parameter):
            continue
        where = [style.fixed(key, value) for key, value in each.where.items() if not isinstance(value, str)]
        found = gains(runs, claims.model_copy(update={"gains": (each,)}))
        for (learner, stream), own in found.groupby(["learner", "stream"], sort=True):
            groups.append(([page.name(str(learner)), page.name(f"stream:{stream}"), *where], str(learner), own))
    if not groups:
        raise NotRun(f"no gain of {entry.experiment} has rows")
    common = [part for part in groups[0][0] if len(groups) > 1 and all(part in title for title, _, _ in groups)]
    plate = Plate(len(groups), 2 if len(groups) in (2, 4) else 3, height=1.85)
    gained: list[tuple[float, float, str, str]] = []
    for panel, (title, learner, own) in zip(plate.panels, groups, strict=True):
        style.log_axis(panel.axis, "x", base=2)
        for variant, part in own.groupby("with", sort=True):
            other, _, plain = str(variant).rpartition(".")
            name = page.name(str(variant)) if other else MECHANISM_OF.get(plain, page.name(f".{plain}"))
            look = page.looks.of(other or learner, plain)
            if not other and plain in MECHANISM_OF:
                look = style.stepped(list(MECHANISM_OF).index(plain))
            values, ratios = part["value"].to_numpy(dtype=float), part["ratio"].to_numpy()
            reach, hollow = (part["ratio_high"] - part["ratio"]).to_numpy(), (part["cell"] != "used").to_numpy()
            panel.curve(name, Curve(values, ratios, reach, hollow), look, "ratio of regrets", band=False)
            if part["noise"].notna().any():
                shown: Style = {"color": look.colour, "key": f"{name}: noise"}
                panel.line(name, values, part["noise"], "ratio of noise", **shown)
            lower = part["ratio_low"].to_numpy() > 1
            gained += [(*pair, name, title[0]) for pair in zip(ratios[lower], values[lower], strict=True)]
        panel.axis.axhline(1.0, color=style.GUIDE, linewidth=0.7)
        sums = all(each in MECHANISM_OF for each in own["with"])
        over = "tree" if sums else page.name(f".{own['over'].iloc[0]}")
        panel.axis.set(xlabel=style.AXES[parameter], ylabel=f"{over} / other")
        panel.axis.set_title(", ".join(part for part in title if part not in common), fontsize=style.SMALL)
        low, high = panel.axis.get_ylim()
        panel.axis.set_ylim(min(0.9, low), max(1.1, high))
    every = pd.concat([own for _, _, own in groups])
    spoken = " and ".join(sorted({style.RESPONSES[value] for value in every["response"]}))
    if gained:
        most, value, name, learner = max(gained)
        size = f"(${style.symbol_of(parameter)} =$ {style.number(value)})"
        plate.finding = f"{learner}, {name}: up to {style.number(most)} times less {spoken} {size}"
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
    plate = Plate(len(trees), 2, height=2.2)
    tally = dict.fromkeys(WINS, 0)
    for panel, tree in zip(plate.panels, trees, strict=True):
        style.log_axis(panel.axis, "x", table["eps"])
        style.log_axis(panel.axis, "y")
        for number, size in enumerate(sorted(set(table["n"]))[:MOST]):
            own = table.loc[table["n"] == size]
            drawn = Curve(own["eps"].to_numpy(dtype=float), 2.0 ** own[f"log2 T*, {tree}"].to_numpy(dtype=float))
            what = "horizon from which the tree's bound is less"
            panel.curve(f"$d =$ {style.number(size)}", drawn, style.stepped(number), what)
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
    plate = Plate(len(shapes))
    for panel, shape in zip(plate.panels, shapes, strict=True):
        own = table.loc[table["set"] == shape]
        style.log_axis(panel.axis, "x", own["dimension"], base=2)
        style.log_axis(panel.axis, "y")
        for number, operation in enumerate(operations):
            rows = own.loc[own["operation"] == operation].sort_values("dimension")
            if rows.empty:
                continue
            sizes, microseconds = rows["dimension"].to_numpy(dtype=float), 1e6 * rows["seconds"].to_numpy(dtype=float)
            power = ""
            if len(rows) > 1:
                power = f": $d^{{{np.log(microseconds) @ fits.slope_weights(np.log(sizes)):.2f}}}$"
            panel.curve(
                operation,
                Curve(sizes, microseconds),
                style.stepped(number),
                "microseconds per call",
                legend=operation + power,
            )
        panel.axis.set(xlabel=style.AXES["dimension"], ylabel=r"$\mu$s per call", title=page.name(f"set:{shape}"))
    seconds = table.pivot_table(index=["set", "dimension"], columns="operation", values="seconds")
    seconds = seconds.reindex(columns=["projection", "linear oracle"])
    ratios = (seconds["projection"] / seconds["linear oracle"]).dropna()
    for shape, size, most in ratios.nlargest(1).reset_index().to_numpy():
        factor = f"A projection costs up to {style.number(most)} times a call of the linear oracle"
        plate.finding = f"{factor} ({page.name(f'set:{shape}')}, $d =$ {style.number(size)})"
    plate.setting = "CPU time of one call on one core; in the legends the fitted powers of $d$."
    return plate

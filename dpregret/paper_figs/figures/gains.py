"""The gain of a learner from another mechanism: ratios of noise and of regret on the same losses."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.exact import mechanism_look
from dpregret.paper_figs.figures.layout import Page, Plate
from dpregret.paper_figs.figures.symbols import AXES, SPOKEN, count, share
from dpregret.paper_figs.judge.cells import NotRun
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry
from dpregret.paper_figs.judge.gains import gains

MECHANISM_OF = {"root": "root", "buffers": "buffers", "corrected-reduced": "tree, best decoder",
                "gaussian-reduced": "tree, best decoder"}  # fmt: skip
"""Variant of a learner -> its mechanism of sums; where all that is compared are such, the other one is the tree."""


def gain(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Ratios of regret with intervals and of noise (dashed), a panel a learner, stream and budget; raises NotRun."""
    asked = [each for each in claims.gains if (each.experiment, each.parameter) == (entry.experiment, entry.parameter)]
    groups = []
    for each in asked:
        alone = claims.model_copy(update={"gains": (each,)})
        found = gains(runs, alone)
        where = [f"$\\varepsilon =$ {count(float(value))}" if key == "epsilon" else f"{key} = {value}"
                 for key, value in each.where.items() if not isinstance(value, str)]  # fmt: skip
        for (learner, stream), own in found.groupby(["learner", "stream"], sort=True):
            groups.append(([page.name(str(learner)), page.name(f"stream:{stream}"), *where], str(learner), own))
    if not groups:
        raise NotRun(f"no gain of {entry.experiment} has rows")
    common = [part for part in groups[0][0] if len(groups) > 1 and all(part in title for title, _, _ in groups)]
    plate = page.plate(len(groups), 2 if len(groups) in (2, 4) else 3, height=1.85)
    most: tuple[float, str, str, float] | None = None
    for index, (title, learner, own) in enumerate(groups):
        axis = plate.axes[index]
        style.log_axis(axis, "x", base=2)
        for number, (variant, part) in enumerate(own.groupby("with", sort=True)):
            other, _, plain = str(variant).rpartition(".")
            known = plain in MECHANISM_OF and not other
            look = page.looks.of(other, plain) if other else mechanism_look(MECHANISM_OF.get(plain, ""), number)
            if not known and not other:
                look = page.looks.of(learner, plain)
            name = page.name(str(variant)) if other else MECHANISM_OF.get(plain, page.name(f".{plain}"))
            values = part["value"].to_numpy(dtype=float)
            reach = (part["ratio_high"] - part["ratio"]).to_numpy()
            plate.curve(index, name, values, part["ratio"].to_numpy(), look, reach, band=False, what="ratio of regrets",
                        hollow=(part["cell"] != "used").to_numpy(), legend=f"{name}: regret")  # fmt: skip
            if part["noise"].notna().any():
                plate.line(index, name, values, part["noise"].to_numpy(), what="ratio of noise", colour=look.colour,
                           dash=style.DASHED, legend=f"{name}: noise")  # fmt: skip
            top = part.loc[part["ratio_low"] > 1]
            if len(top):
                best = top.iloc[int(top["ratio"].to_numpy().argmax())]
                most = max(most or (0.0, "", "", 0.0), (float(best["ratio"]), name, title[0], float(best["value"])))
        axis.axhline(1.0, color=style.GUIDE, linewidth=0.7)
        axis.set_xlabel(AXES[entry.parameter or "horizon"])
        sums = all(each in MECHANISM_OF for each in own["with"])
        over = "tree" if sums else page.name(f".{own['over'].iloc[0]}")
        axis.set_ylabel(f"{over} / other")
        axis.set_title(", ".join(part for part in title if part not in common), fontsize=style.SMALL)
        low, high = axis.get_ylim()
        axis.set_ylim(min(0.9, low), max(1.1, high))
    if most is not None:
        symbol = AXES[entry.parameter or "horizon"].split("$")[1]
        spoken = SPOKEN[groups[0][2]["response"].iloc[0]]
        plate.finding = (f"{most[1]} lower{_s(most[1])} {spoken} of {most[2]} up to {share(most[0])} times "
                         f"(${symbol} =$ {count(most[3])})")  # fmt: skip
    counts = sorted({int(value) for _, _, own in groups for value in own["runs"]})
    told = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    spoken = " and ".join(sorted({SPOKEN[value] for _, _, own in groups for value in np.unique(own["response"])}))
    plate.setting = (f"Ratio of {spoken} (solid) and of the mean norm of noise (dashed), same losses, {told} runs, "
                     "bars 95 %; hollow: saturated. Above 1 the other is better."
                     + (f" Setting: {', '.join(common)}." if common else ""))  # fmt: skip
    return plate


def _s(name: str) -> str:
    return "" if name.endswith("s") else "s"

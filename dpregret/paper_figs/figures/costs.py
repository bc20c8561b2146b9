"""The costs of oracles, and the privacy loss of an item after its window."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.compare import stepped
from dpregret.paper_figs.figures.layout import Page, Plate
from dpregret.paper_figs.figures.markers import Look
from dpregret.paper_figs.figures.style import PALETTE
from dpregret.paper_figs.figures.symbols import AXES, count, share
from dpregret.paper_figs.judge import fits

OPERATIONS: Final = {
    "projection": Look(PALETTE["vermilion"], "s"),
    "projection (solver)": Look(PALETTE["wine"], "D", (0, (4, 1.8))),
    "linear oracle": Look(PALETTE["blue"], "o"),
    "local oracle": Look(PALETTE["green"], "^"),
    "gauge": Look(PALETTE["orange"], "v"),
    "separation": Look(PALETTE["purple"], "P"),
}
EXPENSIVE, CHEAP = "projection", "linear oracle"


def costs(page: Page, table: pd.DataFrame) -> Plate:
    """Microseconds per call of projection and oracles against the dimension, one panel a set."""
    shapes, operations = sorted(set(table["set"])), sorted(set(table["operation"]))
    plate = page.plate(len(shapes), height=1.75)
    ratios = []
    for index, shape in enumerate(shapes):
        axis = plate.axes[index]
        own = table.loc[table["set"] == shape]
        style.log_axis(axis, "x", own["dimension"], base=2)
        style.log_axis(axis, "y")
        beside = []
        for number, operation in enumerate(operations):
            rows = own.loc[own["operation"] == operation].sort_values("dimension")
            if rows.empty:
                continue
            look = OPERATIONS.get(operation, stepped(number))
            sizes, microseconds = rows["dimension"].to_numpy(dtype=float), 1e6 * rows["seconds"].to_numpy(dtype=float)
            plate.curve(index, operation, sizes, microseconds, look, what="microseconds per call")
            if len(rows) > 1:
                power = float(np.log(microseconds) @ fits.slope_weights(np.log(sizes)))
                beside.append((float(microseconds[-1]), f"$d^{{{power:.2f}}}$", look.colour))
        both = [own.loc[own["operation"] == name].set_index("dimension")["seconds"] for name in (EXPENSIVE, CHEAP)]
        quotient = (both[0] / both[1]).dropna()
        if len(quotient):
            ratios.append((float(quotient.max()), page.name(f"set:{shape}"), float(quotient.idxmax())))
        axis.set_xlabel(AXES["dimension"])
        axis.set_ylabel(r"$\mu$s per call")
        axis.set_title(page.name(f"set:{shape}"))
        style.readable_log(axis)
        plate.beside(index, beside)
    if ratios:
        most, where, size = max(ratios)
        plate.finding = (f"A projection costs up to {share(most)} times a call of the linear oracle "
                         f"({where}, $d =$ {count(size)})")  # fmt: skip
    plate.setting = "CPU time of one call on one core; right of a panel the fitted powers of $d$."
    return plate

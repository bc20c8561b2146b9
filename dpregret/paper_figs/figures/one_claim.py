"""The figure of one claim: its cells with 95 % intervals, beside the law that is stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.symbols import RESPONSES, axis_label
from dpregret.paper_figs.judge.cells import coordinate
from dpregret.paper_figs.judge.claims import Claim

CLAIMED, LOST = r"claimed $\varepsilon$", r"privacy loss $\varepsilon$"


def draw_claim(claim: Claim, cells: pd.DataFrame, stated: str, verdict: str, file: Path) -> bool:
    """Draw cells (columns value, mean, low, high, law, status) into a PNG file; False where there is none to draw."""
    if cells.empty:
        return False
    private = claim.type == "private"
    values = cells["value"].to_numpy(dtype=float)
    cells = cells.assign(value=values if private else np.exp(coordinate(claim, values)))  # as in a fit: log2 d, say
    with style.look():
        figure = Figure(figsize=(style.ONE_COLUMN, 2.4), layout="constrained")
        axis = figure.add_subplot()
        style.log_axis(axis, "x", cells["value"], base=10)
        if not private and (cells["mean"] > 0).all():
            style.log_axis(axis, "y")
        used = cells["status"] == "used"
        for mask, face in ((used, style.PALETTE["blue"]), (~used, "white")):
            some = cells.loc[mask]
            reach = np.abs([some["mean"] - some["low"], some["high"] - some["mean"]])
            axis.errorbar(
                some["value"], some["mean"], reach, fmt="o", color=style.PALETTE["blue"], markerfacecolor=face
            )
        if np.isfinite(cells["law"]).all():
            look: dict[str, Any] = {"marker": "_", "markersize": 24, "linestyle": "none"}
            look = look if len(cells) == 1 else {"linestyle": style.DASHED}
            axis.plot(cells["value"], cells["law"], color=style.GUIDE, label=f"stated: {stated}", **look)
            axis.legend()
        axis.set_xlabel(CLAIMED if private else axis_label(claim.parameter, claim.response, fitted=True))
        axis.set_ylabel(LOST if private else RESPONSES[claim.response])
        if axis.get_yscale() == "log":
            style.readable_log(axis)
        axis.set_title(f"{claim.id}: {verdict}")
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="png", metadata={"Software": None})
    return True

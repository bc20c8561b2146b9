"""Whether the runs of a job so far are enough, by the responses in its cells."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.runs import KEY, OPTIONS, SLOPE_SPAN
from dpregret.paper_figs.stopping import enough
from dpregret.workflows.families.fields import LOG_SLOPE, OVERHEAD, Precision

LABELS: Final = ("paper", "experiment", "learner", "variant")
PLACE: Final = tuple(name for name in (*KEY, *OPTIONS) if name not in LABELS)
"""Columns that tell the rows of a job apart."""


def reached(rows: pd.DataFrame, precision: Precision, horizons: Collection[int], anytime: bool) -> bool:
    """Whether the precision is reached in every cell.

    rows: of one learner and variant, as `Family.play` gives them. Cells are the ends of plays and, where one play
    serves all horizons (anytime), each of the horizons.
    """
    responses = _responses(rows, precision.of, horizons, anytime)
    cells = responses.groupby([name for name in responses.index.names if name != "run"], dropna=False)
    means, spreads = (np.asarray(found, dtype=np.float64) for found in (cells.mean(), cells.std()))
    return enough(means, spreads, rows["run"].nunique(), precision.error)


def _responses(rows: pd.DataFrame, of: str, horizons: Collection[int], anytime: bool) -> pd.Series[float]:
    """Responses of the cells, by `PLACE`."""
    place = [name for name in PLACE if name in rows.columns]
    wanted = rows["checkpoint"] == rows["horizon"]
    if anytime:
        wanted |= rows["checkpoint"].isin(list(horizons))
    regret: pd.Series[float] = rows.loc[wanted].set_index(place)["regret"]
    if of == LOG_SLOPE:
        before: pd.Series[float] = rows.assign(checkpoint=rows["checkpoint"] * SLOPE_SPAN).set_index(place)["regret"]
        regret = regret.sub(before).dropna() / np.log(SLOPE_SPAN)
    free = np.isinf(rows.loc[wanted, "epsilon"].to_numpy())
    if of == OVERHEAD and not free.all():  # a learner without privacy is its own counterpart
        regret = regret[~free].sub(regret[free].droplevel(["epsilon", "delta"]))
    return regret

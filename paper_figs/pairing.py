"""Learners with different numbers of runs, paired as far as they go."""

from __future__ import annotations

import pandas as pd


def fill_missing(
    joined: pd.Series[float], left: pd.DataFrame, table: pd.DataFrame, cell: list[str]
) -> pd.Series[float]:
    """What is subtracted in runs that the counterpart, with m of a cell's n runs, has not: it needed fewer.

    Its mean c of m runs stands in for it there, and c + (n / m) (c_i - c) for its own c_i where it has them. Then the
    mean response is the difference of both means, and the variance over runs that of this difference: with
    independent runs Var(p) / n + Var(c) / m - 2 Cov(p, c) / n.
    """
    if not joined.isna().any():
        return joined
    means = left[cell].merge(table.groupby(cell)["counterpart"].mean().reset_index(), on=cell, how="left")[
        "counterpart"
    ]
    places = [left[name].to_numpy() for name in cell]
    runs, known = (joined.groupby(places).transform(count) for count in ("size", "count"))
    return means.where(joined.isna(), means + (runs / known) * (joined - means))

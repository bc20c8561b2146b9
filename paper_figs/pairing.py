"""Learners with different numbers of runs, paired as far as they go."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpregret.paper_figs.stopping import caution


def fill_missing(joined: pd.Series[float], left: pd.DataFrame, cell: list[str]) -> pd.Series[float]:
    """What is subtracted from n runs of a cell where the counterpart has m of them only, since it needed fewer.

    joined: the counterpart's c_i, NaN where it has none; left: column `run` and those of `cell`, row by row. Its mean c
    stands in where it has none, and c + k (c_i - c) for its own c_i. Then the mean response is p - c, and the variance
    over runs, divided by n, that of this difference: Var(p_i) / n + Var(c_i) / m - 2 Cov(p_i, c_i) / n. For this
    k = n / m sqrt(m (n - 1) / (n (m - 1))); it is a little larger, since an interval of n runs has a smaller t quantile
    than one of m.
    """
    known = joined.notna()
    if known.all():
        return joined
    places = [left[name].to_numpy() for name in cell]
    means = joined.groupby(places).transform("mean")
    runs = left["run"].groupby(places).transform("nunique")
    own = left["run"].where(known).groupby(places).transform("nunique")
    spread = runs / own * np.sqrt(own * (runs - 1) / (runs * (own - 1)))
    spread *= own.map(caution) / runs.map(caution)
    return means.where(~known, means + spread * (joined - means))

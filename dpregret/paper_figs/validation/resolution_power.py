"""Are stated resolutions true? Laws that are off by exactly that, simulated."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import USED, Cells
from dpregret.paper_figs.judge.resolution import POWER as NOTICED
from dpregret.paper_figs.judge.resolution import beyond, log_leverage
from dpregret.paper_figs.judge.slopes import rate_of
from dpregret.paper_figs.validation.planted_laws import make_claim, own_and_common

POWER: Final = 0.5
REPLICATES: Final = 400
"""Bootstrap replicates a simulated data set."""
BATCH: Final = 500
"""Data sets simulated together."""
CAPTION: Final = (
    "Planted laws T^0.5 ln T that are off by exactly the resolution which an earlier play of the experiment stated, "
    "in the power or in the power of the logarithm, under runs that are log-normal (spread: standard deviation of the "
    f"logarithm): mean resolution, and how often the change is noticed (stated: at least {NOTICED:.0%}), with the 95 % "
    "interval of that share."
)


def resolutions(simulations: int, seed: int = 1) -> pd.DataFrame:
    """How often a law that is off by exactly the stated resolution is judged definitely otherwise.

    Each simulation plays an experiment under the claimed law, states its resolution, and plays it anew with other
    random numbers under a law whose power, or whose power of the logarithm, is off by just that, up or down in turn.
    """
    claim, found = make_claim(rate="T^0.5 ln T"), []
    rate = rate_of(claim)
    for runs, spread, cells in itertools.product((6, 16, 32), (0.1, 0.5), (4, 8)):
        horizons = np.asarray(2.0 ** np.arange(8, 8 + cells), dtype=np.float64)
        axis, factor = np.log(horizons), np.log(np.log(horizons))
        leverage = log_leverage(claim, rate, _swept(horizons))
        generator = np.random.default_rng([seed, runs, cells, round(100 * spread)])

        def fitted(law: Array, generator: np.random.Generator = generator, runs: int = runs, spread: float = spread,
                   axis: Array = axis, factor: Array = factor) -> tuple[Array, Array]:  # fmt: skip
            """Ends of the interval of response / bound, for many data sets with the laws `law` (data sets, cells)."""
            noise = own_and_common(generator, (len(law), runs, law.shape[1]))
            responses = np.exp(law[:, None, :] + spread * np.sqrt(0.5) * noise)
            _, low, high = fits.slope_intervals(responses, axis, factor + POWER * axis, replicates=REPLICATES)
            return low, high

        stated, noticed = [], np.zeros(2)
        for first in range(0, simulations, BATCH):
            count = min(BATCH, simulations - first)
            low, high = fitted(np.tile(POWER * axis + factor, (count, 1)))
            change = claim.tol + beyond((high - low) / 2, runs)
            stated.append(change)
            signs = np.where(np.arange(count) % 2, 1.0, -1.0)
            for place, shape in enumerate((axis, factor / leverage)):
                low, high = fitted(POWER * axis + factor + (signs * change)[:, None] * shape)
                noticed[place] += ((low > claim.tol) | (high < -claim.tol)).sum()
        mean = float(np.concatenate(stated).mean())
        row: dict[str, float] = {
            "runs": runs, "spread": spread, "cells": cells, "simulations": simulations, "resolution": mean,
            "resolution_log": mean / leverage,
        }  # fmt: skip
        for name, times in zip(("power", "log"), noticed.astype(int).tolist(), strict=True):
            share = stats.binomtest(times, simulations).proportion_ci(fits.LEVEL)
            row |= {f"noticed_{name}": times / simulations, f"{name}_low": share.low, f"{name}_high": share.high}
        found.append(row)
    return pd.DataFrame(found)


def _swept(horizons: Array) -> Cells:
    """Cells of a sweep over T, without responses."""
    empty = np.full(len(horizons), np.nan)
    return Cells(horizons, empty[None], empty, empty, horizons, empty, empty, (USED,) * len(horizons), empty, True)

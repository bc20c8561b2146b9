"""How small a change of a predicted law would have been noticed: the resolution of a claim.

The interval of a slope is v +- t s', where s' estimates the standard error on nu = runs - 1 degrees of freedom and t is
the 97.5 % quantile. A response whose true slope is off by `change` is judged definitely otherwise when the interval
lies beyond the tolerance. A slope that sits at an offset inside the tolerance has further to go to the other side. The
resolution is the change, in either direction, for which a repetition of the experiment with other random numbers would
be judged so with probability 0.95: tol + |v| + c s, where c solves

    P( c S + Z + Z' - t S' > 0 ) = 0.97,   Z, Z' standard normal, S^2 and S'^2 chi-squared / nu, all independent,

because the v and the s that are known here, and the s' of the repetition, are estimates. |v| counts up to the
tolerance: beyond it the claim has been judged otherwise. For many runs c is 1.96 + 1.88 sqrt(2). The two hundredths
beyond 0.95 are for skewed responses, whose s varies more than the formula assumes: the validation simulates it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from scipy import optimize, stats

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import LENGTHS, Cells, coordinate, log_factor
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.rates import Rate

POWER: Final = 0.95
"""Probability with which a change of the size of the resolution is noticed, ..."""
AIM: Final = 0.97
"""... and the one that is aimed at for normal responses."""
NODES: Final = 200
"""Quantiles of each chi variable that stand for its distribution."""
WITH_LOGARITHM: Final = (*LENGTHS, "dimension")
"""Parameters whose laws have or could have a logarithm; that of experts and windows is the parameter itself."""


@lru_cache(maxsize=64)
def reach(runs: int) -> float:
    """c above: how many standard errors beyond the tolerance a slope must lie to be noticed."""
    freedom = runs - 1
    levels = (np.arange(NODES) + 0.5) / NODES
    scales = np.sqrt(stats.chi2.ppf(levels, freedom) / freedom)
    half = fits.t_quantile(runs) * scales

    def shortfall(times: float) -> float:
        return float(stats.norm.cdf((times * scales[:, None] - half) / np.sqrt(2.0)).mean()) - AIM

    return float(optimize.brentq(shortfall, 0.0, 1e4))


def resolution(claim: Claim, rate: Rate, cells: Cells, growth: fits.Estimate) -> tuple[float, float]:
    """Smallest noticed change, in powers of the parameter and of the logarithm (NaN: the law can have none).

    `cells` are those of the fit, `growth` its slope with the interval.
    """
    half = np.asarray((growth.high - growth.low) / 2)
    change = float(noticed(np.asarray(growth.value), half, claim.tol, len(cells.responses)))
    leverage = log_leverage(claim, rate, cells)
    return change, change / abs(leverage) if leverage else float("nan")


def noticed(offset: Array, half: Array, tolerance: float, runs: int) -> Array:
    """tol + |v| + c s: the change that is noticed in both directions at an offset whose interval is +- `half`."""
    beyond = reach(runs) * half / fits.t_quantile(runs)
    return np.asarray(tolerance + np.minimum(np.abs(offset), tolerance) + beyond, dtype=np.float64)


def log_leverage(claim: Claim, rate: Rate, cells: Cells) -> float:
    """Slope that one more power of the logarithm would add on these cells; 0 where the law can have no logarithm."""
    if claim.parameter not in WITH_LOGARITHM:
        return 0.0
    law = claim.model_copy(update={"bound": "rate"})
    log: Literal["ln", "log2"] = "log2" if claim.parameter == "dimension" and rate.log_argument == "parameter" else "ln"
    with np.errstate(divide="ignore", invalid="ignore"):
        laws = [log_factor(law, replace(rate, log_power=rate.log_power + more, log=log), cells) for more in (0.0, 1.0)]
    weights = fits.slope_weights(coordinate(claim, cells.values))
    added = float((laws[1] - laws[0]) @ weights)
    return added if np.isfinite(added) else 0.0

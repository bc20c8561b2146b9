"""Valid ranges of the numbers of a finished row: the one table that plays and readers of results files hold them to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from dpregret.core.checks import LARGEST, LearnerFault, check_violation, range_in_words


class Limit(NamedTuple):
    """least, most: both ends are allowed, infinity only where it is an end. unknown: NaN is allowed."""

    least: float
    most: float
    unknown: bool = False


LIMITS: Final[Mapping[str, Limit]] = {
    **dict.fromkeys(("regret", "trivial_regret"), Limit(-LARGEST, LARGEST)),
    **dict.fromkeys(("violation", "comparator_gap", "displacement", "noise_norm"), Limit(0.0, LARGEST)),
    "bound": Limit(-LARGEST, LARGEST, unknown=True),
    "noise_scale": Limit(0.0, LARGEST, unknown=True),
    "mu_gdp": Limit(0.0, math.inf, unknown=True),
    "delivered_epsilon": Limit(0.0, math.inf),
    "epsilon": Limit(float(np.finfo(np.float64).smallest_subnormal), math.inf),
    "delta": Limit(0.0, 1.0),
}
"""Column -> what a row with status ok may hold."""


def first_fault(rows: pd.DataFrame) -> str | None:
    """A sentence about the first number of finished rows that cannot be; None where all can. Missing columns pass."""
    for name, limit in LIMITS.items():
        if name not in rows:
            continue
        values = rows[name].to_numpy(dtype=np.float64)
        fine = (values >= limit.least) & (values <= limit.most)
        if limit.unknown:
            fine |= np.isnan(values)
        if not fine.all():
            return f"{name} is {values[~fine][0]:.6g}, must be {range_in_words(*limit)}"
    return None


def check_rows(rows: pd.DataFrame, domain: Any | None) -> None:
    """Raise LearnerFault for a number of a play that cannot be, or points outside the set (where there is one)."""
    fault = first_fault(rows)
    if fault is not None:
        raise LearnerFault(fault)
    if domain is not None and "violation" in rows:
        check_violation(float(rows["violation"].max()), domain)

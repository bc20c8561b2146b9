"""Risks by name; the one entrance to the risks of this package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpregret.core.sets import ConstraintSet
from dpregret.datasets.catalogue import build
from dpregret.datasets.risk_base import RiskSource

__all__ = ["RiskSource", "make_risk"]


def make_risk(
    name: str,
    domain: ConstraintSet,
    samples: int,
    generators: Sequence[np.random.Generator],
    *,
    data_dir: str | Path | None = None,
    **options: Any,
) -> Any:
    """Build the risk of ``samples`` records a run on a constraint set: an `EmpiricalRisk` or a `PopulationRisk`.

    A run's data depend on its own generator only. ``data_dir`` is the folder of prepared data, for risks that read
    some. Options are the parameters of the risk's class after the first three.

    Raises ValueError for an unknown name or option, a missing option, or values that the risk cannot serve;
    `catalogue.UnreadDataError` where all fits but data are needed and `data_dir` was not given.
    """
    return build("risk", RiskSource, name, (domain, samples, generators), options, data_dir)

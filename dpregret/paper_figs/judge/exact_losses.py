"""Exact privacy losses that decide a claim which a ledger, an upper bound, cannot decide."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pandas as pd

from dpregret.paper_figs.text import formats

ROUNDING: Final = 1e-6
"""Relative slack of privacy comparisons: epsilon is found to about this accuracy."""

LEAST: Final = 0.01
"""The smallest epsilon at which statements are tried."""


@dataclass(frozen=True)
class ExactLoss:
    """The privacy loss of a mechanism at its delta on named neighbours, computed without sampling.

    claimed: the epsilon that it promises there. attained: what it loses, a lower bound over all neighbours. on: the
    neighbours and the setting, in words. fails_from: the smallest epsilon at which these neighbours refute it there, 0
    where that is LEAST, NaN where none does.
    """

    claimed: float
    attained: float
    on: str
    fails_from: float = math.nan

    @property
    def refutes(self) -> bool:
        """Whether the promise is false."""
        return self.attained > self.claimed * (1 + ROUNDING)

    def __str__(self) -> str:
        return f"loses eps = {self.lost} where {self.claimed:g} is claimed, exactly: {self.on}{self.start}"

    @property
    def lost(self) -> str:
        """The loss, as every page writes it."""
        return formats.significant(self.attained)

    @property
    def start(self) -> str:
        """From which epsilon on, as every page writes it; empty where that is not known."""
        if not self.refutes or math.isnan(self.fails_from):
            return ""
        where = f"from eps = {self.fails_from:.3g} on" if self.fails_from else f"down to eps = {LEAST}, the least tried"
        return f"; fails {where}"

    @classmethod
    def read(cls, path: Path) -> dict[str, ExactLoss]:
        """The losses from `write_exact_losses`, by name."""
        rows = formats.read_csv(path).to_dict("records")
        return {
            str(row["name"]): cls(row["claimed"], row["attained"], str(row["on"]), row.get("fails_from", math.nan))
            for row in rows
        }


ExactLosses = Mapping[str, ExactLoss]
NOTHING: Final[ExactLosses] = MappingProxyType({})


def write_exact_losses(losses: ExactLosses, path: Path) -> None:
    """One row a loss: name, claimed, attained, on, fails_from."""
    formats.write_csv(pd.DataFrame([{"name": name, **asdict(loss)} for name, loss in losses.items()]), path)

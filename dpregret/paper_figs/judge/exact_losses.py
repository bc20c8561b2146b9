"""Exact privacy losses that decide a claim which a ledger, an upper bound, cannot decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pandas as pd

from dpregret.paper_figs.text import formats

ROUNDING: Final = 1e-6
"""Relative slack of privacy comparisons: epsilon is found to about this accuracy."""


@dataclass(frozen=True)
class ExactLoss:
    """What a mechanism loses at its delta on neighbours that are named, computed without sampling.

    claimed: the epsilon that it promises there. attained: what it loses, a lower bound over all neighbours. on: the
    neighbours and the setting, in words.
    """

    claimed: float
    attained: float
    on: str

    @property
    def refutes(self) -> bool:
        """Whether the promise is false."""
        return self.attained > self.claimed * (1 + ROUNDING)

    def __str__(self) -> str:
        return f"loses eps = {self.attained:.4g} where {self.claimed:g} is claimed, exactly: {self.on}"

    @classmethod
    def read(cls, path: Path) -> dict[str, ExactLoss]:
        """What `write_exact_losses` wrote, by name."""
        rows = formats.read_csv(path).to_dict("records")
        return {str(row["name"]): cls(row["claimed"], row["attained"], str(row["on"])) for row in rows}


ExactLosses = Mapping[str, ExactLoss]
NOTHING: Final[ExactLosses] = MappingProxyType({})


def write_exact_losses(losses: ExactLosses, path: Path) -> None:
    """One row a loss: name, claimed, attained, on."""
    formats.write_csv(pd.DataFrame([{"name": name, **asdict(loss)} for name, loss in losses.items()]), path)

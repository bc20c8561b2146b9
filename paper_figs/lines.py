"""The lines of a claims file with their verdicts, as files: claims.csv, and checks.csv beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from dpregret.paper_figs import formats

FILES: Final = {"claim": "claims.csv", "check": "checks.csv"}
"""Kind of line -> the file that holds the lines of this kind, and no others."""


def write_lines(judged: pd.DataFrame, out: Path) -> None:
    """Write claims and checks into `out`; checks say `why` they could not have come out otherwise."""
    for kind, name in FILES.items():
        rows = judged.loc[judged["kind"] == kind].drop(columns=["kind"])
        formats.write_csv(rows if kind == "check" else rows.drop(columns=["why"]), out / name)


def read_lines(folder: Path, text: bool = False) -> pd.DataFrame:
    """All lines in a folder of results, those that are claims first, with the column `kind`.

    `text` leaves every cell as it is written. A folder without checks has none; without claims FileNotFoundError.
    """
    options = {"dtype": str, "keep_default_na": False} if text else {}
    frames = [
        formats.read_csv(folder / name, **options).assign(kind=kind)
        for kind, name in FILES.items()
        if kind == "claim" or (folder / name).exists()
    ]
    found: pd.DataFrame = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    return found.fillna({"why": ""})

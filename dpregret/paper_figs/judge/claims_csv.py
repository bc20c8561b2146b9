"""The lines of a claims file with their verdicts, as files: claims.csv, and checks.csv beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any, Final

import pandas as pd

from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.judge.vocabulary import CHECKS, CLAIMS
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.read_table import DamageError, Form, read_table

FILES: Final = {"claim": "claims.csv", "check": "checks.csv"}
"""Kind of line -> the file that holds the lines of this kind, and no others."""
SAME: Final = ("learner", "variant", "experiment", "stream", "parameter", "response")
"""The measured quantity of a line."""
FITTED: Final = ("fitted", "fitted_low", "fitted_high", "cells_used")
NUMBER: Final = ("log_aware", "log_aware_low", "log_aware_high")
"""The columns of `number`."""
INTERVALS: Final = ("fitted", "log_aware", "normalised", "late", "bend", "log_level")
LARGEST: Final = 100.0
"""No exponent, and no logarithm of a level, is larger."""
NUMBERS: Final = (
    "tolerance", "resolution", "resolution_log", "end_low", "end_high", "largest_run", "per_octave", "delta_aic",
    "runs",
    *(f"{name}{end}" for name in INTERVALS for end in ("", "_low", "_high")),
)  # fmt: skip
FORMS: Final = {
    kind: Form(
        needed=("claim", "verdict"), key=("claim",),
        numbers=NUMBERS, words={"verdict": frozenset(words)}, intervals=INTERVALS, largest=LARGEST,
    )
    for kind, words in (("claim", CLAIMS), ("check", CHECKS))
}  # fmt: skip
"""Kind of line -> what its file has to look like; tables of older runs lack some columns."""


def number(record: Mapping[Any, object]) -> str:
    """The number of a claim on every page: the power that was fitted beside the law's logarithms, with its interval.

    Empty where nothing was fitted. `record` is a row of claims.csv or checks.csv, as numbers or as text.
    """
    value, low, high = (float(str(record[name]) or "nan") for name in NUMBER)
    return formats.with_interval(Estimate(value, low, high)) if isfinite(value) else ""


def write_lines(judged: pd.DataFrame, out: Path) -> None:
    """Write claims and checks into `out`; checks say `why` they could not have come out otherwise."""
    for kind, name in FILES.items():
        rows = judged.loc[judged["kind"] == kind].drop(columns=["kind"])
        formats.write_csv(rows if kind == "check" else rows.drop(columns=["why"]), out / name)


def read_lines(folder: Path, text: bool = False, needed: Sequence[str] = ()) -> pd.DataFrame:
    """All lines in a folder of results, those that are claims first, with the column `kind`.

    `text` leaves every cell as it is written; `needed` are further columns that must be there.
    A folder without checks has none; without claims FileNotFoundError.
    Raises DamageError, in one line, for a file that cannot be trusted.
    """
    frames = [
        read_table(folder / name, replace(FORMS[kind], needed=(*FORMS[kind].needed, *needed)), text).assign(kind=kind)
        for kind, name in FILES.items()
        if kind == "claim" or (folder / name).exists()
    ]
    found = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    if found["claim"].duplicated().any():
        name = found.loc[found["claim"].duplicated(), "claim"].iloc[0]
        raise DamageError(f"{folder}: {name!r} is both a claim and a check")
    return found.fillna({"why": ""}) if "why" in found else found.assign(why="")

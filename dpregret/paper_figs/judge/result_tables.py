"""The results of a paper as tables: claims.csv, checks.csv, jobs.csv and the exact losses, written and read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.judge.vocabulary import CHECKS, CLAIMS
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import DamageError, Form, read_table

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


def number(record: Mapping[Any, object], name: str = NUMBER[0]) -> str:
    """The number of a claim on every page: the power that was fitted beside the law's logarithms, with its interval.

    Empty where nothing was fitted. `record` is a row of claims.csv or checks.csv, as numbers or as text; `name` another
    of its estimates.
    """
    value, low, high = (float(str(record[f"{name}{end}"]) or "nan") for end in ("", "_low", "_high"))
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


JOBS: Final = "jobs.csv"
JOB_KEY: Final = ("experiment", "learner", "variant")
HASHES: Final = {"configuration": "config_hash", "code": "code_hash"}
JOBS_FORM: Final = Form(
    needed=("profile", *JOB_KEY, "status", "runs", "level", "level_low", "level_high", "largest_run", "violation",
            "delivered", "noise_scale", *HASHES.values()),
    key=JOB_KEY, numbers=("level", "level_low", "level_high", "largest_run", "violation", "delivered", "noise_scale"),
    filled=("runs",), intervals=("level",),
)  # fmt: skip


def write_jobs(runs: pd.DataFrame, out: Path, profile: str) -> None:
    """Write jobs.csv from the checked rows of a paper.

    status: `ok`, or what failed. level: the mean over the ends of plays of regret / trivial regret (of excess risk
    likewise), with its interval over runs; largest_run: the share of one run in its spread. violation: the largest.
    delivered: the largest delivered eps over the eps that was requested; none where nothing is promised. noise_scale:
    its geometric mean over cells.
    """
    rows = [
        {"profile": profile, **dict(zip(JOB_KEY, key, strict=True)), **_job(group)}
        for key, group in runs.groupby(list(JOB_KEY), sort=True)
    ]
    formats.write_csv(pd.DataFrame(rows), out / JOBS)


def read_jobs(folder: Path) -> pd.DataFrame:
    """The jobs of a paper; raises DamageError and OSError."""
    return read_table(folder / JOBS, JOBS_FORM)


def _job(rows: pd.DataFrame) -> dict[str, Any]:
    failed = rows.loc[rows["status"] != "ok", "status"]
    ends = rows.loc[(rows["checkpoint"] == rows["horizon"]) & (rows["trivial_regret"] > 0)]
    ratios = (ends["regret"] / ends["trivial_regret"]).groupby(ends["run"]).mean().to_numpy(dtype=float)
    level, share = fits.UNKNOWN, np.nan
    if len(ratios) > 1 and np.isfinite(ratios).all():
        level, spread = fits.mean_interval(ratios), (ratios - ratios.mean()) ** 2
        share = float(spread.max() / spread.sum()) if spread.sum() > 0 else 0.0
    private = rows.loc[np.isfinite(rows["epsilon"])]
    scales = rows.loc[rows["noise_scale"] > 0, "noise_scale"].to_numpy(dtype=float)
    delivered = float((private["delivered_epsilon"] / private["epsilon"]).max())
    return {
        "status": str(failed.iloc[0]) if len(failed) else "ok",
        "runs": rows["run"].nunique(),
        **level.columns("level"), "largest_run": share,
        "violation": float(rows["violation"].max()),
        "delivered": delivered if np.isfinite(delivered) else np.nan,
        "noise_scale": float(np.exp(np.log(scales).mean())) if len(scales) else np.nan,
        **{column: str(rows[column].iloc[0]) for column in HASHES.values()},
    }  # fmt: skip


PRIVACY_ROUNDING: Final = 1e-6
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
        return self.attained > self.claimed * (1 + PRIVACY_ROUNDING)

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

"""The inputs and results of every job of a paper, as jobs.csv: one row a learner variant and experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.read_table import Form, read_table

FILE: Final = "jobs.csv"
KEY: Final = ("experiment", "learner", "variant")
HASHES: Final = {"configuration": "config_hash", "code": "code_hash"}
FORM: Final = Form(
    needed=("profile", *KEY, "status", "runs", "level", "level_low", "level_high", "largest_run", "violation",
            "delivered", "noise_scale", *HASHES.values()),
    key=KEY, numbers=("level", "level_low", "level_high", "largest_run", "violation", "delivered", "noise_scale"),
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
        {"profile": profile, **dict(zip(KEY, key, strict=True)), **_job(group)}
        for key, group in runs.groupby(list(KEY), sort=True)
    ]
    formats.write_csv(pd.DataFrame(rows), out / FILE)


def read_jobs(folder: Path) -> pd.DataFrame:
    """The jobs of a paper; raises DamageError and OSError."""
    return read_table(folder / FILE, FORM)


def _job(rows: pd.DataFrame) -> dict[str, Any]:
    failed = rows.loc[rows["status"] != "ok", "status"]
    ends = rows.loc[(rows["checkpoint"] == rows["horizon"]) & (rows["trivial_regret"] > 0)]
    ratios = (ends["regret"] / ends["trivial_regret"]).groupby(ends["run"]).mean().to_numpy(dtype=float)
    level, share = fits.Estimate(np.nan, np.nan, np.nan), np.nan
    if len(ratios) > 1 and np.isfinite(ratios).all():
        level, spread = fits.mean_interval(ratios), (ratios - ratios.mean()) ** 2
        share = float(spread.max() / spread.sum()) if spread.sum() > 0 else 0.0
    private = rows.loc[np.isfinite(rows["epsilon"])]
    scales = rows.loc[rows["noise_scale"] > 0, "noise_scale"].to_numpy(dtype=float)
    delivered = float((private["delivered_epsilon"] / private["epsilon"]).max())
    return {
        "status": str(failed.iloc[0]) if len(failed) else "ok",
        "runs": rows["run"].nunique(),
        "level": level.value, "level_low": level.low, "level_high": level.high, "largest_run": share,
        "violation": float(rows["violation"].max()),
        "delivered": delivered if np.isfinite(delivered) else np.nan,
        "noise_scale": float(np.exp(np.log(scales).mean())) if len(scales) else np.nan,
        **{column: str(rows[column].iloc[0]) for column in HASHES.values()},
    }  # fmt: skip

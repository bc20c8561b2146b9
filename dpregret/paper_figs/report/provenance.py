"""Where a run's numbers come from: commit, configuration, machine, and what the jobs took."""

from __future__ import annotations

import csv
import datetime
import importlib.metadata
import json
import math
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from dpregret.core.files import RECORDS
from dpregret.core.machine import machine
from dpregret.paper_figs.text import formats

PACKAGES: Final = ("numpy", "scipy", "pandas", "scikit-learn", "dp-accounting", "snakemake")
OTHER: Final = "other"
NUMBERS: Final = ("s", "max_rss")
"""Of Snakemake's records: wall time and memory. Their CPU time misses most of a job's children."""
CPU: Final = "cpu"
"""CPU seconds of a job and its children by the kernel, from the record of how its outputs were made."""


def gather(results: Path, profile: str, config: str) -> dict[str, Any]:
    """The facts of a run on the first screen: times of all jobs of `results`, git and the machine.

    cpu_minutes, per_part: NaN where a job has no record of its CPU time.
    """
    times, repository = job_times(results), Path(__file__).resolve().parents[3]
    longest = "".join(f"{row.job}, {row.s:.0f} s" for row in times.sort_values("s").tail(1).itertuples())
    return {
        "profile": profile,
        "config": config,
        "commit": git(repository, "describe", "--always", "--dirty=, with changes", "--abbrev=12") or "",
        "made": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES),
        "jobs": len(times),
        "cpu_minutes": float(times[CPU].sum(skipna=False)) / 60,
        "longest": longest,
        "memory_mb": float(times["max_rss"].max()) if len(times) else 0.0,
        "per_part": {part: float(jobs[CPU].sum(skipna=False)) / 60 for part, jobs in times.groupby("part", sort=False)},
    }


def in_minutes(minutes: float | None) -> str:
    """CPU minutes as text; a dash where they were not recorded."""
    return formats.DASH if minutes is None or math.isnan(minutes) else f"{minutes:.1f} min"


def job_times(results: Path) -> pd.DataFrame:
    """One row per job: part (its first folder), job, s (seconds of wall time), max_rss (megabytes), cpu (CPU seconds of
    the job and its children; NaN where they were not recorded)."""
    folder = results / "benchmark"
    files = {file.relative_to(folder).as_posix().removesuffix(".tsv"): file for file in folder.rglob("*.tsv")}
    rows: list[dict[str, Any]] = []
    for job, file in sorted(files.items()):
        part = job.split("/")[0] if "/" in job else OTHER
        with file.open(encoding="utf-8", newline="") as lines:
            last = list(csv.DictReader(lines, delimiter="\t"))[-1:]
        cpu = _cpu_seconds(results, job)
        rows += [{"part": part, "job": job, **{name: row[name] for name in NUMBERS}, CPU: cpu} for row in last]
    table = pd.DataFrame(rows, columns=["part", "job", *NUMBERS, CPU])
    return table.assign(**{name: pd.to_numeric(table[name], errors="coerce") for name in (*NUMBERS, CPU)})


def _cpu_seconds(results: Path, job: str) -> float:
    """Of the record of a job; data sets are those of all profiles, and have theirs in the folder above."""
    for folder in (results, results.parent):
        try:
            return float(json.loads((folder / RECORDS / f"{job}.json").read_bytes())[CPU])
        except (OSError, ValueError, TypeError, KeyError):
            continue
    return math.nan


def write_resources(folders: Sequence[Path], out: Path) -> None:
    """The cost of finished runs, as CSV: one row per profile (the name of its folder) and part of it."""
    tables = [job_times(folder).assign(profile=folder.name) for folder in folders]
    jobs = pd.concat(tables).replace({"profile": {"results": "full"}}).groupby(["profile", "part"], sort=False)
    seconds = {
        "CPU seconds": jobs[CPU].agg(lambda spent: spent.sum(skipna=False)),
        "wall seconds of all jobs": jobs["s"].sum(),
        "wall seconds of the longest job": jobs["s"].max(),
    }
    memory = jobs["max_rss"].max().round()
    table = pd.DataFrame({"jobs": jobs.size(), **seconds}).round(1).assign(**{"most memory of a job, MB": memory})
    table.reset_index().to_csv(out, index=False)


def git(folder: Path, *arguments: str) -> str | None:
    """The output of git in a folder; None where it is no repository, or there is no git."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


if __name__ == "__main__":
    write_resources([Path(folder) for folder in sys.argv[2:]], Path(sys.argv[1]))

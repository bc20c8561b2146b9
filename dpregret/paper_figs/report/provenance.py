"""Where a run's numbers come from: commit, configuration, machine, and what the jobs took."""

from __future__ import annotations

import csv
import datetime
import importlib.metadata
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from dpregret.core.machine import machine

PACKAGES: Final = ("numpy", "scipy", "pandas", "scikit-learn", "dp-accounting", "snakemake")
OTHER: Final = "other"
NUMBERS: Final = ("s", "max_rss")
"""Of Snakemake's records. A job holds one processor for s seconds; the CPU time there misses most of its children's."""


def gather(results: Path, profile: str, config: str) -> dict[str, Any]:
    """The facts of a run on the first screen: times of all jobs below `results`/benchmark, git and the machine."""
    times, repository = job_times(results / "benchmark"), Path(__file__).resolve().parents[3]
    longest = "".join(f"{row.job}, {row.s:.0f} s" for row in times.sort_values("s").tail(1).itertuples())
    minutes = times.groupby("part", sort=False)["s"].sum() / 60
    return {
        "profile": profile,
        "config": config,
        "commit": git(repository, "describe", "--always", "--dirty=, with changes", "--abbrev=12") or "",
        "made": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES),
        "jobs": len(times),
        "minutes": float(times["s"].sum()) / 60,
        "longest": longest,
        "memory_mb": float(times["max_rss"].max()) if len(times) else 0.0,
        "per_part": minutes.to_dict(),
    }


def job_times(folder: Path) -> pd.DataFrame:
    """One row per job: part (its first folder), job, s (seconds), max_rss (megabytes)."""
    files = {file.relative_to(folder).as_posix().removesuffix(".tsv"): file for file in folder.rglob("*.tsv")}
    rows: list[dict[str, str]] = []
    for job, file in sorted(files.items()):
        part = job.split("/")[0] if "/" in job else OTHER
        with file.open(encoding="utf-8", newline="") as lines:
            last = list(csv.DictReader(lines, delimiter="\t"))[-1:]
        rows += [{"part": part, "job": job, **{name: row[name] for name in NUMBERS}} for row in last]
    table = pd.DataFrame(rows, columns=["part", "job", *NUMBERS])
    return table.assign(**{name: pd.to_numeric(table[name], errors="coerce") for name in NUMBERS})


def write_resources(folders: Sequence[Path], out: Path) -> None:
    """The cost of finished runs, as CSV: one row per profile (the name of its folder) and part of it."""
    tables = [job_times(folder / "benchmark").assign(profile=folder.name) for folder in folders]
    jobs = pd.concat(tables).replace({"profile": {"results": "full"}}).groupby(["profile", "part"], sort=False)
    columns = {"seconds on one CPU": jobs["s"].sum(), "longest job, seconds": jobs["s"].max()}
    memory = jobs["max_rss"].max().round()
    table = pd.DataFrame({"jobs": jobs.size(), **columns}).round(1).assign(**{"most memory of a job, MB": memory})
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

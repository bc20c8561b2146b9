"""What finished runs took: one row a profile and part of it, from the records that jobs leave."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dpregret.core.errors import ConfigError

TABLE = Path(__file__).resolve().parents[2] / "results" / "reference" / "resources.csv"


def taken(folders: Sequence[Path]) -> pd.DataFrame:
    """Jobs, CPU seconds, the longest job's, and most memory, of runs such as results and results/ci.

    A part is a folder of records (a paper, the audit) or a single job beside them. Raises ConfigError where a run has
    left no record.
    """
    lines = []
    for folder in folders:
        profile = "full" if folder.name == "results" else folder.name
        files = sorted((folder / "benchmark").rglob("*.tsv"))
        if not files:
            raise ConfigError(f"{folder}: no job has left a record of what it took")
        for file in files:
            record = pd.read_csv(file, sep="\t").iloc[0]
            part = file.relative_to(folder / "benchmark").parts[0].removesuffix(".tsv")
            lines.append((profile, part, float(record["cpu_time"]), float(record["max_rss"])))
    jobs = pd.DataFrame(lines, columns=["profile", "part", "seconds", "megabytes"])
    by_part = jobs.groupby(["profile", "part"], sort=False)
    return pd.DataFrame(
        {
            "jobs": by_part.size(),
            "CPU seconds": by_part["seconds"].sum().round(1),
            "longest job, CPU seconds": by_part["seconds"].max().round(1),
            "most memory of a job, MB": by_part["megabytes"].max().round(),
        }
    ).reset_index()

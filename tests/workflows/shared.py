"""What two equal runs share: all files without measured times, and of rows their numbers."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from dpregret.core.parquet import Stamp
from dpregret.workflows.run import archive

TIMED = (
    "*/oracles.parquet", "*/costs.*", "*/figures/*cost*", "*/exact/cpu.*", "winners/times.csv", "report.html",
    "*/report.html", archive.ORIGIN, "plan.json",
)  # fmt: skip


def shared(results: Path) -> dict[str, str]:
    """File of a finished run -> its SHA-256; of rows a hash of all columns but the times."""
    listed = {name: digest for name, digest in archive.listed(results).items() if not timed(name)}
    return {name: Stamp.of(results / name).numbers if "/runs/" in name else digest for name, digest in listed.items()}


def timed(name: str) -> bool:
    """Whether a file holds measured times, or, as the plan does, keys of those that are kept as the reference."""
    return any(fnmatchcase(name, pattern) for pattern in TIMED)

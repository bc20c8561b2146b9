"""The manifest of a run: every file with its checksum, the job that made it, and what all were made with.

`results/[PROFILE/]manifest.json` is written at the end of a command. It is put together from the seals (seals.py) and
lists what the configuration asks for; files that an earlier configuration has left are not in it.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dpregret
from dpregret.core.files import atomic_write, checksum
from dpregret.core.stamped import Stamp, StampError
from dpregret.workflows import seals
from dpregret.workflows.archive import LOCK, NAME, self_checked
from dpregret.workflows.config import Config, experiment_jobs
from dpregret.workflows.fingerprint import ROOT, code_fingerprint
from dpregret.workflows.origin import origin

FORMAT = 1
RECORDS = (seals.FOLDER, "log", "benchmark")  # what jobs write beside their results
TIMED = (
    "*/runs/*.parquet",
    "*/oracles.parquet",
    "*/costs.*",
    "*/figures/*cost*",
    "*/exact/cpu.*",
    "winners/times.csv",
    "report.html",
    "*/report.html",
)

SAME, TIMES, RECORD = "same", "times", "record"
"""Kinds of files: equal in two equal runs, byte for byte; with measured times in them; of how a run went."""


def write(results: Path, config: Config, wanted: Iterable[str], sums: seals.Checksums) -> None:
    """Write the manifest of a folder of results; wanted: what a whole run of the configuration makes."""
    content = build(results, config, wanted, sums)
    with atomic_write(results / NAME) as temporary:
        temporary.write_text(json.dumps(self_checked(content), indent=1), encoding="utf-8")


def build(results: Path, config: Config, wanted: Iterable[str], sums: seals.Checksums) -> dict[str, Any]:
    """The content of the manifest."""
    runs = {f"{job.paper}/runs/{job.experiment}/{job.learner}.{job.variant}.parquet" for job in experiment_jobs(config)}
    files: dict[str, dict[str, Any]] = {}
    jobs: dict[str, list[str]] = {}
    for path in seals.files_of(results / seals.FOLDER):
        seal, job = seals.Seal.read(path), path.relative_to(results / seals.FOLDER).with_suffix("").as_posix()
        outputs = [name for name in (seal.outputs if seal else ()) if _asked(name, config, runs, results)]
        if seal and outputs:
            jobs[job] = list(seal.asked)
            files |= {name: _entry(results, name, sums) | {"job": job} for name in outputs}
            for folder, suffix in zip(RECORDS, (".json", ".log", ".tsv"), strict=True):
                name = f"{folder}/{job}{suffix}"
                if (results / name).is_file():
                    files[name] = _entry(results, name, sums)
    same = "".join(f"{name} {files[name]['sha256']}\n" for name in sorted(files) if files[name]["kind"] == SAME)
    lock = ROOT / LOCK
    return {
        "format": FORMAT,
        "profile": config.profile,
        "finished": all(Path(name).exists() for name in wanted),
        "dpregret": dpregret.__version__,
        "python": platform.python_version(),
        **origin(),
        "code": code_fingerprint(),
        "lock": checksum(lock) if lock.exists() else None,
        "same": hashlib.sha256(same.encode()).hexdigest(),
        "configuration": json.loads(config.to_json()),
        "jobs": jobs,
        "files": dict(sorted(files.items())),
    }


def _asked(name: str, config: Config, runs: set[str], results: Path) -> bool:
    """Whether an output is what the configuration asks for, and not left from another."""
    first, *rest = name.split("/")
    if not (results / name).is_file() or first in ("..", *RECORDS):
        return False
    if rest[:1] == ["runs"]:
        return name in runs
    return first in config.papers or not rest or first in ("audit", "validation", "winners")


def _entry(results: Path, name: str, sums: seals.Checksums) -> dict[str, Any]:
    kind = RECORD if name.startswith(tuple(f"{folder}/" for folder in RECORDS)) else SAME
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in TIMED):
        kind = TIMES
    found = {"sha256": sums(results / name), "bytes": (results / name).stat().st_size, "kind": kind}
    if "/runs/" in name:  # of oracles even the number of calls follows the clock
        with contextlib.suppress(StampError):  # `verify` tells
            found["numbers"] = Stamp.of(results / name).numbers
    return found


def current(results: Path) -> bool:
    """Whether there is a manifest, whole, that no job is younger than."""
    try:
        written, said = (results / NAME).stat().st_mtime_ns, json.loads((results / NAME).read_bytes())
        whole = self_checked(said) == said
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return False
    return whole and all(path.stat().st_mtime_ns <= written for path in seals.files_of(results / seals.FOLDER))

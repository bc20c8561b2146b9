"""Seals: what a job made, from what, and what it was asked; so that nothing stale passes for fresh.

A job that ends well writes one beside its results (`results/[PROFILE/]seals/...`, as its log). Before a command plans
its jobs it compares every seal with the files and with what it asks now: what does not fit is made again, whatever
Snakemake's own records say. Paths in a seal start at its folder of results, so that a copied folder can be judged.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from dpregret.core import files

FOLDER, FORMAT = "seals", 1
KEPT = Path(".snakemake") / "checksums.json"
MARK = ".snakemake_timestamp"
JUST_NOW = 2 * 10**9  # nanoseconds: a file changed as lately may change again without a new date

UNSEALED = "without a seal"
OTHERWISE = "of other settings or code"
CHANGED = "edited or damaged, with those of the same job"
FROM_OTHERS = "of other inputs"


def beside(log: Path, folder: str, suffix: str) -> Path:
    """Where something of a job is whose log is ``.../log/...``: beside the folder ``log``."""
    parts = list(log.with_suffix(suffix).parts)
    parts[len(parts) - 1 - parts[::-1].index("log")] = folder
    return Path(*parts)


class Checksums:
    """SHA-256 of files, computed again only where size, dates or inode differ.

    The date of the last change of the inode is among them, which no program can set: an edit that puts the date of the
    content back is seen.
    """

    def __init__(self, kept: Path | None = KEPT) -> None:
        self.kept, self.new = kept, dict[str, list[Any]]()
        self.known: dict[str, list[Any]] = (files.kept(kept) if kept else None) or {}
        self.seen: dict[Path, str] = {}

    def __call__(self, path: Path) -> str:
        """SHA-256 of a file. Raises OSError."""
        if path not in self.seen:
            told, name = path.stat(), str(path)
            marks = [told.st_size, told.st_mtime_ns, told.st_ctime_ns, told.st_ino]
            known = self.known.get(name)
            found = known[-1] if known and known[:-1] == marks else files.checksum(path)
            self.seen[path] = found
            if time.time_ns() - max(told.st_mtime_ns, told.st_ctime_ns) > JUST_NOW:
                self.new[name] = [*marks, found]
        return self.seen[path]

    def save(self) -> None:
        """Keep them; a full disk is no reason to stop."""
        if self.kept and any(self.known.get(name) != each for name, each in self.new.items()):
            with contextlib.suppress(OSError):
                files.keep(self.kept, {**self.known, **self.new})


def files_of(path: Path) -> list[Path]:
    """A file, or all files below a folder, in order; not what Snakemake leaves in a folder."""
    if not path.is_dir():
        return [path]
    return sorted(Path(where, name) for where, _, names in os.walk(path) for name in names if name != MARK)


def relative(path: Path, root: Path) -> str:
    """The name of a file in the seals of a folder of results."""
    return Path(os.path.relpath(path, root)).as_posix()


@dataclass(frozen=True)
class Seal:
    """asked: the parameters of the rule, in words. inputs, outputs: file -> SHA-256."""

    asked: tuple[str, ...]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    @classmethod
    def read(cls, path: Path) -> Seal | None:
        """None where there is none that can be read."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return cls.parse(path.read_bytes())
        return None

    @classmethod
    def parse(cls, text: bytes) -> Seal:
        """Raises ValueError, KeyError, TypeError or AttributeError for what is no seal."""
        said = json.loads(text)
        if said["format"] != FORMAT:
            raise ValueError(f"format {said['format']}")
        parts = {name: {str(key): str(each) for key, each in said[name].items()} for name in ("inputs", "outputs")}
        return cls(tuple(map(str, said["asked"])), **parts)

    def write(self, path: Path) -> None:
        """With what made it."""
        said = {"format": FORMAT, "python": platform.python_version(), **asdict(self)}
        with files.atomic_write(path) as temporary:
            temporary.write_text(json.dumps(said, indent=1), encoding="utf-8")


def place_of(log: Path) -> tuple[Path, Path]:
    """The seal of the job that has this log, and the folder of results that it is in."""
    seal = beside(log, FOLDER, ".json")
    root = seal.parent
    while root.name != FOLDER:
        root = root.parent
    return seal, root.parent


def seal(log: Path, asked: Sequence[str], inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Seal what a job has made."""
    place, root = place_of(log)

    def sums(paths: Iterable[Path]) -> dict[str, str]:
        return {relative(file, root): files.checksum(file) for path in paths for file in files_of(path)}

    Seal(tuple(asked), sums(inputs), sums(outputs)).write(place)


def fault(
    log: Path, asked: Sequence[str], outputs: Iterable[Path], sums: Callable[[Path], str]
) -> tuple[str, Path] | None:
    """Why what is there may not be used, and a file that shows it; None: it may.

    What is missing altogether is no fault: it will be made anyway.
    """
    place, root = place_of(log)
    there = {relative(file, root): file for path in outputs if path.exists() for file in files_of(path)}
    if not there:
        return None
    first, found = next(iter(there.values())), Seal.read(place)
    if found is None:
        return UNSEALED, first
    if list(found.asked) != list(asked):
        return OTHERWISE, first
    missing = [root / name for name in found.outputs if name not in there]
    changed = missing + [file for name, file in there.items() if found.outputs.get(name) != sums(file)]
    if changed:
        return CHANGED, changed[0]
    used = {root / name: digest for name, digest in found.inputs.items()}
    others = [file for file, digest in used.items() if file.exists() and sums(file) != digest]
    return (FROM_OTHERS, others[0]) if others else None


def words(params: Iterable[object]) -> list[str]:
    """The parameters of a rule as they reach its job's command line."""
    return [text for each in params if (text := str(each))]


Stale = tuple[Any, str, Path]
"""A job of Snakemake's plan, why what it has made may not be used, and a file that shows it."""


def stale(jobs: Iterable[Any], sums: Checksums) -> Iterator[Stale]:
    """Those of a plan."""
    for job in jobs:
        if job.log and job.output:
            found = fault(Path(job.log[0]), words(job.params), map(Path, job.output), sums)
            if found:
                yield job, *found


def told(found: Sequence[Stale]) -> str:
    """How many files are made again, and why, in one line."""
    counts: Counter[str] = Counter()
    for job, why, _ in found:
        counts[why] += sum(Path(output).exists() for output in job.output)
    shown = {why: file for _, why, file in reversed(found)}
    parts = [f"{count} {why} ({shown[why]})" for why, count in counts.items()]
    return f"dpregret: {counts.total()} finished files are stale and made again: {'; '.join(parts)}"


def watch(tell: Callable[[str], None], idle: Callable[[], None]) -> None:
    """From now on make again, in every plan of this process, what is stale.

    Snakemake looks for files that a killed job has left incomplete as soon as it knows its jobs, and makes those
    again; stale ones are added there. Nothing is deleted, and other targets than those asked for are not added.
    tell: where the line goes. idle: called when everything is there and as asked, but for dry runs.
    """
    from snakemake.dag import DAG

    before = DAG.check_incomplete

    @wraps(before)
    async def check_incomplete(dag: Any) -> None:
        sums = Checksums()
        found = list(stale(dag.jobs, sums))
        sums.save()
        if found:
            tell(told(found))
            dag.forcefiles.update(output for job, *_ in found for output in job.output)
        elif not dag.workflow.dryrun and all(Path(output).exists() for job in dag.jobs for output in job.output):
            idle()
        await before(dag)

    DAG.check_incomplete = check_incomplete

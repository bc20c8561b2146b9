"""What every script of `workflows/scripts` is: a function that writes into an empty folder, and `make`, which calls it.

`make` is the job of a rule. What the function writes takes its place whole or not at all, and is then recorded
(`freshness.py`).
"""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from dpregret.core.boundary import INTERRUPTED
from dpregret.core.errors import ConfigError, printable
from dpregret.core.files import RECORDS, atomic_write, reference, remove
from dpregret.core.machine import cpu_seconds, keep_freed_memory
from dpregret.core.parquet import Stamp, StampError
from dpregret.paper_figs.judge.runs import RunsError
from dpregret.workflows.plan.config import Config, Limits
from dpregret.workflows.plan.keys import STORE
from dpregret.workflows.plan.read import MADE, Plan
from dpregret.workflows.run.freshness import Record, contents, is_fresh

REMEDIES: Final = {
    errno.ENOSPC: "free space",
    errno.EDQUOT: "free space",
    errno.EROFS: "mend this",
    errno.EIO: "mend this",
}
"""What is to be done where a disk does not let a job write. What a play meets is `interface.MACHINE`, which no other
stage may import: its package holds all learners, and each would count for every table."""
FULL: Final = 2**16
"""Bytes of free disk below which a file, or a log, that is missing is put down to that."""


@dataclass(frozen=True)
class Job:
    """What a script is given. name: of the item in the plan; out: the empty folder that it fills, in place of the
    folder of the first output; outputs: as the rule names them; input, wildcards, log: of the rule; scratch: a folder.
    """

    plan: Plan
    name: str
    out: Path
    outputs: tuple[Path, ...]
    input: Any
    wildcards: Any
    log: Path
    scratch: Path

    @property
    def file(self) -> Path:
        """Where the function writes the first output."""
        return self.out / self.outputs[0].name

    @property
    def results(self) -> Path:
        """The folder of results."""
        return Path(self.plan.results)

    @property
    def paper(self) -> str:
        """The paper of the rule."""
        return str(self.wildcards.paper)

    @property
    def runs(self) -> Path:
        """The folder with the runs of the paper."""
        return self.results / self.paper / "runs"

    @property
    def experiments(self) -> set[str]:
        """The experiments of the paper."""
        return {part.experiment for part in self.plan.parts[self.paper].values()}

    @cached_property
    def config(self) -> Config:
        """The configuration of the run."""
        return Config.of_plan(self.plan.config)

    @property
    def stamp(self) -> Stamp:
        """The stamp of its Parquet file."""
        item = self.plan.items[self.name]
        return Stamp(item.key, item.code)

    @property
    def reference(self) -> Path:
        """The committed tables of the profile."""
        return reference(self.results)

    def of(self, name: str) -> list[Path]:
        """The inputs of the rule under a name; none where there is no such name."""
        found = self.input.get(name, [])
        return [Path(path) for path in ([found] if isinstance(found, str) else found)]

    def runs_of(self, paper: str, experiment: str) -> list[Path]:
        """The files of rows of an experiment, in a folder that is named after it."""
        files = [Path(part.file) for part in self.plan.parts[paper].values() if part.experiment == experiment]
        folder = self.scratch / "runs" / paper / experiment
        return [_linked(folder / file.name, file) for file in files]

    def inputs(self) -> Path:
        """A folder like that of the results, with the inputs of the item, and times and records of jobs, only."""
        for name in self.plan.items[self.name].inputs:
            for file in Record.read(self.plan.record(name)).files:
                self._link(Path(file))
        for name in self.plan.items:
            times, record = self.results / "benchmark" / f"{name}.tsv", self.plan.record(name)
            if times.is_file():
                self._link(times)
                _linked(self.scratch / "results" / RECORDS / f"{name}.json", record)
        return self.scratch / "results"

    def _link(self, file: Path) -> None:
        _linked(self.scratch / "results" / os.path.relpath(file, self.results), file)


def _linked(link: Path, file: Path) -> Path:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(file.resolve())
    return link


def make(snakemake: Any, write: Callable[[Job], object], keep: bool = False) -> None:
    """The job of a rule; its failure is in its log, and ends the process with code 1.

    write: fills an empty folder with all outputs; where it returns False, the outputs are not recorded, so that the
    next command makes them again. keep: in the store too, from which they are taken when they are wanted again.
    Refuses to work with other code than that of the plan.
    """
    keep_freed_memory()
    gc.set_threshold(50_000, 20, 100)  # compilers and figures make many small objects: to look for cycles is a tenth
    log, outputs = Path(snakemake.log[0]), tuple(Path(name) for name in snakemake.output)
    with job_log(log), TemporaryDirectory(prefix="dpregret-") as scratch:
        plan = Plan.read(snakemake.params.plan)
        name = plan.name_of(snakemake.params.key)
        if name is None:
            raise RunsError(f"{outputs[0]} is not in the plan: run the same command again")
        item, place = plan.items[name], outputs[0].parent
        plan.check_code({item.code})
        Limits.model_validate(json.loads(plan.config)["limits"]).bound_imports()
        out = Path(plan.results, MADE, "parts", name.replace("/", "."))
        remove(out)  # of a job that was killed
        out.mkdir(parents=True)
        for output in outputs:
            if not output.suffix:  # a folder, in which nothing need be: a paper may have no figure
                (out / output.relative_to(place)).mkdir(parents=True)
        try:
            whole = keep and _take(item.key, out)
            if not whole:
                job = Job(plan, name, out, outputs, snakemake.input, snakemake.wildcards, log, Path(scratch))
                whole = write(job) is not False
                if keep:
                    _keep(item.key, out)
            for output in outputs:
                if not (out / output.relative_to(place)).exists():
                    raise RunsError(f"{output} was not written")
            former, files = Record.read(plan.record(name)), _move(out, place, outputs)
        except OSError as fault:  # while the disk is as full as it was then
            if reason := of_machine(fault, out):
                raise RunsError(reason) from fault
            raise
        finally:
            remove(out)
        for file in {*former.files} - {*files}:
            remove(Path(file))
        plan.check_code({item.code})
        fresh = whole and all(is_fresh(plan, needed) for needed in item.inputs)
        key = item.key if fresh else ""
        Record(key, tuple(map(str, outputs)), files, round(cpu_seconds(), 2)).write(plan.record(name))


def _move(out: Path, place: Path, outputs: tuple[Path, ...]) -> dict[str, str]:
    """Move what was written to its place; name -> SHA-256 of every file."""
    folders = {output.relative_to(place) for output in outputs if (out / output.relative_to(place)).is_dir()}
    files = [file.relative_to(out) for file in out.rglob("*") if file.is_file()]
    whole = {file: next((folder for folder in folders if folder in file.parents), file) for file in files}
    for name in {*whole.values(), *folders}:
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            remove(target)  # of a link to a folder, the link
        shutil.move(out / name, target)  # the store may lie on another disk
    return contents(place / name for name in files)


def _kept(key: str) -> tuple[Path, Path]:
    """The folder of a key in the store, and its record."""
    folder = STORE / key[:2] / key
    return folder, folder.with_suffix(".json")


def _take(key: str, out: Path) -> bool:
    """Copy what the store holds under a key; False where it holds nothing, or something else than was put there."""
    folder, record = _kept(key)
    kept = Record.read(record)
    if not kept.files or kept.key != key or kept.changed:
        return False
    shutil.copytree(folder, out, dirs_exist_ok=True)
    return True


def _keep(key: str, out: Path) -> None:
    """Put what was written into the store."""
    folder, record = _kept(key)
    remove(record)
    with atomic_write(folder) as part:
        shutil.copytree(out, part)
    Record(key, (folder.as_posix(),), contents([folder])).write(record)


class _Printable(logging.Formatter):
    """Messages and tracebacks without control characters: they hold texts of learners."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def of_machine(error: OSError, folder: Path) -> str:
    """Which file the machine did not let a job write, and the remedy; empty for any other fault.

    folder: where it writes. Libraries leave out the number of an error: a full disk is then seen by its free space.
    """
    number = error.errno
    if number is None and (f"[Errno {errno.ENOSPC}]" in str(error) or shutil.disk_usage(folder).free < FULL):
        number = errno.ENOSPC
    if number not in REMEDIES:
        return ""
    place = error.filename2 or error.filename or folder
    return f"{place}: {os.strerror(number)}: {REMEDIES[number]} and repeat the command; what is finished is kept"


@contextlib.contextmanager
def job_log(path: Path) -> Iterator[None]:
    """Send messages and warnings to ``path``; log a failure's traceback there and end the process with code 1, or 130
    where it was interrupted.

    Nothing is printed: Snakemake prints the log of a failed job by itself.
    """
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(_Printable("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # where the disk is full, the log has no place for its own fault
    try:
        yield
    except (RunsError, StampError, ConfigError) as fault:
        logging.error("%s", fault)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        logging.error("interrupted")
        raise SystemExit(INTERRUPTED) from None
    except Exception as fault:
        if isinstance(fault, OSError) and (reason := of_machine(fault, path.parent)):
            logging.error("%s", reason)
        else:
            logging.exception("the job failed")
        raise SystemExit(1) from None

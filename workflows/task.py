"""What a job does, whoever starts it: its log, its script, and its record of time and memory.

    python -m dpregret.workflows.task NAME --log FILE [--KEY VALUE ...] ...

runs `main` of `workflows/scripts/NAME.py`. Every word after a key belongs to it, so a key can hold many files or none.
"""

from __future__ import annotations

import importlib
import logging
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dpregret.core.files import atomic_write
from dpregret.core.stamped import Stamp
from dpregret.workflows import seals
from dpregret.workflows.config import Config
from dpregret.workflows.job_log import job_log
from dpregret.workflows.seals import beside

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

STARTED = time.monotonic()
COLUMNS = ("s", "cpu_time", "max_rss")  # seconds, CPU seconds with those of processes that it waited for, megabytes


@dataclass(frozen=True)
class Asked:
    """The words of a command line: what is to be done, and with what."""

    name: str
    values: dict[str, list[str]]

    @classmethod
    def parse(cls, words: Sequence[str]) -> Asked:
        """``NAME --key value value --key ...``; ValueError for anything else."""
        name, *rest = words or [""]
        values: dict[str, list[str]] = {}
        key = ""
        for word in rest:
            if word.startswith("--"):
                key = word[2:]
                values[key] = []
            elif not key:
                raise ValueError(f"{word!r}: a value without a key")
            else:
                values[key].append(word)
        if not name.isidentifier() or "log" not in values:
            raise ValueError(f"{' '.join(words)!r}: give a script's name, and --log")
        return cls(name, values)

    def one(self, key: str) -> str:
        """The only value of a key."""
        (value,) = self.values[key]
        return value

    def path(self, key: str) -> Path:
        """The only value of a key, a file."""
        return Path(self.one(key))

    def paths(self, key: str) -> list[Path]:
        """All values of a key, files."""
        return [Path(value) for value in self.values[key]]

    @property
    def output(self) -> Path:
        """The file to write, the first of several that go into one folder."""
        return self.paths("output")[0]

    @property
    def inputs(self) -> list[Path]:
        """The files that the job reads: values of the keys that ``--from`` names."""
        return [path for key in self.values.get("from", []) for path in self.paths(key)]

    @property
    def stamp(self) -> Stamp:
        """What Parquet files of the job say of themselves: all that was asked, of which the last is the code."""
        *config, code = self.values.get("asked") or [""]
        return Stamp(" ".join(config), code)

    @property
    def settings(self) -> Config:
        """The configuration of the run."""
        return read_settings(self.path("settings"))


@cache
def read_settings(path: Path) -> Config:
    """A configuration that the main process has kept; the name of the file tells its content."""
    return Config.model_validate_json(path.read_text(encoding="utf-8"))


def script(asked: Asked) -> Callable[[Asked], None]:
    """The function that does what is asked."""
    main: Callable[[Asked], None] = importlib.import_module(f"dpregret.workflows.scripts.{asked.name}").main
    return main


def prepare(words: Sequence[str]) -> None:
    """Load what a job needs and what other jobs can share: its modules, its configuration, its kernels."""
    asked = Asked.parse(words)
    module = importlib.import_module(f"dpregret.workflows.scripts.{asked.name}")
    if "settings" in asked.values:
        _ = asked.settings
    getattr(module, "prepare", lambda: None)()


def perform(words: Sequence[str], started: float | None = None) -> int:
    """Do a job in this process and return its exit code; what went wrong stands in its log."""
    asked, started = Asked.parse(words), time.monotonic() if started is None else started
    log = asked.path("log")
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with job_log(log):
            script(asked)(asked)
    except SystemExit as over:  # exit code 0 too: whoever said so, the job has not come to its end
        if over.code and not isinstance(over.code, int):
            print(over.code, file=sys.stderr)
        code = over.code if isinstance(over.code, int) and over.code else 1
        if not over.code:
            logging.error("the job left with exit code 0 before its end")
    else:
        code = 0
    if code == 0:
        write_record(record_of(log), time.monotonic() - started)
        if "asked" in asked.values:
            seals.seal(log, asked.values["asked"], asked.inputs, asked.paths("output"))
    logging.shutdown()
    return code


def record_of(log: Path) -> Path:
    """Where the record of a job is: beside the folder ``log`` the folder ``benchmark``."""
    return beside(log, "benchmark", ".tsv")


def write_record(path: Path, seconds: float) -> None:
    """Write what this process has taken so far, in the words of Snakemake's benchmarks."""
    spent, memory = time.process_time(), math.nan
    if resource is not None:
        parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        spent = sum(part.ru_utime + part.ru_stime for part in parts)
        memory = max(part.ru_maxrss for part in parts) / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    with atomic_write(path) as temporary:
        names = "\t".join(COLUMNS)
        temporary.write_text(f"{names}\n{seconds:.4f}\t{spent:.4f}\t{memory:.2f}\n", encoding="utf-8")


def main() -> None:
    """Do the job that the command line names."""
    sys.exit(perform(sys.argv[1:], STARTED))


if __name__ == "__main__":
    main()

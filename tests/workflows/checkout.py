"""A private copy of the source tree for tests that start Snakemake, and what two equal runs in such copies share."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numba
import pytest
import yaml
from commands import ran

from dpregret.core.parquet import Stamp
from dpregret.numerics.compiled import PACKAGE
from dpregret.workflows.run import archive

ROOT = Path(__file__).resolve().parents[2]
HANGS = 1800
"""Seconds after which a process counts as hanging, on however busy a machine: no test is about how long one takes."""
FOLDERS = ("algorithms", "datasets", "paper_figs", "workflows")
MINE = ("--config", "profile=mine.yaml")
TIMED = (
    "*/oracles.parquet", "*/costs.*", "*/figures/*cost*", "report.html",
    "*/report.html", archive.ORIGIN, "plan.json",
)  # fmt: skip


def environment(root: Path) -> dict[str, str]:
    """That of a process which works with the code below `root`, and with the compiled loops of this tree."""
    kernels = {} if root == ROOT else {"NUMBA_CACHE_DIR": str(root / ".cache")}  # in which `make_checkout` puts a link
    return os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"} | kernels


@dataclass
class Checkout:
    """A private copy of the source tree, in which Snakemake runs with the installed packages."""

    root: Path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--nocolor", *arguments]

    @property
    def place(self) -> dict[str, Any]:
        """Folder and environment of a process that works here."""
        kept = {"XDG_CACHE_HOME": str(self.root / ".cache"), "PYTHONDONTWRITEBYTECODE": ""}
        return {"cwd": self.root, "env": environment(self.root) | kept}

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return ran(self.command(*arguments), self.root, **self.place["env"])

    def start(self, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """Snakemake in the background, in a session of its own; what it says goes to a file."""
        with log.open("wb") as told:
            quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": told, "stderr": told}
            return subprocess.Popen(self.command(*arguments), **self.place, **quiet, start_new_session=True)

    def configure(self, settings: dict[str, Any]) -> None:
        """Write the profile mine.yaml."""
        (self.root / "mine.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))


def make_checkout(root: Path) -> Checkout:
    root.mkdir(exist_ok=True)
    passing = shutil.ignore_patterns("*.pyc.*")  # what another process is about to rename
    for folder in ("dpregret", "profiles"):  # with compiled code, which is found by the dates that are kept
        shutil.copytree(ROOT / folder, root / folder, symlinks=True, ignore=passing)
    for link in FOLDERS:
        (root / link).symlink_to(Path("dpregret") / link)
    shutil.copy(ROOT / "Snakefile", root)
    (root / ".cache").mkdir()
    (root / ".cache" / PACKAGE.name).symlink_to(numba.config.CACHE_DIR)
    (root / "results" / "reference").mkdir(parents=True)
    return Checkout(root)


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Checkout:
    """A checkout that is made once for all workers of pytest-xdist."""
    base = factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    done = root.with_suffix(".done")
    with root.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(root)
            done.touch()
    return Checkout(root)


def shared(results: Path) -> dict[str, str]:
    """File of a finished run without measured times -> its SHA-256; of rows a hash of all columns but the times."""
    listed = {name: digest for name, digest in archive.listed(results).items() if not timed(name)}
    return {name: Stamp.of(results / name).numbers if "/runs/" in name else digest for name, digest in listed.items()}


def timed(name: str) -> bool:
    """Whether a file holds measured times, or, as the plan does, keys of those that are kept as the reference."""
    return any(fnmatchcase(name, pattern) for pattern in TIMED)

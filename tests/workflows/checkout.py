"""A private copy of the source tree for tests that start Snakemake."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HANGS = 1800
"""Seconds after which a process counts as hanging, on however busy a machine: no test is about how long one takes."""
FOLDERS = ("algorithms", "datasets", "paper_figs", "workflows")


@dataclass
class Checkout:
    """A private copy of the source tree, in which Snakemake runs with the installed packages."""

    root: Path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--nocolor", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "OMP_NUM_THREADS": "1",
            "XDG_CACHE_HOME": str(self.root / ".cache"),
            "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR") or str(ROOT / ".cache" / "kernels"),
        }

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )


def make_checkout(root: Path) -> Checkout:
    root.mkdir(exist_ok=True)
    passing = shutil.ignore_patterns("*.pyc.*")  # what another process is about to rename
    for folder in ("dpregret", "profiles"):  # with compiled code, which is found by the dates that are kept
        shutil.copytree(ROOT / folder, root / folder, symlinks=True, ignore=passing)
    for link in FOLDERS:
        (root / link).symlink_to(Path("dpregret") / link)
    shutil.copy(ROOT / "Snakefile", root)
    (root / "results" / "reference").mkdir(parents=True)

    return Checkout(root)

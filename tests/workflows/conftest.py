import copy
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("algorithms", "datasets", "paper_figs", "workflows")

EXPERIMENT: dict[str, Any] = {
    "title": "Regret against the horizon",
    "sweep": "horizon",
    "set": "ball",
    "streams": ["norm-kink"],
    "dimension": [2],
    "horizon": [16, 32, 64, 128],
    "window": [4],
    "epsilon": [8.0],
    "delta": 1e-6,
    "runs": 2,
    "learners": {"wdp-cocop-gamma": ["corrected"], "ftal": ["plain"]},
}


@pytest.fixture
def settings() -> dict[str, Any]:
    """A small valid configuration, free to be spoilt."""
    return {
        "profile": "mine",
        "seed": 7,
        "papers": {"lou_cheung_2020": {"experiments": {"horizon": copy.deepcopy(EXPERIMENT)}}},
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    """Write settings, or text, to mine.yaml."""

    def write_to(content: Any) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
        return path

    return write_to


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
            "PYTHONPATH": str(self.root / "import"),
            "OMP_NUM_THREADS": "1",
            "XDG_CACHE_HOME": str(self.root / ".cache"),
        }

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def make_checkout(root: Path) -> Checkout:
    root.mkdir(exist_ok=True)
    for folder in (*FOLDERS, "profiles"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Snakefile", root)
    package = root / "import" / "dpregret"
    shutil.copytree(ROOT / "dpregret", package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in FOLDERS:
        (package / folder).symlink_to(root / folder)
    return Checkout(root)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make_checkout(tmp_path / "checkout")


SLOW_EXPERIMENT = {**EXPERIMENT, "horizon": [256, 512, 1024, 131072], "dimension": [8], "runs": 16}  # seconds a job


def slow_settings() -> dict[str, Any]:
    experiments = {"horizon": copy.deepcopy(SLOW_EXPERIMENT)}
    return {"profile": "mine", "seed": 7, "papers": {"lou_cheung_2020": {"experiments": experiments}}}


def write_settings(root: Path, settings: dict[str, Any]) -> None:
    (root / "mine.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout in which `slow_settings` have been run."""
    checkout = make_checkout(tmp_path_factory.mktemp("finished"))
    write_settings(checkout.root, slow_settings())
    done = checkout.snakemake("--config", "profile=mine.yaml", "--cores", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    return checkout

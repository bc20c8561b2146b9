import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkout import MINE, Checkout, make_checkout, once
from plays import TABLED, small, tabled

NO_PICTURES = """
from pathlib import Path
from dpregret.workflows.plan.read import load
for name, (file, _, _) in load({"profile": "mine.yaml"}).made.items():
    if name.partition("/")[0] not in ("tables", "complete"):
        path = Path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch() if path.suffixes[1:] else path.mkdir()
"""
"""Leaves something empty under all other names that rules make: drawing them says nothing about what is made again."""


@pytest.fixture
def settings() -> dict[str, Any]:
    """A small valid configuration, free to be spoilt."""
    return small("online", "horizon", runs=2)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    """Write settings, or text, to mine.yaml."""

    def write_to(content: Any) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
        return path

    return write_to


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout in which `tabled` has been run: rows and tables."""

    def run(root: Path) -> None:
        made = make_checkout(root)
        made.configure(tabled())
        subprocess.run([sys.executable, "-c", NO_PICTURES], **made.place, check=True)
        done = made.snakemake(f"results/mine/{TABLED}/complete.txt", "--cores", "2", *MINE)
        assert done.returncode == 0, done.stdout + done.stderr

    return once(tmp_path_factory, "finished", run)


@pytest.fixture
def copied(finished: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the finished checkout, free to be changed."""
    shutil.copytree(finished.root, tmp_path / "copied", symlinks=True)
    return Checkout(tmp_path / "copied")

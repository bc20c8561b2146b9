import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkout import MINE, Checkout, make_checkout, once
from plays import small


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


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout in which nothing was run."""
    return make_checkout(tmp_path / "checkout")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout in which `settings` have been run."""

    def run(root: Path) -> None:
        made = make_checkout(root)
        made.configure(small("online", "horizon", runs=2))
        done = made.snakemake("--cores", "2", *MINE)
        assert done.returncode == 0, done.stdout + done.stderr

    return once(tmp_path_factory, "finished", run)


@pytest.fixture
def copied(finished: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the finished checkout, free to be changed."""
    shutil.copytree(finished.root, tmp_path / "copied", symlinks=True)
    return Checkout(tmp_path / "copied")

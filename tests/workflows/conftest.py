import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkout import Checkout, make_checkout
from small_run import settings_of_a_run, with_settings


@pytest.fixture
def settings() -> dict[str, Any]:
    """A small valid configuration, free to be spoilt."""
    return settings_of_a_run()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    """Write settings, or text, to mine.yaml."""

    def write_to(content: Any) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
        return path

    return write_to


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A place that has been made once for all workers of pytest-xdist."""
    base = factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    done = place.with_suffix(".done")
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(place)
            done.touch()
    return place


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout in which nothing was run."""
    return make_checkout(tmp_path / "checkout")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout in which `settings` have been run, once for all workers of pytest-xdist."""

    def run(root: Path) -> None:
        made = with_settings(make_checkout(root), settings_of_a_run())
        done = made.snakemake("--config", "profile=mine.yaml", "--cores", "2")
        assert done.returncode == 0, done.stdout + done.stderr

    return Checkout(once(tmp_path_factory, "finished", run))


@pytest.fixture
def copied(finished: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the finished checkout, free to be changed."""
    shutil.copytree(finished.root, tmp_path / "copied", symlinks=True)
    return Checkout(tmp_path / "copied")


@pytest.fixture
def mine(checkout: Checkout, settings: dict[str, Any]) -> Checkout:
    """A checkout with the same settings, not run yet."""
    return with_settings(checkout, settings)

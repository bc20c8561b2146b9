import copy
import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkout import Checkout, make_checkout

from dpregret.workflows import index, mentions
from dpregret.workflows.checked import Checked
from dpregret.workflows.config import load_config
from dpregret.workflows.profiles import PROFILES

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


def settings_of_a_run() -> dict[str, Any]:
    experiments = {"horizon": copy.deepcopy(EXPERIMENT)}
    return {"profile": "mine", "seed": 7, "papers": {"lou_cheung_2020": {"experiments": experiments}}}


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


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a dry run of the full profile leaves for the next command, which is of no use once code is edited."""

    def look(place: Path) -> None:
        checked = Checked(place / "checked.json")
        mentions.check_mentions(load_config(PROFILES / "full.yaml", checked=checked), checked)
        index.keep(index.collect(), place / "index.json")

    return once(tmp_path_factory, "known", look)


@pytest.fixture
def checkout(tmp_path: Path, known: Path) -> Checkout:
    """A checkout in which nothing was run, but the full profile was looked at."""
    made = make_checkout(tmp_path / "checkout")
    shutil.copytree(known, made.root / ".snakemake")
    return made


def with_settings(checkout: Checkout, settings: dict[str, Any]) -> Checkout:
    (checkout.root / "mine.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
    return checkout


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, known: Path) -> Checkout:
    """A checkout in which `settings` have been run, once for all workers of pytest-xdist."""

    def run(root: Path) -> None:
        made = with_settings(make_checkout(root), settings_of_a_run())
        shutil.copytree(known, made.root / ".snakemake")
        done = made.snakemake("--config", "profile=mine.yaml", "--cores", "2")
        assert done.returncode == 0, done.stdout + done.stderr

    return Checkout(once(tmp_path_factory, "finished", run))


@pytest.fixture
def mine(checkout: Checkout, settings: dict[str, Any]) -> Checkout:
    """A checkout with the same settings, not run yet."""
    return with_settings(checkout, settings)

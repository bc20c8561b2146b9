import copy
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkout import Checkout, make_checkout

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
    """A checkout in which `slow_settings` have been run, once for all workers of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "finished"
    done = root.with_suffix(".done")
    with root.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            checkout = make_checkout(root)
            write_settings(checkout.root, slow_settings())
            run = checkout.snakemake("--config", "profile=mine.yaml", "--cores", "2")
            assert run.returncode == 0, run.stdout + run.stderr
            done.touch()
    return Checkout(root)


@pytest.fixture
def mine(checkout: Checkout) -> Checkout:
    """A checkout with the same settings, not run yet."""
    write_settings(checkout.root, slow_settings())
    return checkout

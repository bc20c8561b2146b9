import csv
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


def leave_no_pictures(checkout: Checkout) -> None:
    """Leave something empty in place of all other outputs: drawing them says nothing about what is made again."""
    done = checkout.snakemake("--summary", *MINE)
    assert done.returncode == 0, done.stdout + done.stderr
    outputs: dict[str, list[str]] = {}
    for row in csv.DictReader(done.stdout.splitlines(), delimiter="\t"):
        outputs.setdefault(row["rule"], []).append(row["output_file"])
    program = f"paper, outputs = {TABLED!r}, {outputs!r}\n{RECORD}"
    subprocess.run([sys.executable, "-c", program], **checkout.place, check=True)


RECORD = """
from pathlib import Path
from dpregret.workflows.plan.read import load
from dpregret.workflows.run.freshness import Record, contents
plan = load({"profile": "mine.yaml"})
items = {f"{paper}/figures": "figures", f"{paper}/exact": "exact", "errata": "errata_page", "report": "html_report"}
items |= {"winners": "winners", "audit/exact_losses": "exact_losses"}
for item, rule in items.items():
    for name in outputs[rule]:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch() if Path(name).suffix else Path(name).mkdir()
    Record(plan.items[item].key, tuple(outputs[rule]), contents(outputs[rule])).write(plan.record(item))
"""


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
        leave_no_pictures(made)
        done = made.snakemake(f"results/mine/{TABLED}/complete.txt", "--cores", "2", *MINE)
        assert done.returncode == 0, done.stdout + done.stderr

    return once(tmp_path_factory, "finished", run)


@pytest.fixture
def copied(finished: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the finished checkout, free to be changed."""
    shutil.copytree(finished.root, tmp_path / "copied", symlinks=True)
    return Checkout(tmp_path / "copied")

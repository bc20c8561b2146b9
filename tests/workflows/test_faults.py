"""Under fire: learners that fail in every way, a full disk, results that cannot be written."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from checkout import Checkout
from small_run import with_settings

pytestmark = pytest.mark.workflow

MINE = ("--config", "profile=mine.yaml")
RESULTS = Path("results") / "mine" / "lou_cheung_2020"
COMPLETE = str(RESULTS / "complete.txt")
LIARS = '''
"""Learners that take their process away, or lie, while a file says so."""

import os
import time
from dataclasses import replace
from pathlib import Path

from dpregret.algorithms.online.ftal import FollowTheApproximateLeader as Ftal


def liar(name, deed):
    def observe(self, loss, gradient, noise):
        Ftal.observe(self, loss, gradient, noise)
        if self.round == 9 and Path("lying").exists():
            deed(self)

    return type(name, (Ftal,), {"card": replace(Ftal.card, name=name), "observe": observe})


Raiser = liar("liar-raise", lambda self: 1 / 0)
Crasher = liar("liar-crash", lambda self: os.kill(os.getpid(), 11))
Sleeper = liar("liar-hang", lambda self: time.sleep(600))
'''
SAID = {"liar-raise": "ZeroDivisionError", "liar-crash": "SIGSEGV", "liar-hang": "play_minutes"}
"""All ends stand in test_child.py and test_lying_learners.py."""


def statuses(root: Path) -> dict[str, str]:
    rows = pd.read_parquet(root / RESULTS / "runs" / "horizon.parquet").drop_duplicates(["learner", "status"])
    assert not rows["learner"].duplicated().any()
    return dict(zip(rows["learner"], rows["status"], strict=True))


def test_a_failed_learner_is_a_row_that_says_so_and_is_played_again(copied: Checkout, settings: dict[str, Any]) -> None:
    root, store = copied.root, copied.root / "results" / "store"
    (root / "algorithms" / "online" / "liars.py").write_text(LIARS.lstrip())
    (root / "lying").touch()
    settings["limits"] = {"play_minutes": 0.1}
    experiment = settings["papers"]["lou_cheung_2020"]["experiments"]["horizon"]
    experiment["learners"] = {"liar-raise": ["plain"], "ftal": ["plain"], **{name: ["plain"] for name in SAID}}
    with_settings(copied, settings)
    done = copied.snakemake(COMPLETE, "--cores", "2", *MINE)
    assert done.returncode != 0
    assert "ftal" not in [line.partition(".")[0] for line in done.stderr.splitlines() if "failed: " in line]
    found = statuses(root)
    assert found.pop("ftal") == "ok"
    assert found.keys() == SAID.keys()
    wrong = {
        name: found[name] for name, said in SAID.items() if said not in found[name] or "failed: " not in found[name]
    }
    assert not wrong
    rows = pd.read_parquet(root / RESULTS / "runs" / "horizon.parquet").set_index("learner")
    assert rows.loc[list(SAID), ["regret", "bound", "delivered_epsilon"]].isna().all(axis=None)
    table = (root / RESULTS / "jobs.csv").read_text()
    for name, said in SAID.items():
        assert f"{name}.plain in horizon failed" in done.stderr, "in the log of the job that failed"
        assert said in table
    assert not (root / COMPLETE).exists()
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*.parquet")}
    (root / "lying").unlink()
    again = copied.snakemake(COMPLETE, "--cores", "2", *MINE)
    assert again.returncode == 0, again.stderr
    assert statuses(root) == dict.fromkeys((*SAID, "ftal"), "ok")
    after = {path: path.stat().st_mtime_ns for path in store.rglob("*.parquet")}
    assert before.items() <= after.items()
    assert len(after) == len(before) + len(SAID)


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of 256 KiB; not every machine lets us make one."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True)
    if done.returncode:
        pytest.skip("no right to mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_and_one_that_cannot_be_written_are_told(mine: Checkout, small_disk: Path) -> None:
    shutil.rmtree(mine.root / "results")
    (mine.root / "results").symlink_to(small_disk)
    words = ("--cores", "2", *MINE, "--until", "play")
    (small_disk / "ballast").write_bytes(b"x" * (225 << 10))
    done = mine.snakemake(*words)
    assert done.returncode != 0
    assert "No space left on device" in done.stdout + done.stderr
    assert not list(small_disk.rglob(".*.parquet*"))
    assert not list((small_disk / "made").rglob("*.parquet"))
    (small_disk / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = mine.snakemake(*words)
    assert done.returncode != 0
    assert "Read-only file system" in done.stdout + done.stderr
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    done = mine.snakemake(*words)
    assert done.returncode == 0, done.stderr
    assert set(pd.concat(map(pd.read_parquet, (small_disk / "made" / "runs").rglob("*.parquet")))["status"]) == {"ok"}

"""Under fire: crashed learners, a full disk, results that cannot be written, other cores."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

pytestmark = pytest.mark.workflow

MINE = ("--config", "profile=mine.yaml")
RESULTS = Path("results") / "mine" / "lou_cheung_2020"


def tables(root: Path) -> dict[str, bytes]:
    """Everything that equal runs share, byte for byte."""
    folder = root / RESULTS
    found = {path.name: path.read_bytes() for path in folder.glob("*.*") if not path.name.startswith("costs")}
    assert {"claims.csv", "table_1.csv", "errata.csv", "complete.txt"} <= set(found)
    figures = {path.name: path.read_bytes() for path in (folder / "figures").glob("*.png") if "cost" not in path.name}
    assert figures
    return {**found, **figures}


def numbers(root: Path) -> pd.DataFrame:
    """All rows of all runs, without timings."""
    frame = pd.concat([pd.read_parquet(path) for path in sorted((root / RESULTS / "runs").rglob("*.parquet"))])
    return frame.drop(columns=[name for name in frame.columns if name.startswith("seconds")]).reset_index(drop=True)


def assert_equal(one: Any, two: Any) -> None:
    """What two runs of the same settings share: tables, figures, numbers, and what their manifests say of these."""
    assert tables(one.root) == tables(two.root)
    pd.testing.assert_frame_equal(numbers(one.root), numbers(two.root))
    first, second = (json.loads((each.root / "results/mine/manifest.json").read_text()) for each in (one, two))
    assert first["same"] == second["same"]
    assert {name: each.get("numbers") for name, each in first["files"].items()} == {
        name: each.get("numbers") for name, each in second["files"].items()
    }


def test_a_crashed_learner_leaves_a_status_and_no_number_and_once_mended_ends_equal_on_one_core(
    finished: Any, mine: Any
) -> None:
    module = mine.root / "algorithms" / "online" / "ftal.py"
    text = module.read_text()
    assert text.count("    def observe(") == 1
    head, tail = text.split("    def observe(")
    body = tail.index('"""', tail.index('"""') + 3) + 3
    module.write_text(f"{head}    def observe({tail[:body]}\n        raise ZeroDivisionError('planted')\n{tail[body:]}")
    done = mine.snakemake(*MINE, "--cores", "1")
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "ftal.plain in horizon failed: ZeroDivisionError: planted" in said
    rows = pd.read_parquet(mine.root / RESULTS / "runs" / "horizon" / "ftal.plain.parquet")
    assert rows["status"].tolist() == [
        "failed: ZeroDivisionError: planted; on 'norm-kink', set 'ball', dimension 2, T = 128, mu = 1"
    ]
    assert rows[["regret", "bound", "delivered_epsilon"]].isna().all(axis=None)
    claims = pd.read_csv(mine.root / RESULTS / "claims.csv", keep_default_na=False)
    told = claims.loc[claims["reason"].str.contains("ftal.plain in horizon failed"), "verdict"]
    assert set(told) <= {"not run"}
    assert not (mine.root / RESULTS / "complete.txt").exists()
    assert "ftal.plain in horizon failed" in (mine.root / "results" / "mine" / "report.html").read_text()
    assert "the same command resumes" in said
    again = mine.snakemake(*MINE, "--cores", "1", "--dry-run")
    assert re.search(r"^complete +1$", again.stdout, re.MULTILINE), "the same command fails as long as it is broken"
    module.write_text(text)
    assert mine.snakemake(*MINE, "--cores", "1").returncode == 0
    assert_equal(mine, finished)


LIARS = '''
"""Learners that take their process away, or lie."""

import os
import sys
import time
from dataclasses import replace

from dpregret.algorithms.online.ftal import FollowTheApproximateLeader as Ftal


def liar(name, deed):
    def observe(self, loss, gradient, noise):
        Ftal.observe(self, loss, gradient, noise)
        if self.round == 9:
            deed(self)

    return type(name, (Ftal,), {"card": replace(Ftal.card, name=name), "observe": observe})


def far_away(self):
    self.point = self.point + 1e6


Leaver = liar("liar-exit", lambda self: sys.exit(0))
Taker = liar("liar-leave", lambda self: os._exit(0))
Crasher = liar("liar-crash", lambda self: os.kill(os.getpid(), 11))
Sleeper = liar("liar-hang", lambda self: time.sleep(600))
Stray = liar("liar-far", far_away)
'''
SAID = {
    "liar-exit": "failed: SystemExit: 0; on 'norm-kink', set 'ball', dimension 2, T = 128, mu = 1",
    "liar-leave": "failed: it ended the process by itself, with exit code 0; on 'norm-kink', set 'ball'",
    "liar-crash": "failed: it crashed the process: SIGSEGV (Segmentation fault); on 'norm-kink', set 'ball'",
    "liar-hang": "failed: no progress for ",
    "liar-far": "failed: a point lies 1.41e+06 from the center of the set 'ball', whose diameter is 2; on 'norm-kink'",
}


def test_lying_learners_leave_a_row_and_touch_no_other(checkout: Any, settings: dict[str, Any]) -> None:
    (checkout.root / "algorithms" / "online" / "liars.py").write_text(LIARS.lstrip())
    settings["limits"] = {"stall_minutes": 0.1}  # kernels may have to be compiled first
    experiment = settings["papers"]["lou_cheung_2020"]["experiments"]["horizon"]
    experiment["learners"] = {"ftal": ["plain"], **{name: ["plain"] for name in SAID}}
    (checkout.root / "mine.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
    done = checkout.snakemake(*MINE, "--cores", "2", "--until", "run")
    assert done.returncode == 0, "a finding is a row; what fails is the paper's last rule, see above"
    runs = checkout.root / RESULTS / "runs" / "horizon"
    for learner, reason in SAID.items():
        (status,) = pd.read_parquet(runs / f"{learner}.plain.parquet")["status"]
        assert status.startswith(reason)
    assert set(pd.read_parquet(runs / "ftal.plain.parquet")["status"]) == {"ok"}
    for learner in ("liar-crash", "liar-hang"):  # where it stood, in the log
        log = checkout.root / "results/mine/log/lou_cheung_2020/horizon" / f"{learner}.plain.log"
        assert re.search(r"liars\.py., line \d+ in (<lambda>|observe)", log.read_text())


def test_results_that_cannot_be_written_are_told(mine: Any) -> None:
    shutil.rmtree(mine.root / "results")
    (mine.root / "results").write_text("in the way")
    done = mine.snakemake(*MINE, "--cores", "2")
    assert done.returncode != 0
    assert "results" in done.stderr
    assert (mine.root / "results").read_text() == "in the way"


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


def test_a_full_disk_is_told_and_leaves_nothing_half_written(mine: Any, small_disk: Path) -> None:
    (mine.root / "results").mkdir(exist_ok=True)
    (mine.root / "results" / "mine").symlink_to(small_disk)
    (small_disk / "ballast").write_bytes(b"x" * (200 << 10))
    done = mine.snakemake(str(RESULTS / "claims.csv"), *MINE, "--cores", "2")
    assert done.returncode != 0
    assert "No space left on device" in done.stdout + done.stderr
    assert not list(small_disk.rglob(".*.parquet.*"))
    for path in small_disk.rglob("*.parquet"):  # whole, and of runs a good one
        rows = pd.read_parquet(path)
        assert len(rows)
        assert "runs" not in path.parts or rows["status"].eq("ok").all()
    (small_disk / "ballast").unlink()


def test_a_read_only_disk_is_told(mine: Any, small_disk: Path) -> None:
    (mine.root / "results").mkdir(exist_ok=True)
    (mine.root / "results" / "mine").symlink_to(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = mine.snakemake(*MINE, "--cores", "2")
    assert done.returncode != 0
    assert "Read-only file system" in done.stdout + done.stderr

"""The workflow as a user meets it: run, run again, edit, fail, kill and resume, and what is refused."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
import yaml
from checkout import HANGS, MINE, ROOT, Checkout, make_checkout, shared
from plays import TABLED, tabled

pytestmark = pytest.mark.workflow

RESULTS = Path("results") / "mine" / TABLED
CLAIMS = RESULTS / "claims.csv"
COMPLETE = str(RESULTS / "complete.txt")
CHILD = Path("dpregret/core/child.py")
"""Of no key: a pause that is planted here changes no name."""
HOLD = """
    if log is not None:
        Path("held").touch()
        while Path("hold").exists():
            time.sleep(0.02)
"""
LIAR = "liar-raise"
LIAR_FILE = '''
"""A learner that raises while a file says so. All ends stand in test_child.py."""

from dataclasses import replace
from pathlib import Path

from dpregret.algorithms.online.ftal import FollowTheApproximateLeader


class Liar(FollowTheApproximateLeader):
    card = replace(FollowTheApproximateLeader.card, name="liar-raise")

    def observe(self, loss, gradient, noise):
        super().observe(loss, gradient, noise)
        if self.round == 9 and Path("lying").exists():
            raise ZeroDivisionError
'''


def jobs(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Number of jobs of each rule."""
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    if "Nothing to be done" in text:
        return {}
    table = text.split("Job stats:")[1].split("\n\n")[0]
    found = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, flags=re.MULTILINE)}
    return {name: count for name, count in found.items() if name not in ("all", "total", "mark")}


def planned(checkout: Checkout, *words: str) -> dict[str, int]:
    return jobs(checkout.snakemake("--cores", "1", "-n", *words, *MINE))


def store(root: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (root / "results" / "store").rglob("*.parquet")}


@contextlib.contextmanager
def edited(path: Path, change: Callable[[str], str] = lambda text: f"{text}\n# edited\n") -> Iterator[None]:
    text = path.read_text()
    path.write_text(change(text))
    try:
        yield
    finally:
        path.write_text(text)


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    """File of results -> its date and content."""
    files = [path for path in (root / "results").rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def dated(root: Path, seconds: int) -> None:
    for path in [*(root / "results").rglob("*"), root / "results"]:
        os.utime(path, (seconds, seconds))


def reconfigure(checkout: Checkout, **changes: Any) -> None:
    settings = tabled()
    settings["papers"][TABLED]["experiments"]["horizon"].update(changes)
    checkout.configure(settings)


def edit(path: Path) -> None:
    """Change a file; its date stays."""
    date = path.stat().st_mtime_ns
    path.write_bytes(path.read_bytes()[:-2] + b"?\n")
    os.utime(path, ns=(date, date))


def forget_all(root: Path) -> None:
    """Delete the memory of Snakemake."""
    shutil.rmtree(root / ".snakemake")


CHAIN = dict.fromkeys(("play", "runs", "tables", "complete"), 1)
"""All that the target needs: each item is made of the one before."""
ROWS = RESULTS / "runs" / "horizon.parquet"
RECORD = Path("results/mine/made/records") / TABLED / "tables.json"


def a_setting_and_all_dates(checkout: Checkout, year: int) -> None:
    reconfigure(checkout, runs=3)
    dated(checkout.root, year)


def a_run_and_the_last_file(checkout: Checkout) -> None:
    edit(checkout.root / ROWS)
    edit(checkout.root / COMPLETE)


def an_edit_that_snakemake_is_told_to_overlook(checkout: Checkout) -> None:
    edit(checkout.root / CLAIMS)
    touched = checkout.snakemake(COMPLETE, "--touch", "--cores", "1", *MINE)
    assert "not done" in touched.stderr
    assert touched.returncode == 1


def a_damaged_play(checkout: Checkout) -> None:
    """Its rows are published no more: they would have to be gathered from the store."""
    edit(next((checkout.root / "results" / "store").rglob("*.parquet")))
    (checkout.root / ROWS).unlink()


TRIALS: dict[str, tuple[Callable[[Checkout], object], dict[str, int]]] = {
    "a setting: every item of the chain is stale": (lambda c: reconfigure(c, runs=3), CHAIN),
    "a setting, all dates in 2099": (lambda c: a_setting_and_all_dates(c, 4070908800), CHAIN),
    "a setting, all dates in 1999": (lambda c: a_setting_and_all_dates(c, 915148800), CHAIN),
    "a setting, without the memory of Snakemake": (lambda c: (reconfigure(c, runs=3), forget_all(c.root)), CHAIN),
    "an edit that keeps the date": (lambda c: edit(c.root / CLAIMS), {"tables": 1}),
    "an edit, without the memory of Snakemake": (lambda c: (edit(c.root / CLAIMS), forget_all(c.root)), {"tables": 1}),
    "an edit that --touch has seen": (an_edit_that_snakemake_is_told_to_overlook, {"tables": 1}),
    "an edit before and behind a fresh table": (a_run_and_the_last_file, {"runs": 1, "complete": 1}),
    "a file that is no target": (lambda c: edit(c.root / RESULTS / "costs.md"), {"tables": 1}),
    "a lost record": (lambda c: (c.root / RECORD).unlink(), {"tables": 1}),
    "a damaged record": (lambda c: edit(c.root / RECORD), {"tables": 1}),
    "a file in a folder is lost": (lambda c: (c.root / ROWS).unlink(), {"runs": 1}),
    "a file in a folder is cut": (lambda c: os.truncate(c.root / ROWS, 99), {"runs": 1}),
    "a file in a folder is new": (lambda c: (c.root / RESULTS / "runs" / "more.parquet").touch(), {"runs": 1}),
    "a folder is lost": (lambda c: shutil.rmtree(c.root / RESULTS / "runs"), {"runs": 1, "tables": 1, "complete": 1}),
    "a play is damaged": (a_damaged_play, {"runs": 1}),
    "the last file is lost": (lambda c: (c.root / COMPLETE).unlink(), {"complete": 1}),
    "the last file is a folder": (
        lambda c: ((c.root / COMPLETE).unlink(), (c.root / COMPLETE).mkdir()),
        {"complete": 1},
    ),
}
"""Change -> the jobs that it asks for."""
USUAL = {"a file that is no target"}


@pytest.mark.parametrize(
    "trial", [name if name in USUAL else pytest.param(name, marks=pytest.mark.nightly) for name in TRIALS]
)
def test_what_is_stale_is_listed_and_made_and_nothing_else(finished: Checkout, copied: Checkout, trial: str) -> None:
    """-n lists what a run makes, and touches nothing; then nothing is left to do."""
    change, wanted = TRIALS[trial]
    change(copied)
    before = snapshot(copied.root)
    assert planned(copied, COMPLETE) == wanted
    assert snapshot(copied.root) == before
    done = copied.snakemake(COMPLETE, "--cores", "2", *MINE)
    assert jobs(done) == wanted
    assert planned(copied, COMPLETE) == {}
    if "setting" not in trial:
        assert shared(copied.root / "results" / "mine") == shared(finished.root / "results" / "mine")
    assert {path.name for path in (copied.root / "results").rglob(".*")} <= {".snakemake_timestamp"}


def test_nothing_is_made_again_whatever_dates_and_snakemakes_memory_say(finished: Checkout, copied: Checkout) -> None:
    """Nor by the Snakefile where catalogs of workflows look. Questions change nothing, of stale results either."""
    root = copied.root
    for memory in (root / ".snakemake").iterdir():
        if memory.name != "plans":
            shutil.rmtree(memory) if memory.is_dir() else memory.unlink()
    shutil.copytree(ROOT / "workflow", root / "workflow")
    for path in root.rglob("*.*"):
        os.utime(path, follow_symlinks=False)
    dated(root, 3786912000)  # 2090
    more = ("--set-resources", "play:mem_mb=9000*attempt", "--default-resources", "mem_mb=8000*attempt", "runtime=90")
    assert planned(copied, "--snakefile", "workflow/Snakefile", *more) == {}
    assert shared(root / "results" / "mine") == shared(finished.root / "results" / "mine")
    ask(copied, "--summary")
    assert planned(copied, str(CLAIMS)) == {"play": 1, "runs": 1, "tables": 1}


def ask(checkout: Checkout, *questions: str) -> None:
    """Of stale results, of which nothing changes."""
    edit(checkout.root / ROWS)
    reconfigure(checkout, runs=3)
    before = snapshot(checkout.root)
    for word in questions:
        assert checkout.snakemake(COMPLETE, word, *MINE).returncode == 0
        assert snapshot(checkout.root) == before, word


@pytest.mark.nightly
def test_other_questions_about_stale_results_change_nothing(copied: Checkout) -> None:
    ask(copied, "--dag", "--rulegraph", "--unlock")


@pytest.mark.nightly
def test_plays_outlive_a_change_and_serve_other_profiles(finished: Checkout, copied: Checkout) -> None:
    """Settings there and back, and a second profile of the same experiments: no play is played twice."""
    root = copied.root
    kept = store(root)
    reconfigure(copied, runs=3)
    assert jobs(copied.snakemake(COMPLETE, "--cores", "2", *MINE)) == CHAIN
    both = store(root)
    assert kept.items() < both.items()
    copied.configure(tabled())
    assert jobs(copied.snakemake(COMPLETE, "--cores", "2", *MINE)) == CHAIN
    (root / "other.yaml").write_text((root / "mine.yaml").read_text().replace("profile: mine", "profile: other"))
    other = COMPLETE.replace("mine", "other")
    assert jobs(copied.snakemake(other, "--cores", "2", "--config", "profile=other.yaml")) == CHAIN
    assert store(root) == both
    assert planned(copied, COMPLETE) == {}
    assert shared(root / "results" / "mine") == shared(finished.root / "results" / "mine")


def statuses(root: Path) -> dict[str, str]:
    rows = pd.read_parquet(root / RESULTS / "runs" / "horizon.parquet").drop_duplicates(["learner", "status"])
    assert not rows["learner"].duplicated().any()
    return dict(zip(rows["learner"], rows["status"], strict=True))


@pytest.mark.nightly
def test_what_is_new_or_has_failed_is_played_and_nothing_else(copied: Checkout) -> None:
    """A failed learner is a row that says so; the others are played, and the next command plays it again."""
    root, settings = copied.root, tabled()
    (root / "algorithms" / "online" / "liar.py").write_text(LIAR_FILE.lstrip())
    (root / "lying").touch()
    experiments = settings["papers"][TABLED]["experiments"]
    honest, before = [*experiments["horizon"]["learners"], "ogd"], store(root)
    experiments["alone"] = {**experiments["horizon"], "learners": {"ogd": ["plain"]}, "epsilon": [4.0]}
    experiments["horizon"]["learners"].update({name: ["plain"] for name in ("ogd", LIAR)})
    copied.configure(settings)
    done = copied.snakemake(COMPLETE, "--cores", "2", *MINE)
    assert done.returncode != 0
    failed = [line.partition(".")[0] for line in done.stderr.splitlines() if "failed: " in line]
    assert not set(honest) & set(failed)
    said_of, table = statuses(root), (root / RESULTS / "jobs.csv").read_text()
    assert said_of.keys() == {*honest, LIAR}
    assert {said_of[name] for name in honest} == {"ok"}
    assert re.search("failed: .*ZeroDivisionError", said_of[LIAR])
    assert "ZeroDivisionError" in table
    assert f"{LIAR}.plain in horizon failed" in done.stderr, "in the log of the job that failed"
    rows = pd.read_parquet(root / RESULTS / "runs" / "horizon.parquet").set_index("learner")
    assert rows.loc[[LIAR], ["regret", "bound", "delivered_epsilon"]].isna().all(axis=None)
    assert not (root / COMPLETE).exists()
    played_before = store(root)
    assert before.items() <= played_before.items(), "other learners are not played again"
    assert len(played_before) == len(before) + 2
    (root / "lying").unlink()
    done = copied.snakemake(COMPLETE, "--cores", "2", *MINE)
    assert jobs(done) == CHAIN
    assert statuses(root) == dict.fromkeys((*honest, LIAR), "ok")
    assert played_before.items() <= store(root).items()
    assert len(store(root)) == len(played_before) + 1


class Held:
    """A command whose first play is held until the file `hold` goes."""

    def __init__(self, checkout: Checkout, *words: str) -> None:
        self.root, self.log = checkout.root, checkout.root / "told"
        (self.root / "held").unlink(missing_ok=True)
        (self.root / "hold").touch()
        self.main = checkout.start(self.log, *words)
        end = time.monotonic() + HANGS
        while not (self.root / "held").exists():
            assert self.main.poll() is None, self.log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        below = psutil.Process(self.main.pid).children(recursive=True)
        (child,) = (each for each in below if not each.children() and "play.py" in " ".join(each.cmdline()))
        self.job = child.parent()

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.main.pid, signal.SIGKILL)
        self.main.wait()

    def release(self) -> None:
        (self.root / "hold").unlink(missing_ok=True)

    def end(self) -> str:
        """Let it end; what it said."""
        self.release()
        assert self.main.wait(HANGS) != 0
        return self.log.read_text()


@pytest.mark.nightly
def test_killed_refused_and_edited_runs_are_resumed_and_end_equal(finished: Checkout, copied: Checkout) -> None:
    """Code is edited under a job, a job and the main process are killed."""
    root, words = copied.root, (COMPLETE, "--cores", "2", *MINE)
    child = root / CHILD
    head, tail = child.read_text().split("    answer: dict[str, Any] =")
    child.write_text(f"{head}{HOLD}    answer: dict[str, Any] ={tail}")
    for folder in ("store", f"mine/{TABLED}", "mine/made/plays"):
        shutil.rmtree(root / "results" / folder)

    with Held(copied, *words) as held, edited(root / "algorithms" / "online" / "wdp_cocop.py"):
        said = held.end()
        assert "the code was edited after this job was planned" in said
        assert "Traceback" not in said
        assert not store(root), "nothing is kept under the key of other code"
    with Held(copied, COMPLETE, "--cores", "1", *MINE) as held:
        second = copied.snakemake(*words)
        assert second.returncode != 0
        assert "lock" in second.stderr
        assert held.main.poll() is None
        held.main.kill()
        held.main.wait()
        held.job.kill()  # which goes on without it
        psutil.wait_procs([held.job], HANGS)
        held.release()
        assert not list((root / RESULTS).rglob("*.parquet"))
        assert copied.snakemake(*MINE, "--unlock").returncode == 0
        resumed = copied.snakemake(COMPLETE, "--cores", "1", *MINE)
    assert resumed.returncode == 0, resumed.stderr
    assert len(store(root)) == 2
    assert shared(root / "results" / "mine") == shared(finished.root / "results" / "mine")
    assert {path.name for path in (root / "results").rglob(".*")} <= {".snakemake_timestamp"}


def test_a_mistake_is_one_line_before_anything_is_made(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Others of the same front door stand in test_config.py."""
    checkout = make_checkout(tmp_path / "checkout")
    checkout.configure({**settings, "seed": "x"})
    done = checkout.snakemake(*MINE, "--cores", "1")
    assert done.returncode == 1
    (said,) = [each for each in done.stderr.splitlines() if not each.startswith(("Using workflow", "Assuming"))]
    assert said.startswith("mine.yaml:2: seed: ")
    assert {path.name for path in (checkout.root / "results").iterdir()} == {"reference"}


def test_a_paper_is_planned_on_a_cluster_of_one_core(copied: Checkout) -> None:
    """With all that is drawn of it. The plugin that submits is not there; `make slurm-check` tries it."""
    shutil.rmtree(copied.root / "results" / "mine")
    profile = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
    kept = {name: value for name, value in profile.items() if name != "executor" and not name.startswith("slurm-")}
    (copied.root / "cluster").mkdir()
    (copied.root / "cluster" / "config.yaml").write_text(yaml.safe_dump(kept))
    found = planned(copied, "--profile", "cluster", TABLED)
    stages = ("play", "runs", "tables", "complete", "exact", "figures", "paper_report")
    assert found == dict.fromkeys((TABLED, *stages), 1)


@pytest.mark.nightly
def test_the_picture_of_the_rules_is_what_snakemake_draws(tmp_path: Path) -> None:
    """All is new here, so that the mark is drawn besides."""
    checkout = make_checkout(tmp_path / "checkout")
    done = checkout.snakemake("--rulegraph")
    assert done.returncode == 0, done.stderr
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', done.stdout))
    drawn = {(names[a], names[b]) for a, b in re.findall(r"(\d+) -> (\d+)", done.stdout)}
    picture = (ROOT / "docs" / "rules.svg").read_text()
    titles = dict(re.findall(r"<title>(\d+)</title>.*?<text [^>]*>(\w+)</text>", picture, flags=re.DOTALL))
    arrows = {(titles[a], titles[b]) for a, b in re.findall(r"<title>(\d+)&#45;&gt;(\d+)</title>", picture)}
    assert arrows == {arrow for arrow in drawn if "mark" not in arrow}

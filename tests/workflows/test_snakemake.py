"""The workflow as a user meets it: run, run again, edit, kill and resume, and what is refused."""

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

import psutil
import pytest
import yaml
from checkout import HANGS, ROOT, Checkout
from shared import shared

pytestmark = pytest.mark.workflow

MINE = ("--config", "profile=mine.yaml")
RESULTS = Path("results") / "mine" / "lou_cheung_2020"
CLAIMS = RESULTS / "claims.csv"
COMPLETE = str(RESULTS / "complete.txt")
CHILD = Path("dpregret/workflows/run/child.py")
"""Of no key: a pause that is planted here changes no name."""
HOLD = """
    if log is not None:
        Path("held").touch()
        while Path("hold").exists():
            time.sleep(0.02)
"""


def jobs(done: "subprocess.CompletedProcess[str]") -> dict[str, int]:
    """Number of jobs of each rule."""
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    if "Nothing to be done" in text:
        return {}
    table = text.split("Job stats:")[1].split("\n\n")[0]
    found = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, flags=re.MULTILINE)}
    return {name: count for name, count in found.items() if name not in ("all", "total")}


def planned(checkout: Checkout, *words: str, profile: str = "mine.yaml") -> dict[str, int]:
    return jobs(checkout.snakemake("--cores", "1", "-n", *words, "--config", f"profile={profile}"))


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


def test_nothing_is_made_again_whatever_dates_snakemakes_memory_and_published_files_say(
    finished: Checkout, checkout: Checkout
) -> None:
    shutil.copytree(finished.root / "results", checkout.root / "results", dirs_exist_ok=True)
    shutil.copy(finished.root / "mine.yaml", checkout.root)
    for path in checkout.root.rglob("*.*"):
        os.utime(path, follow_symlinks=False)
    for path in (checkout.root / "results" / "made").rglob("*"):
        os.utime(path, (3786912000, 3786912000))  # 2090
    (checkout.root / CLAIMS).write_text("edited")
    (checkout.root / RESULTS / "table_1.md").unlink()
    shutil.rmtree(checkout.root / RESULTS / "figures")
    more = ("--set-resources", "play:mem_mb=9000*attempt", "--default-resources", "mem_mb=8000*attempt", "runtime=90")
    assert planned(checkout, *more) == {}
    assert shared(checkout.root / "results" / "mine") == shared(finished.root / "results" / "mine")
    (changed,) = (checkout.root / "results" / "made" / "tables").iterdir()
    shutil.rmtree(changed)
    assert jobs(checkout.snakemake("--cores", "2", str(CLAIMS), *MINE)) == {"tables": 1, "copy": 1}
    assert (checkout.root / CLAIMS).read_bytes() == (finished.root / CLAIMS).read_bytes()


def test_what_is_edited_is_made_again_and_nothing_else(finished: Checkout, copied: Checkout) -> None:
    root, settings = copied.root, yaml.safe_load((copied.root / "mine.yaml").read_text())
    before = store(root)
    experiments = settings["papers"]["lou_cheung_2020"]["experiments"]
    experiments["horizon"]["learners"]["ogd"] = ["plain"]
    experiments["alone"] = {**experiments["horizon"], "learners": {"ogd": ["plain"]}, "epsilon": [4.0]}
    with edited(root / "mine.yaml", lambda text: yaml.safe_dump(settings)):
        done = copied.snakemake("--cores", "2", *MINE, "--until", "play")
        assert jobs(done) == {"play": 2}
        after = store(root)
        assert len(after) == len(before) + 2
        assert before.items() <= after.items(), "other learners are not played again"
        with edited(root / "algorithms" / "online" / "wdp_cocop.py"):
            found = planned(copied, str(CLAIMS))
            assert found["play"] == found["tables"] == found["copy"] == 1, "not passed off as made"
            assert not (root / CLAIMS).exists()
    shutil.rmtree(root / ".snakemake")
    assert planned(copied) == {}
    assert shared(root / "results" / "mine") == shared(finished.root / "results" / "mine"), "published without a job"


class Held:
    """A command whose first play is held until the file `hold` goes."""

    def __init__(self, checkout: Checkout, *words: str) -> None:
        self.root, self.log = checkout.root, checkout.root / "told"
        (self.root / "held").unlink(missing_ok=True)
        (self.root / "hold").touch()
        with self.log.open("wb") as log:
            self.main = subprocess.Popen(
                checkout.command(*words), cwd=self.root, env=checkout.environment, start_new_session=True,
                stdout=log, stderr=log,
            )  # fmt: skip
        end = time.monotonic() + HANGS
        while not (self.root / "held").exists():
            assert self.main.poll() is None, self.log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        below = psutil.Process(self.main.pid).children(recursive=True)
        (child,) = (each for each in below if not each.children() and "stage.py" in " ".join(each.cmdline()))
        self.job = child.parent()

    def __enter__(self) -> "Held":
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


def test_killed_refused_and_edited_runs_are_resumed_and_end_equal(finished: Checkout, copied: Checkout) -> None:
    """Code is edited under a job, a job and the main process are killed. Killed children stand in test_faults.py."""
    root, words = copied.root, (COMPLETE, "--cores", "2", *MINE)
    child = root / CHILD
    head, tail = child.read_text().split("    word: dict[str, Any] =")
    child.write_text(f"{head}{HOLD}    word: dict[str, Any] ={tail}")
    for folder in ("store", "made/runs", "made/tables", "made/complete"):
        shutil.rmtree(root / "results" / folder)

    with Held(copied, *words) as held, edited(root / "algorithms" / "online" / "wdp_cocop.py"):
        said = held.end()
        assert "the code was edited after this job was planned" in said
        assert "Traceback" not in said
        assert not store(root), "nothing is kept under the key of other code"
    with Held(copied, *words) as held:
        held.job.kill()
        held.end()
        assert not list((root / "results" / "made" / "runs").rglob("*.parquet"))
    with Held(copied, COMPLETE, "--cores", "1", *MINE) as held:
        second = copied.snakemake(*words)
        assert second.returncode != 0
        assert "lock" in second.stderr
        assert held.main.poll() is None
        held.main.kill()
        held.main.wait()
        held.release()  # its job goes on without it, and comes to an end
        psutil.wait_procs([held.job], HANGS)
        assert copied.snakemake(*MINE, "--unlock").returncode == 0
        resumed = copied.snakemake("--cores", "1", *MINE)
    assert resumed.returncode == 0, resumed.stderr
    assert len(store(root)) == 2
    assert shared(root / "results" / "mine") == shared(finished.root / "results" / "mine")
    assert not list((root / "results").rglob(".*.part"))
    assert not list((root / "results" / "made" / "runs").rglob(".*"))


def test_a_mistake_is_one_line_before_anything_is_made(mine: Checkout) -> None:
    """Others of the same front door stand in test_readers.py."""
    text = (mine.root / "mine.yaml").read_text()
    (mine.root / "mine.yaml").write_text(text.replace("seed: 7", "seed: x"))
    done = mine.snakemake(*MINE, "--cores", "1")
    assert done.returncode == 1
    (said,) = [each for each in done.stderr.splitlines() if not each.startswith(("Using workflow", "Assuming"))]
    assert said.startswith("mine.yaml:2: seed: ")
    assert {path.name for path in (mine.root / "results").iterdir()} == {"reference"}


def test_catalogs_of_workflows_find_the_same_plan(checkout: Checkout) -> None:
    shutil.copytree(ROOT / "workflow", checkout.root / "workflow")
    found = planned(checkout, "--snakefile", "workflow/Snakefile", profile="smoke")
    assert {"play", "tables", "figures", "winners", "html_report"} <= set(found)


def test_the_full_profile_is_planned_on_a_cluster_of_one_core(checkout: Checkout) -> None:
    """`ci` is run by `make test`."""
    settings: Any = yaml.safe_load((checkout.root / "workflows/papers/lou_cheung_2020/experiments.yaml").read_text())
    done = checkout.snakemake("--cores", "1", "--profile", "profiles/slurm", "-n", "lou_cheung")
    found = jobs(done)
    assert found["play"] == len(settings["experiments"])
    assert found["tables"] == found["figures"] == found["complete"] == 1

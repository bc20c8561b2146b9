"""The workflow as a user meets it: run, run again, edit, kill and resume, and what is refused."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from checkout import HANGS

from dpregret.workflows.config import experiment_jobs, load_config
from dpregret.workflows.profiles import PROFILES

pytestmark = pytest.mark.workflow

MINE = ("--config", "profile=mine.yaml")
TABLES = ("claims.csv", "table_1.csv", "table_1.md", "table_1.tex", "table_1.html", "errata.csv", "errata.md")
RESULTS = Path("results") / "mine" / "lou_cheung_2020"


def outputs(root: Path) -> dict[str, bytes]:
    return {name: (root / RESULTS / name).read_bytes() for name in TABLES}


def rows(folder: Path) -> pd.DataFrame:
    """All rows of all runs, without timings and the hash of the code, in which a test may have planted a pause."""
    frame = pd.concat([pd.read_parquet(path) for path in sorted(folder.rglob("*.parquet"))], ignore_index=True)
    return frame.drop(columns=[name for name in frame.columns if name.startswith(("seconds", "code"))])


def planned(done: "subprocess.CompletedProcess[str]") -> dict[str, int]:
    """Number of jobs of each rule in a dry run."""
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    if "Nothing to be done" in text:
        return {}
    table = text.split("Job stats:")[1].split("\n\n")[0]
    rows = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, flags=re.MULTILINE)}
    return {name: count for name, count in rows.items() if name not in ("all", "total")}


def plan(checkout: Any) -> dict[str, int]:
    return planned(checkout.snakemake(*MINE, "--cores", "1", "--dry-run"))


def test_finished_run_has_nothing_to_do_even_after_a_touch(finished: Any) -> None:
    assert "Nothing to be done" in finished.snakemake(*MINE, "--cores", "8").stderr
    for path in finished.root.rglob("*.py"):
        os.utime(path)
    os.utime(finished.root / "mine.yaml")
    more = ("--set-resources", "run:mem_mb=9000*attempt", "--default-resources", "mem_mb=8000*attempt", "runtime=90")
    assert planned(finished.snakemake(*MINE, "--cores", "1", "--dry-run", *more)) == {}, "nor with more memory"


def test_stale_results_are_made_again_without_snakemake_knowing_of_them(finished: Any, checkout: Any) -> None:
    """Copied results, no `.snakemake`: what is as asked stays, a verdict edited by hand and another seed do not."""
    shutil.copytree(finished.root / "results", checkout.root / "results", dirs_exist_ok=True)
    shutil.copy(finished.root / "mine.yaml", checkout.root)
    claims = checkout.root / RESULTS / "claims.csv"
    told, text = claims.stat(), claims.read_text()
    claims.write_text(text.replace("not run", "holds up"))
    os.utime(claims, ns=(told.st_atime_ns, told.st_mtime_ns))
    edited = checkout.snakemake(*MINE, "--cores", "1", "--dry-run")
    found = planned(edited)
    assert found["tables"] == found["errata_page"] == found["html_report"] == 1
    assert not {"run", "figures", "exact"} & set(found)
    assert f"edited or damaged, with those of the same job ({RESULTS / 'claims.csv'})" in edited.stdout
    settings = yaml.safe_load((checkout.root / "mine.yaml").read_text())
    (checkout.root / "mine.yaml").write_text(yaml.safe_dump({**settings, "seed": 8}))
    other = checkout.snakemake(*MINE, "--cores", "1", "--dry-run")
    assert planned(other)["run"] == 2
    assert "of other settings or code" in other.stdout
    assert claims.read_text() != text, "a dry run changes nothing"


@pytest.mark.parametrize(
    ("files", "jobs"),
    [
        (["algorithms/online/wdp_cocop.py", "workflows/checks.py"], {"run": 1, "tables": 1}),
        (["paper_figs/fits.py"], {"run": 0, "tables": 1}),
    ],
)
def test_edit_runs_again_what_depends_on_it(finished: Any, files: list[str], jobs: dict[str, int]) -> None:
    """Which file decides what stands in test_fingerprint.py."""
    texts = {finished.root / name: (finished.root / name).read_text() for name in files}
    try:
        for path, text in texts.items():
            path.write_text(f"{text}\n# edited\n")
        found = plan(finished)
    finally:
        for path, text in texts.items():
            path.write_text(text)
    assert {rule: found.get(rule, 0) for rule in ("run", "tables")} == jobs


def test_a_long_run_asks_for_what_its_size_predicts_and_others_for_what_the_profile_says(checkout: Any) -> None:
    long = "results/large/lou_cheung_2020/runs/horizon/wdp-cocop-gaussian.corrected.parquet"
    table = "results/large/audit/audit.csv"
    done = checkout.snakemake(long, table, "-n", "--profile", "profiles/slurm", "--config", "profile=large")
    assert done.returncode == 0, done.stderr
    text = done.stdout + done.stderr
    asked = {
        rule: {name: int(value) for name, value in re.findall(r"\b(runtime|mem_mb)=(\d+)", body)}
        for rule, body in re.findall(r"^ *(?:local)?rule (\w+):\n((?: +\w+: .*\n)+)", text, flags=re.MULTILINE)
    }
    assert asked["run"]["runtime"] > 120
    assert asked["run"]["mem_mb"] > 5000
    assert asked["audit_family"] == {"mem_mb": 1500, "runtime": 10}
    assert asked["audit_tables"] == {"mem_mb": 1000, "runtime": 5}


def test_new_learner_runs_alone(finished: Any) -> None:
    path = finished.root / "mine.yaml"
    text = path.read_text()
    settings = yaml.safe_load(text)
    settings["papers"]["lou_cheung_2020"]["experiments"]["horizon"]["learners"]["ogd"] = ["plain"]
    path.write_text(yaml.safe_dump(settings))
    try:
        assert plan(finished)["run"] == 1
    finally:
        path.write_text(text)


def test_report_is_written_and_its_texts_are_sound(finished: Any) -> None:
    done = finished.snakemake(*MINE, "--report", "report.html")
    assert done.returncode == 0, done.stderr
    page = (finished.root / "report.html").read_text()
    assert "System Message" not in page
    for name in ("table_1.html", "claims.csv", "errata.csv", "costs.html"):
        assert name in page


def await_file(root: Path, pattern: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + HANGS
    while not list(root.glob(pattern)):
        assert process.poll() is None, "ended before it could be killed"
        assert time.monotonic() < end, f"{pattern} never appeared"
        time.sleep(0.05)


HOLD = """\
    import os, time
    while labels["learner"] == "ftal" and os.path.exists("hold"):
        time.sleep(0.05)
"""


def test_killed_run_is_resumed_by_the_same_command_and_ends_equal(finished: Any, mine: Any) -> None:
    """One job is held in its middle until the main process is dead; code and settings stay the same."""
    script = mine.root / "workflows" / "scripts" / "run.py"
    head, tail = script.read_text().split("    run_job(\n")
    script.write_text(f"{head}{HOLD}    run_job(\n{tail}")
    (mine.root / "hold").touch()
    words = (str(RESULTS / "claims.csv"), *MINE, "--cores", "2")
    command = mine.command(*words)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=mine.root, env=mine.environment, start_new_session=True, **quiet)
    try:
        await_file(mine.root, "results/mine/log/lou_cheung_2020/horizon/ftal*.log", process)
        await_file(mine.root, "results/mine/lou_cheung_2020/runs/horizon/wdp*.parquet", process)
        second = mine.snakemake(*words)
        assert second.returncode != 0
        assert f"another run is at work in this folder: process {process.pid} " in second.stderr
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert list((mine.root / ".snakemake" / "locks").iterdir())
        (mine.root / "hold").unlink()
        resumed = mine.snakemake(*words)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert resumed.returncode == 0, resumed.stderr
    assert outputs(mine.root) == outputs(finished.root)
    pd.testing.assert_frame_equal(*(rows(root / RESULTS / "runs") for root in (mine.root, finished.root)))
    assert not list((mine.root / RESULTS / "runs").rglob(".*"))


def test_mistake_is_told_in_one_line_before_anything_runs(checkout: Any) -> None:
    """Other mistakes of the same front door stand in test_config.py."""
    (checkout.root / "bad.yaml").write_text("profile: bad\nseed: x\npapers: {lou_cheung_2020: {experiments: {}}}\n")
    done = checkout.snakemake("--config", "profile=bad.yaml", "--cores", "1")
    assert done.returncode == 1
    assert "bad.yaml:2: seed: must be a whole number, not 'x'" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in (checkout.root / "results").iterdir()} == {"reference"}


def test_the_full_profile_can_be_planned(checkout: Any) -> None:
    """`smoke` and `ci` are run: below, and by `make test`."""
    jobs = list(experiment_jobs(load_config(PROFILES / "full.yaml", check=False)))
    done = checkout.snakemake("--cores", "8", "--dry-run", "lou_cheung")
    counts = planned(done)
    assert counts["run"] == sum(job.paper == "lou_cheung_2020" for job in jobs)
    assert counts["tables"] == 1
    assert "fetch" not in counts
    assert "results/lou_cheung_2020/table_1.csv" in done.stdout + done.stderr


def test_blas_is_pinned_to_one_thread_and_the_log_is_shown_on_failure(mine: Any) -> None:
    job = mine.root / "workflows" / "job.py"
    lines = "import os\ndef run_job(**_):\n    names = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')\n"
    job.write_text(f"{lines}    raise ValueError('threads ' + ' '.join(os.environ[name] for name in names))\n")
    environment = {key: value for key, value in mine.environment.items() if not key.endswith("_NUM_THREADS")}
    done = subprocess.run(
        mine.command(str(RESULTS / "runs/horizon/ftal.plain.parquet"), *MINE, "--cores", "8"),
        cwd=mine.root, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "ValueError: threads 1 1 1" in done.stdout + done.stderr

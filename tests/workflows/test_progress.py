"""What a run shows: a line a job with its time, failures with their log, and nothing of Snakemake's own talk."""

import logging
from pathlib import Path

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from dpregret.workflows.run.progress import JOBS, LOGGED, OURS, LogHandler, clock


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LogHandler:
    monkeypatch.chdir(tmp_path)
    return LogHandler(None, None)  # type: ignore[arg-type]


def send(display: LogHandler, at: float, message: str = "", level: int = logging.INFO, **about: object) -> None:
    record = logging.makeLogRecord({"msg": message, "levelno": level, "created": at, **about})
    display.emit(record)


def begin(display: LogHandler, jobs: int, at: float = 0.0) -> None:
    send(display, at, "Job stats:", event=LogEvent.RUN_INFO, stats={"mark": 1, "play": jobs, "total": jobs + 1})
    for job, rule in enumerate(["mark", *["play"] * jobs]):
        send(display, at, event=LogEvent.JOB_INFO, jobid=job, rule_name=rule, rule_msg=f"{rule} {job}")


def test_a_line_a_job_with_its_own_time(display: LogHandler, capsys: pytest.CaptureFixture[str]) -> None:
    send(display, 0, "Assuming unrestricted shared filesystem usage.")
    begin(display, 10)
    for job, at in ((0, 1.0), (2, 31.4), (1, 3725.0)):
        send(display, at, f"Finished jobid: {job}", event=LogEvent.JOB_FINISHED, job_id=job)
        send(display, at, event=LogEvent.PROGRESS, done=9, total=11)
    send(display, 9, "the summary", **OURS)
    send(display, 9, f"{LOGGED}/here/a.log")
    send(display, 9, "Elapsed time: 1")
    send(display, 9, "a file is locked", logging.ERROR)
    assert capsys.readouterr().err.splitlines() == [
        "[ 1/10] play 2  0:31", "[ 2/10] play 1  1:02:05", "the summary", "  log: /here/a.log", "a file is locked",
    ]  # fmt: skip


@pytest.mark.parametrize(("own", "shown"), [(True, "why\\x1b"), (False, "killed")])
def test_a_failed_job_shows_the_end_of_its_log(
    own: bool, shown: str, display: LogHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a job that died before it could write one, the end of what jobs have printed."""
    JOBS.parent.mkdir(parents=True)
    JOBS.write_text("killed\n")
    if own:
        Path("a.log").write_text("".join(f"{line}\n" for line in (*range(50), "why\x1b")))
    begin(display, 2)
    send(display, 3, "Error", logging.ERROR, event=LogEvent.JOB_ERROR, jobid=1, rule_name="play", log=["a.log"])
    send(display, 4, "WorkflowError:\nAt least one job did not complete successfully.", logging.ERROR)
    head, _, *lines = capsys.readouterr().err.splitlines()
    assert head == "failed: play 1  0:03"
    assert (lines[-1].strip(), len(lines)) == (shown, 20 if own else 1)


def test_an_interrupt_stops_jobs_that_have_not_failed(
    display: LogHandler, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LogHandler, "interrupted", True)
    Path("a.log").write_text("Traceback\n")
    begin(display, 1)
    send(display, 3, "Error", logging.ERROR, event=LogEvent.JOB_ERROR, jobid=1, rule_name="play", log=["a.log"])
    assert capsys.readouterr().err == "stopped: play 1  0:03\n"


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3600, "1:00:00")])
def test_times_are_minutes_and_seconds(seconds: float, text: str) -> None:
    assert clock(seconds) == text

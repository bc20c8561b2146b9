"""What a run shows: a line a job with its time, failures with their log, and nothing of Snakemake's own talk."""

import io
import logging
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.tests import MockOutputSettings

from dpregret.workflows.run import progress
from dpregret.workflows.run.progress import JOBS, LOGGED, OURS, LogHandler, Started, clock


@pytest.fixture
def display(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LogHandler:
    """Of a dry run, where its parameter says so."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(LogHandler, "shown", None)
    for state in ("begun", "listed", "interrupted", "dry_run"):
        monkeypatch.setattr(LogHandler, state, False)
    settings = MockOutputSettings()
    settings.dryrun = getattr(request, "param", False)
    return LogHandler(settings, None)


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


@pytest.mark.parametrize("display", [True], indirect=True)
@pytest.mark.parametrize("jobs", [2, 0])
def test_a_dry_run_lists_its_jobs(jobs: int, display: LogHandler, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a list of files was lost, Snakemake has jobs and a user has none."""
    begin(display, jobs)
    send(display, 0, "Job stats:", event=LogEvent.RUN_INFO, stats={"mark": 1, "play": jobs, "total": jobs + 1})
    head = f"dpregret: would {f'run {jobs} jobs' if jobs else 'list the files again'}"
    assert capsys.readouterr().err.splitlines() == [head, "  play 1", "  play 2"][: jobs + 1]


@pytest.mark.parametrize(("free", "shown"), [(0, "  it left no log: the disk is full"), (2**30, "  it left no log")])
def test_a_failed_job_without_a_log(
    free: int, shown: str, display: LogHandler, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    Path("a.log").touch()
    begin(display, 1)
    send(display, 3, "Error", logging.ERROR, event=LogEvent.JOB_ERROR, jobid=1, rule_name="play", log=["a.log"])
    assert capsys.readouterr().err.splitlines() == ["failed: play 1  0:03", shown]


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


def test_all_jobs_that_an_interrupt_stops_are_named(
    display: LogHandler, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snakemake reports the end of one of them."""
    Path("a.log").touch()
    begin(display, 2)
    monkeypatch.setattr(LogHandler, "interrupted", True)
    send(display, 3, "Error", logging.ERROR, event=LogEvent.JOB_ERROR, jobid=1, rule_name="play", log=["a.log"])
    display.end(4.0)
    display.end(5.0)
    assert capsys.readouterr().err == "stopped: play 1  0:03\nstopped: play 2  0:04\n"


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3600, "1:00:00")])
def test_times_are_minutes_and_seconds(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_outputs_of_started_jobs_are_collected() -> None:
    started = Started()
    begun = {"event": LogEvent.JOB_INFO, "output": ["a", "b"], "rule_name": "play", "jobid": 1}
    marked = {"event": LogEvent.JOB_INFO, "output": [], "rule_name": "mark", "jobid": 2}
    for about in (begun, marked, {}, *({"event": LogEvent.JOB_FINISHED, "job_id": job} for job in (1, 2))):
        started.handle(logging.makeLogRecord(about))
    assert started.outputs == ["a", "b"]
    assert started.done == 1  # a mark has no line
    assert started.jobs is None
    stats = {"mark": 1, "all": 1, "play": 3, "tables": 1, "total": 6}
    started.handle(logging.makeLogRecord({"event": LogEvent.RUN_INFO, "stats": stats}))
    assert started.jobs == 4


def test_a_terminal_breaks_lines_between_words(
    display: LogHandler, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    display.terminal = True
    monkeypatch.setenv("COLUMNS", "24")
    send(display, 0.0, "play p_2020: horizon, dimension-small\n  log: /a/long/path/without/a/blank", **OURS)
    shown = capsys.readouterr().err.removeprefix("\r\x1b[K")
    assert shown == "play p_2020: horizon,\n  dimension-small\n  log:\n    /a/long/path/without/a/blank\n"


ENDS: dict[str, tuple[int, bool, bool, str]] = {
    "nothing is to be done": (0, True, False, "dpregret: nothing to do\nthe summary\n"),
    "jobs are done": (0, True, True, ""),
    "it fails": (1, True, False, ""),
    "it fails before there is a display": (1, False, False, "Error: invalid profile\n"),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_is_said_at_the_end(end: str, display: LogHandler, monkeypatch: pytest.MonkeyPatch) -> None:
    code, begun, listed, wanted = ENDS[end]

    def snakemake(name: str, **options: object) -> None:
        LogHandler.begun = begun
        if listed:
            begin(display, 1)
        JOBS.write_text("Error: invalid profile\n")
        sys.exit(code)

    screen = io.StringIO()
    JOBS.parent.mkdir(parents=True)
    monkeypatch.setattr(progress, "keep_apart", lambda: screen)
    monkeypatch.setattr(progress, "note_interrupts", lambda: None)
    monkeypatch.setattr(progress, "AT_REST", [lambda: "the summary"])
    monkeypatch.setattr(progress.runpy, "run_module", snakemake)
    monkeypatch.setattr(sys, "argv", ["snakemake"])
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    monkeypatch.setattr(LogHandler, "screen", None)
    with pytest.raises(SystemExit) as stopped:
        progress.main()
    assert (stopped.value.code, screen.getvalue()) == (code, wanted)

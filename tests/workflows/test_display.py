"""What stands on the terminal while a run runs: little, but every failure with its whole log."""

import io
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from dpregret.workflows import ending
from dpregret.workflows.display import STANDARD, Display, label, take_over
from dpregret.workflows.eta import Eta
from dpregret.workflows.progress import SHOWN

RUN = {"paper": "p", "experiment": "horizon", "learner": "ftal", "variant": "plain"}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def event(name: str | None, message: str = "", level: int = logging.INFO, **values: Any) -> logging.LogRecord:
    return logging.makeLogRecord({"event": name, "msg": message, "levelno": level, **values})


class Screen:
    """A display of ten jobs of ten seconds on two cores, and what it wrote."""

    def __init__(self, live: bool) -> None:
        self.clock, self.out = Clock(), io.StringIO()
        console = Console(file=self.out, force_terminal=live, width=100, highlight=False, no_color=True)
        self.display = Display(console, live, lambda record: f"whole: {record.getMessage()}", self.clock)
        self.display.begin(Eta(dict.fromkeys(range(10), 10.0), 2, self.clock))

    def play(self, job: int, seconds: float) -> None:
        self.display.emit(event("job_info", jobid=job, rule_name="run", wildcards=RUN, log=[]))
        self.clock.now += seconds
        self.display.emit(event("job_finished", job_id=job))
        self.display.emit(event("progress", done=job, total=10))

    @property
    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHOWN, "")  # put back afterwards
    monkeypatch.setattr(ending, "ASKED", ending.threading.Event())


@pytest.fixture
def screen() -> Screen:
    return Screen(live=False)


def test_without_a_terminal_there_is_a_line_now_and_then(screen: Screen) -> None:
    for job, seconds in enumerate([1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 40.0, 1.0, 1.0]):
        screen.play(job, seconds)
    assert screen.lines == [
        "dpregret: 10 jobs, 2 at a time, expected to take about 50 s",
        "dpregret: 40%, about 5 s left, 4 of 10 jobs",
        "dpregret: 80%, about 5 s left, 8 of 10 jobs",
    ]


def test_words_of_snakemake_are_dropped_and_warnings_and_our_own_are_not(screen: Screen) -> None:
    screen.display.emit(event(None, "Select jobs to execute..."))
    screen.display.emit(event("shellcmd", "Shell command: x"))
    screen.display.emit(event(None, "dpregret: no list of the results: disk full"))
    screen.display.emit(event(None, "disk\x1b[2J", logging.WARNING))
    screen.display.emit(event("error", "WorkflowError:\nAt least one job did not complete", logging.ERROR))
    screen.display.emit(event("error", "MissingOutputException", logging.ERROR))
    assert screen.lines[1:] == [
        "dpregret: no list of the results: disk full", r"whole: disk\x1b[2J", "whole: MissingOutputException",
    ]  # fmt: skip


def test_who_has_nothing_to_do_is_told_what_was_found_before() -> None:
    out = io.StringIO()
    display = Display(Console(file=out, width=100), False, str)
    display.found = lambda: "dpregret: done"
    display.emit(event(None, "Building DAG of jobs..."))
    display.emit(event(None, "Nothing to be done (all files are there)."))
    assert out.getvalue() == "Nothing to be done (all files are there).\ndpregret: done\n"


def test_a_failure_is_told_with_its_whole_log_and_where_that_lies(screen: Screen, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("Traceback\nValueError: [red]\x1b[31m")
    screen.display.emit(event("job_info", jobid=1, rule_name="run", wildcards=RUN))
    screen.clock.now = 12.0
    said = "RuleException:\nCalledProcessError in file a, line 1:\nCommand 'x' returned non-zero exit status 143."
    screen.display.emit(event("error", said, logging.ERROR))
    failure = {"jobid": 1, "rule_name": "run", "log": [str(log)]}
    screen.display.emit(event("job_error", level=logging.ERROR, **failure))
    assert screen.lines[1:] == [
        "failed: p horizon/ftal.plain (10 s) with exit status 143",
        "    Traceback", r"    ValueError: [red]\x1b[31m", f"  its log: {log}",
    ]  # fmt: skip
    log.unlink()
    screen.display.emit(event("job_error", "all I know", logging.ERROR, **failure))
    assert screen.lines[5:] == ["failed: p horizon/ftal.plain", "whole: all I know"]


def test_what_ends_by_a_signal_is_stopped_and_has_not_failed(screen: Screen) -> None:
    ending.ASKED.set()
    screen.display.emit(event("job_error", level=logging.ERROR, jobid=7, rule_name="tables", log=[]))
    assert screen.lines[1:] == ["stopped: tables"]


def test_a_terminal_shows_time_left_what_runs_and_what_ended_last() -> None:
    screen = Screen(live=True)
    try:
        for job in range(3):
            screen.play(job, 20.0)
        for job in range(3, 12):
            screen.display.emit(event("job_info", jobid=job, rule_name="tables", wildcards={"paper": "p"}))
        shown = Console(file=io.StringIO(), width=100)
        shown.print(screen.display)
    finally:
        screen.display.close()
    assert isinstance(shown.file, io.StringIO)
    first, *rest = (line.rstrip() for line in shown.file.getvalue().splitlines())
    assert first.endswith("30%, about 65 s left, 3 of 10 jobs")
    assert rest == ["runs  tables p (5 s)"] * 6 + ["      and 3 more", "ended p horizon/ftal.plain (20 s)"]


@pytest.mark.parametrize("record", [event("job_finished"), event("job_error"), event("job_info"), event("progress")])
def test_strange_events_do_no_harm(screen: Screen, record: logging.LogRecord) -> None:
    screen.display.emit(record)


def test_who_asks_snakemake_for_its_own_words_gets_them() -> None:
    logger, standard = logging.Logger("snakemake"), logging.StreamHandler(io.StringIO())
    asked = {"quiet": None, "verbose": False, "printshellcmds": False, "debug_dag": False, "dryrun": False}
    assert take_over(logger, SimpleNamespace(**asked, nocolor=True)) is None, "another logger was asked for"
    standard.name = STANDARD
    logger.addHandler(standard)
    for name in asked:
        assert take_over(logger, SimpleNamespace(**{**asked, name: True}, nocolor=True)) is None
    display = take_over(logger, SimpleNamespace(**asked, nocolor=True))
    assert logger.handlers == [display]


def test_labels_are_short() -> None:
    assert label("run", RUN) == "p horizon/ftal.plain"
    assert label("further_table", {"paper": "p", "number": "2"}) == "further table p 2"

"""How much time is left: from the work that is left and the pace of what was done."""

import logging
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from dpregret.workflows.eta import FEWEST, LEAST_SECONDS, Eta, duration, expected_seconds, farewell


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def event(name: str, **values: object) -> logging.LogRecord:
    return logging.makeLogRecord({"event": name, **values})


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_time_left_is_the_work_left_at_the_pace_of_the_work_done(clock: Clock) -> None:
    """Ten jobs of ten seconds; the machine needs twenty for each; three have ended on two cores."""
    lines: list[str] = []
    eta = Eta(dict.fromkeys(range(10), 10.0), 2, lines.append, clock)
    for job in range(3):
        eta.emit(event("job_info", jobid=job))
    clock.now = 20.0
    for job in range(3):
        eta.emit(event("job_finished", job_id=job))
        eta.emit(event("progress", done=job + 1, total=10))
    assert eta.left(20.0) == pytest.approx(7 * 20 / 2)
    assert lines == ["30% of the work done, about 70 s left"]
    eta.emit(event("job_info", jobid=3))
    assert eta.left(30.0) == pytest.approx((7 * 20 - 10) / 2)


def test_the_longest_job_is_a_lower_bound(clock: Clock) -> None:
    eta = Eta({0: 10.0, 1: 100.0, 2: 1.0}, 8, print, clock)
    eta.emit(event("job_info", jobid=0))
    clock.now = 10.0
    eta.emit(event("job_finished", job_id=0))
    assert eta.left(10.0) == pytest.approx(100.0)


def test_members_of_a_group_count_though_nobody_saw_them_start(clock: Clock) -> None:
    eta = Eta(dict.fromkeys(range(4), 10.0), 1, print, clock)
    for job in range(2):
        eta.emit(event("job_finished", job_id=job))
    assert eta.share() == 0.5
    assert eta.left(0.0) == pytest.approx(20.0)


def test_nothing_is_told_too_early_or_too_often(clock: Clock) -> None:
    lines: list[str] = []
    eta = Eta(dict.fromkeys(range(100), 10.0), 1, lines.append, clock)
    for job in range(50):
        eta.emit(event("job_info", jobid=job))
        clock.now += 1.0
        eta.emit(event("job_finished", job_id=job))
        eta.emit(event("progress", done=job, total=100))
        if job < FEWEST - 1:
            assert not lines
    assert len(lines) == 3  # every fifteen seconds


@pytest.mark.parametrize(
    "record", [event("job_finished"), event("progress"), event("error"), logging.makeLogRecord({})]
)
def test_strange_events_do_no_harm(clock: Clock, record: logging.LogRecord) -> None:
    eta = Eta({}, 0, print, clock)
    clock.now = 1e6
    eta.emit(record)
    assert eta.share() == 1.0
    assert eta.left(clock.now) == 0.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3, "5 s"), (42, "40 s"), (89, "90 s"), (100, "2 min"), (3600, "60 min"), (7500, "2 h 05 min")],
)
def test_durations_are_round(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_runs_are_predicted_and_other_rules_take_their_mean() -> None:
    names = {"paper": "p", "experiment": "e", "learner": "l", "variant": "v"}
    jobs = [
        SimpleNamespace(jobid=1, rule=SimpleNamespace(name="run"), wildcards=SimpleNamespace(**names)),
        SimpleNamespace(jobid=2, rule=SimpleNamespace(name="tables"), wildcards=SimpleNamespace(paper="p")),
        SimpleNamespace(jobid=3, rule=SimpleNamespace(name="all"), wildcards=SimpleNamespace()),
    ]
    found = expected_seconds(jobs, {"tables": 10.0}, {("p", "e", "l", "v"): 7.0})
    assert found == {1: 7.0, 2: 10.0, 3: LEAST_SECONDS}


def test_farewell_counts_verdicts_and_says_where_to_look(tmp_path: Path) -> None:
    assert farewell(tmp_path, ["paper"]) == ""
    (tmp_path / "paper").mkdir()
    pd.DataFrame({"verdict": ["reproduced", "reproduced", "violated"]}).to_csv(tmp_path / "paper" / "claims.csv")
    pd.DataFrame({"verdict": ["holds"]}).to_csv(tmp_path / "paper" / "checks.csv")
    (tmp_path / "report.html").touch()
    assert farewell(tmp_path, ["paper", "other"]).splitlines() == [
        "dpregret: done",
        f"  paper: 2 reproduced, 1 violated; checks: 1 holds  ({tmp_path}/paper/table_1.md)",
        f"  everything on one page: {tmp_path}/report.html (open it in a browser)",
    ]

"""How much time is left: from the work that is left and the pace of what was done."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from dpregret.workflows.config import Job
from dpregret.workflows.eta import LEAST_SECONDS, TRUSTED, Eta, duration, expected_seconds, farewell


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_time_left_is_the_work_left_at_the_pace_of_the_work_done(clock: Clock) -> None:
    """Ten jobs of ten seconds; the machine needs twenty for each; three have ended on two cores."""
    eta = Eta(dict.fromkeys(range(10), 10.0), 2, clock)
    for job in range(3):
        eta.start(job)
    clock.now = 20.0
    assert [eta.end(job) for job in range(3)] == [20.0] * 3
    assert eta.share() == 0.3
    each = 10 * (3 * 20 + TRUSTED * 100) / (3 * 10 + TRUSTED * 100)
    assert eta.left() == pytest.approx(7 * each / 2)
    eta.start(3)
    clock.now = 30.0
    assert eta.left() == pytest.approx((7 * each - 10) / 2)


def test_the_longest_job_is_a_lower_bound(clock: Clock) -> None:
    eta = Eta({0: 10.0, 1: 100.0, 2: 1.0}, 8, clock)
    eta.start(0)
    clock.now = 10.0
    eta.end(0)
    assert eta.left() == pytest.approx(100.0)


def test_a_failure_says_nothing_of_the_speed_and_a_second_try_counts_again(clock: Clock) -> None:
    eta = Eta({0: 10.0, 1: 10.0}, 1, clock)
    eta.start(0)
    clock.now = 1000.0
    eta.end(0, well=False)
    assert (eta.share(), eta.left()) == (0.5, 10.0)
    eta.start(0)
    assert (eta.share(), eta.left()) == (0.0, 20.0)


def test_members_of_a_group_count_though_nobody_saw_them_start(clock: Clock) -> None:
    eta = Eta(dict.fromkeys(range(4), 10.0), 1, clock)
    for job in range(2):
        assert eta.end(job) is None
    assert eta.share() == 0.5
    assert eta.left() == pytest.approx(20.0)


def test_nothing_to_do_is_all_done(clock: Clock) -> None:
    eta = Eta({}, 0, clock)
    eta.end(7)
    assert (eta.share(), eta.left()) == (1.0, 0.0)


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
    found = expected_seconds(jobs, {"tables": 10.0}, {Job("p", "e", "l", "v"): 7.0}.__getitem__)
    assert found == {1: 7.0, 2: 10.0, 3: LEAST_SECONDS}


def test_farewell_counts_verdicts_and_says_where_to_look(tmp_path: Path) -> None:
    assert farewell(tmp_path, ["paper"]) == "dpregret: done"
    (tmp_path / "paper").mkdir()
    pd.DataFrame({"verdict": ["reproduced", "reproduced", "violated"]}).to_csv(tmp_path / "paper" / "claims.csv")
    pd.DataFrame({"verdict": ["holds"]}).to_csv(tmp_path / "paper" / "checks.csv")
    (tmp_path / "paper" / "report.html").touch()
    assert farewell(tmp_path, ["paper", "other"], ["log/a.log"]).splitlines() == [
        "dpregret: done",
        f"  paper: 2 reproduced, 1 violated; checks: 1 holds  ({tmp_path}/paper/table_1.md)",
        f"  report: {tmp_path}/paper/report.html  (dpregret report --open)",
        "  all that was said: log/a.log",
    ]

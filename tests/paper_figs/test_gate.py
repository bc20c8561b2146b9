"""The gate: what chance explains passes; a planted change fails with its line, and what cannot be compared fails."""

import re
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpregret.paper_figs.compare import gate
from dpregret.paper_figs.compare.gate import Tables
from dpregret.paper_figs.judge.result_tables import FILES, JOBS, read_jobs, read_judged
from dpregret.paper_figs.text import formats
from dpregret.workflows.run import load_run

KEPT = Path(__file__).resolve().parents[2] / "results" / "reference" / "ci"
PAPER, OTHER = "lou_cheung_2020", "talwar_2015"
CLAIM, LEARNER = "thm3-T", "wdp-cocop-gamma"
(BOUND,) = (
    read_judged(KEPT / PAPER)
    .query("type == 'below' & learner == @LEARNER & experiment == 'horizon'")["claim"]
    .to_list()
)
LEVEL = "share" if BOUND.startswith("bound.") else "log_level"
NAN = float("nan")
TABLES = (*FILES.values(), JOBS)
Edit = Callable[[Tables], Tables]


@pytest.fixture(scope="module")
def both() -> Tables:
    """The reference of ci, of two papers."""
    return Tables.read({paper: KEPT / paper for paper in (PAPER, OTHER)})


@pytest.fixture(scope="module")
def kept(both: Tables) -> Tables:
    """That of one of them."""
    return Tables(*(frame.loc[frame["paper"] == PAPER] for frame in both))


def cells(key: str, **changes: Any) -> Edit:
    """Rows of a paper whose claim, or learner, is `key`: new cells, or a function of the old ones."""

    def change(tables: Tables) -> Tables:
        kind, column = ("jobs", "learner") if key == LEARNER else ("lines", "claim")
        frame = getattr(tables, kind).copy()
        own = (frame[column] == key) & (frame["paper"] == PAPER)
        assert own.any()
        for name, value in changes.items():
            frame.loc[own, name] = frame.loc[own, name].map(value) if callable(value) else value
        return tables._replace(**{kind: frame})

    return change


def shifted(*names: str, by: float) -> dict[str, Callable[[float], float]]:
    """Numbers with their intervals, moved."""
    return {f"{name}{end}": lambda cell: cell + by for name in names for end in ("", "_low", "_high")}


def test_equal_tables_pass(both: Tables) -> None:
    found, counted = gate.compare(both, both)
    assert gate.report(found, counted).count("\n") == 1


LINE = f"{PAPER} {CLAIM}, {LEARNER}.corrected in horizon: "
JOB = f"{PAPER} {LEARNER}.corrected in horizon: "
PLANTED: dict[str, tuple[Edit, str]] = {
    "an exponent moved by 0.15": (cells(CLAIM, **shifted("fitted", "normalised", by=0.15)), LINE),
    "a level doubled": (cells(CLAIM, **shifted("log_level", by=np.log(2.0))), LINE),
    "a row deleted": (lambda both: both._replace(lines=both.lines.query("claim != @CLAIM")), f"{LINE}only in"),
    "a verdict edited": (cells(CLAIM, verdict="below bound"), f"{LINE}verdict"),
    "a tolerance widened": (cells(CLAIM, tolerance=0.2), f"{LINE}tolerance"),
    "a bound dropped": (
        cells(BOUND, verdict="inconclusive", reason="the runs carry no explicit bound"),
        f"{PAPER} {BOUND}, {LEARNER}.corrected in horizon: verdict",
    ),
    "a learner renamed": (cells(LEARNER, learner="wdp-cocop-gama"), f"{JOB}only in"),
    "another interval": (cells(CLAIM, fitted_low=-2.0, fitted_high=2.0), f"{LINE}log of the error"),
    "another resolution": (cells(CLAIM, resolution=5.0), f"{LINE}log of the resolution"),
    "a number gone": (cells(CLAIM, log_level=NAN, log_level_low=NAN, log_level_high=NAN), LINE),
    "a stream of another name": (cells(CLAIM, stream="other"), f"{LINE}stream"),
    "a play that failed": (cells(LEARNER, status="failed: left its set"), f"{JOB}status"),
    "records that lose more": (cells(LEARNER, delivered_record=2.0), f"{JOB}accounted over claimed eps of a record"),
    "points outside the set": (cells(LEARNER, violation=0.001), f"{JOB}violation"),
    "a ledger off by 1e-4": (cells(LEARNER, delivered=1.0001), f"{JOB}accounted"),
    "a ledger gone": (cells(LEARNER, delivered=NAN), f"{JOB}accounted"),
    "noise off by 1 %": (cells(LEARNER, noise_scale=lambda cell: 1.01 * cell), f"{JOB}scale"),
}


@pytest.mark.parametrize("change", PLANTED)
def test_a_planted_change_fails_with_its_line(change: str, kept: Tables) -> None:
    edit, said = PLANTED[change]
    for sides in ((edit(kept), kept), (kept, edit(kept))):
        found, _ = gate.compare(*sides)
        if change == "points outside the set" and sides[0] is kept:  # they are inside now
            assert found == []
        else:
            assert any(line.startswith(said) for line in found), found


@pytest.mark.parametrize(
    ("word", "end", "passes"),
    [
        ("inconclusive", 0.05, True),  # beyond the tolerance of 0.04, where it was within: no further than chance
        ("inconclusive", 0.03, False),
        ("violated", 0.05, False),
        ("below bound", 0.05, False),
    ],
)
def test_a_verdict_moves_to_its_neighbour_with_a_number_that_decides_it(
    word: str, end: float, passes: bool, kept: Tables
) -> None:
    assert (gate.compare(cells(CLAIM, verdict=word, end_high=end)(kept), kept)[0] == []) is passes


def test_a_bound_may_be_undecided_where_its_level_moved(kept: Tables) -> None:
    level = {LEVEL: lambda cell: cell + 1e-3} if LEVEL == "share" else shifted(LEVEL, by=1e-3)
    for changes, passes in (({}, False), (level, True), ({**level, "verdict": "fails"}, False)):
        edit = cells(BOUND, **{"verdict": "inconclusive", **changes})
        assert (not gate.compare(edit(kept), kept)[0]) is passes


def test_a_table_of_another_plan_is_stale(kept: Tables) -> None:
    hashes = kept.jobs[["config_hash", "code_hash"]].itertuples(index=False, name=None)
    plan = dict(zip(kept.jobs[list(gate.JOB)].itertuples(index=False, name=None), hashes, strict=True))
    key, new = (PAPER, "horizon", LEARNER, "corrected"), (PAPER, "horizon", "new", "plain")
    less = {name: each for name, each in plan.items() if name != key}
    for planned, said in (
        (plan, []),
        ({**plan, key: ("0123456789ab", plan[key][1])}, [JOB]),
        (less, [JOB]),
        ({**plan, new: ("a", "b")}, [f"{PAPER} new.plain in horizon: "]),
    ):
        assert [f"{line.partition(': ')[0]}: " for line in gate.compare(kept, kept, planned)[0]] == said


def test_a_paper_that_only_one_side_has_fails(both: Tables, kept: Tables) -> None:
    for sides, where in (((kept, both), "reference"), ((both, kept), "results")):
        assert gate.compare(*sides)[0] == [f"{OTHER}: only in the {where}"]
    with pytest.raises(gate.GateError, match="profile"):
        gate.compare(both, kept._replace(jobs=kept.jobs.assign(profile="smoke")))


@pytest.mark.parametrize(
    ("how", "name"),
    [*product(("missing", "without rows"), TABLES), ("empty", FILES["claim"]), ("cut", JOBS)],
)
def test_what_cannot_be_compared_fails(how: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for each in TABLES:
        shutil.copy(KEPT / PAPER / each, tmp_path)
    text = (tmp_path / name).read_text()
    (tmp_path / name).unlink()
    if how != "missing":
        damaged = {"empty": "", "without rows": text[: text.index("\n") + 1], "cut": text[:700]}[how]
        (tmp_path / name).write_text(damaged)
    gone = how == "without rows" and name != JOBS  # a study need not have claims or checks: each is told to be gone
    for sides in ((tmp_path, KEPT / PAPER), (KEPT / PAPER, tmp_path)):
        assert gate.main(*sides) == (gate.MOVED if gone else gate.INCOMPARABLE)
        said = capsys.readouterr()
        assert ((said.out + said.err).count("\n") == 1) is not gone


def test_a_mean_that_moved_by_no_more_than_chance_is_told_with_what_would_pass(kept: Tables) -> None:
    """A smaller change than chance passes, and no change of a play is hidden: the border is where it is told."""
    (mean,) = kept.jobs.query("learner == @LEARNER and experiment == 'horizon'")["level"]
    assert gate.within_chance(kept, kept) == []
    told = gate.within_chance(cells(LEARNER, **shifted("level", by=1e-3 * mean))(kept), kept)
    (line,) = (each for each in told if each.startswith(JOB))
    assert "mean regret is 0.1 % higher; with " in line
    percent = float(re.search(r"up to ([\d.]+) %", line)[1])  # type: ignore[index]
    for share, passes in ((0.9, True), (1.1, False)):
        now = cells(LEARNER, **shifted("level", by=share * percent / 100 * mean))(kept)
        found, _ = gate.compare(now, kept)
        assert any(each.startswith(JOB) for each in gate.within_chance(now, kept)) is passes
        assert any(each.startswith(JOB) for each in found) is not passes
    gone = cells(LEARNER, level=NAN)(kept)
    for sides in ((gone, kept), (kept, gone), (gone, gone)):
        assert gate.within_chance(*sides) == []


def test_a_study_without_claims_is_compared_by_its_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of it passes unseen: a noise that is another one is told."""
    sides = [tmp_path / side for side in ("now", "before")]
    for side in sides:
        shutil.copytree(KEPT / PAPER, side)
        for name in FILES.values():
            (side / name).write_text((side / name).read_text().split("\n")[0] + "\n")
    assert gate.main(*sides) == 0
    assert re.match(r"gate: 0 lines and \d\d+ jobs, \d\d+ numbers: all as in the reference", capsys.readouterr().out)
    jobs = read_jobs(sides[0])
    formats.write_csv(jobs.assign(noise_scale=jobs["noise_scale"] * 1.01), sides[0] / JOBS)
    assert gate.main(*sides) == gate.MOVED
    assert "scale of the noise was" in capsys.readouterr().out
    assert load_run.main(*map(str, sides)) == 0
    assert capsys.readouterr().out == "the two folders have no claim in common\n"


def row(value: float, half: float, **more: object) -> dict[str, object]:
    return {"fitted": value, "fitted_low": value - half, "fitted_high": value + half, "runs": 16, **more}


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_lengths_are_compared_where_runs_are_like_normal_ones(share: float) -> None:
    line = {"resolution_of": "power", "resolution": 0.1, "largest_run": share}
    line |= {"normalised": 0.0, "normalised_low": -0.1, "normalised_high": 0.1}
    now, before = (row(0.5, half, **line) for half in (0.1, 0.001))
    assert [told.partition(" was")[0] for told in gate.moved(now, before, 1e-5)] == ["log of the error"] * (share < 0.5)


def test_numbers_are_told_apart_by_welch() -> None:
    """Against the t test of samples that have these means and errors."""
    samples = np.random.default_rng(1).normal(size=(2, 16)) * [[1.0], [3.0]]
    halves = stats.t.ppf(0.975, 15) * samples.std(ddof=1, axis=1) / 4
    rows = [row(*each) for each in zip(samples.mean(axis=1).tolist(), halves.tolist(), strict=True)]
    chance = stats.ttest_ind(*samples, equal_var=False).pvalue
    assert [len(list(gate.moved(*rows, share * chance))) for share in (0.999, 1.001)] == [0, 1]


@pytest.mark.parametrize("size", [0.5, 20.0])
def test_numbers_without_noise_may_differ_by_rounding_alone(size: float) -> None:
    for now, told in ((size * (1 + 2e-6), 0), (size + 1e-4 * max(1, size), 1)):
        assert len(list(gate.moved(row(now, 0.0), row(size, 0.0), 1e-5))) == told


def test_a_comparison_keeps_its_rate_of_false_alarms_and_has_power() -> None:
    """40 exponents from 16 log-normal runs each: other random numbers pass, one that moved by 0.15 is told."""
    generator = np.random.default_rng(7)
    level, alarms, told = gate.FALSE_ALARM / 40, 0, 0
    for _ in range(50):
        samples = np.exp(0.05 * generator.normal(size=(2, 40, 16)))
        means, halves = samples.mean(axis=2), stats.t.ppf(0.975, 15) * samples.std(axis=2, ddof=1) / 4
        now, before = ([row(*pair) for pair in zip(*side, strict=True)] for side in zip(means, halves, strict=True))
        alarms += any(list(gate.moved(*pair, level)) for pair in zip(now, before, strict=True))
        told += bool(list(gate.moved(row(means[0, 0] + 0.15, halves[0, 0]), before[0], level)))
    assert alarms <= 3
    assert told >= 45

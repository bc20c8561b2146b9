"""The gate: what chance explains passes; a planted change fails with its line, and what cannot be compared fails."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpregret.paper_figs.compare import gate
from dpregret.paper_figs.judge.result_tables import FILES, JOBS

KEPT = Path(__file__).resolve().parents[2] / "results" / "reference" / "ci"
PAPER = "lou_cheung_2020"
CLAIM, BOUND = "thm3-T", "cocop-gamma-bound-horizon"
TABLES = (*FILES.values(), JOBS)
Edit = Callable[[pd.DataFrame], pd.DataFrame]
Printed = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Results equal to the reference of ci, of two papers."""
    for paper in (PAPER, "talwar_2015"):
        (tmp_path / paper).mkdir()
        for name in TABLES:
            shutil.copy(KEPT / paper / name, tmp_path / paper)
    return tmp_path


@pytest.fixture
def reference(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(run, tmp_path_factory.mktemp("kept") / "ci"))


def edited(folder: Path, name: str, change: Edit) -> None:
    """Change the cells of a table, which are text."""
    change(pd.read_csv(folder / name, dtype=str, keep_default_na=False)).to_csv(folder / name, index=False)


def cells(key: str, **changes: object) -> Edit:
    """Rows whose claim, or learner, is `key`: new cells, or a function of the old ones."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        own = frame["claim" if "claim" in frame else "learner"] == key
        assert own.any()
        for name, value in changes.items():
            frame.loc[own, name] = frame.loc[own, name].map(value) if callable(value) else value
        return frame

    return change


def shifted(*names: str, by: float) -> dict[str, Callable[[str], str]]:
    """Numbers with their intervals, moved."""
    return {f"{name}{end}": lambda cell: f"{float(cell) + by:.9g}" for name in names for end in ("", "_low", "_high")}


def without(key: str) -> Edit:
    return lambda frame: frame.loc[frame["claim"] != key]


def compared(now: Path, before: Path, printed: Printed) -> tuple[int, list[str]]:
    code = gate.main([str(now), str(before)])
    said = printed.readouterr()
    return code, (said.out + said.err).splitlines()


def test_equal_tables_pass(run: Path, reference: Path, capsys: Printed) -> None:
    code, said = compared(run, reference, capsys)
    assert (code, len(said)) == (0, 1)


LINE = f"{PAPER} {CLAIM}, wdp-cocop-gamma.corrected in horizon: "
JOB = f"{PAPER} wdp-cocop-gamma.corrected in horizon: "
PLANTED = {
    "an exponent moved by 0.15": ("claims.csv", cells(CLAIM, **shifted("fitted", "normalised", by=0.15)), LINE),
    "a level doubled": ("claims.csv", cells(CLAIM, **shifted("log_level", by=np.log(2.0))), LINE),
    "a row deleted": ("claims.csv", without(CLAIM), f"{LINE}only in"),
    "a verdict edited": ("claims.csv", cells(CLAIM, verdict="below bound"), f"{LINE}verdict"),
    "a tolerance widened": ("claims.csv", cells(CLAIM, tolerance="0.2"), f"{LINE}tolerance"),
    "a bound dropped": (
        "checks.csv", cells(BOUND, verdict="inconclusive", reason="the runs carry no explicit bound"),
        f"{PAPER} {BOUND}, wdp-cocop-gamma.corrected in horizon: verdict",
    ),
    "a learner renamed": ("jobs.csv", cells("wdp-cocop-gamma", learner="wdp-cocop-gama"), f"{JOB}only in"),
    "another interval": (
        "claims.csv",
        cells(CLAIM, fitted_low="-2", fitted_high="2"),
        f"{LINE}log of the error",
    ),
    "another resolution": ("claims.csv", cells(CLAIM, resolution="5"), f"{LINE}log of the resolution"),
    "a number gone": ("claims.csv", cells(CLAIM, log_level="", log_level_low="", log_level_high=""), LINE),
    "a stream of another name": ("claims.csv", cells(CLAIM, stream="other"), f"{LINE}stream"),
    "a play that failed": ("jobs.csv", cells("wdp-cocop-gamma", status="failed: left its set"), f"{JOB}status"),
    "points outside the set": ("jobs.csv", cells("wdp-cocop-gamma", violation="0.001"), f"{JOB}violation"),
    "a ledger off by 1e-4": ("jobs.csv", cells("wdp-cocop-gamma", delivered="1.0001"), f"{JOB}delivered"),
    "a ledger gone": ("jobs.csv", cells("wdp-cocop-gamma", delivered=""), f"{JOB}delivered"),
    "noise off by 1 %": (
        "jobs.csv", cells("wdp-cocop-gamma", noise_scale=lambda cell: f"{1.01 * float(cell):.9g}"), f"{JOB}scale",
    ),
}  # fmt: skip


@pytest.mark.parametrize("side", ["now", "before"])
@pytest.mark.parametrize("change", PLANTED)
def test_a_planted_change_fails_with_its_line(
    change: str, side: str, run: Path, reference: Path, capsys: Printed
) -> None:
    name, edit, said = PLANTED[change]
    edited((run if side == "now" else reference) / PAPER, name, edit)
    code, lines = compared(run, reference, capsys)
    if (change, side) == ("points outside the set", "before"):  # they are inside now
        assert code == 0
        return
    assert code == gate.MOVED
    assert any(line.startswith(said) for line in lines), lines


@pytest.mark.parametrize(
    ("word", "end", "code"),
    [
        ("inconclusive", 0.05, 0),  # beyond the tolerance of 0.04, where it was within: no further than chance
        ("inconclusive", 0.03, gate.MOVED),
        ("violated", 0.05, gate.MOVED),
        ("below bound", 0.05, gate.MOVED),
    ],
)
def test_a_verdict_moves_to_its_neighbour_with_a_number_that_decides_it(
    word: str, end: float, code: int, run: Path, reference: Path, capsys: Printed
) -> None:
    edited(run / PAPER, "claims.csv", cells(CLAIM, verdict=word, end_high=f"{end}"))
    assert compared(run, reference, capsys)[0] == code


def test_a_bound_may_be_undecided_where_its_level_moved(run: Path, reference: Path, capsys: Printed) -> None:
    edited(run / PAPER, "checks.csv", cells(BOUND, verdict="inconclusive"))
    assert compared(run, reference, capsys)[0] == gate.MOVED
    edited(run / PAPER, "checks.csv", cells(BOUND, **shifted("log_level", by=1e-3)))
    assert compared(run, reference, capsys)[0] == 0
    edited(run / PAPER, "checks.csv", cells(BOUND, verdict="fails"))
    assert compared(run, reference, capsys)[0] == gate.MOVED


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_lengths_are_compared_where_runs_are_like_normal_ones(share: float) -> None:
    line = {
        "resolution_of": "power",
        "resolution": 0.1,
        "normalised": 0.0,
        "normalised_low": -0.1,
        "normalised_high": 0.1,
    }
    now, before = ({**row(0.5, half), **line, "largest_run": share} for half in (0.1, 0.001))
    assert [told.partition(" was")[0] for told in gate.moved(now, before, 1e-5)] == ["log of the error"] * (share < 0.5)


def hashed(tables: gate.Tables) -> dict[tuple[str, ...], tuple[str, str]]:
    """The jobs that a plan names, were it that of these tables."""
    rows = tables.jobs.to_dict("records")
    return {tuple(row[name] for name in gate.JOB): (row["config_hash"], row["code_hash"]) for row in rows}


def test_a_table_of_another_plan_is_stale(run: Path) -> None:
    tables = gate.Tables.read(gate.papers(run))
    plan = hashed(tables)
    assert gate.compare(tables, tables, plan)[0] == []
    key = (PAPER, "horizon", "wdp-cocop-gamma", "corrected")
    other = {**plan, key: ("0123456789ab", plan[key][1])}
    for wrong in (other, {name: hashes for name, hashes in plan.items() if name != key}):
        found, _ = gate.compare(tables, tables, wrong)
        assert [line.partition(": ")[0] for line in found] == [JOB.removesuffix(": ")]
    found, _ = gate.compare(tables, tables, {**plan, (PAPER, "horizon", "new", "plain"): ("a", "b")})
    assert [line.partition(": ")[0] for line in found] == [f"{PAPER} new.plain in horizon"]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("side", ["now", "before"])
@pytest.mark.parametrize("how", ["missing", "empty", "without rows", "cut"])
def test_what_cannot_be_compared_fails(
    how: str, side: str, name: str, run: Path, reference: Path, capsys: Printed
) -> None:
    file = (run if side == "now" else reference) / PAPER / name
    text = file.read_text()
    if how == "missing":
        file.unlink()
    else:
        file.write_text({"empty": "", "without rows": text[: text.index("\n") + 1], "cut": text[:700]}[how])
    code, said = compared(run, reference, capsys)
    if (how, name) == ("without rows", FILES["check"]):  # a paper need not have checks: each is told to be gone
        assert (code, len(said) > 5) == (gate.MOVED, True)
    else:
        assert (code, len(said)) == (gate.INCOMPARABLE, 1)


@pytest.mark.parametrize("side", ["now", "before"])
def test_a_paper_that_only_one_side_has_fails(side: str, run: Path, reference: Path, capsys: Printed) -> None:
    shutil.rmtree((run if side == "now" else reference) / "talwar_2015")
    code, said = compared(run, reference, capsys)
    assert code == gate.MOVED
    assert [line for line in said if line.startswith("talwar_2015")] == [
        f"talwar_2015: only in the {'reference' if side == 'now' else 'results'}"
    ]
    edited(run / PAPER if side == "before" else reference / PAPER, JOBS, lambda jobs: jobs.assign(profile="smoke"))
    assert compared(run, reference, capsys)[0] == gate.INCOMPARABLE
    shutil.rmtree((run if side == "now" else reference) / PAPER)
    assert compared(run, reference, capsys)[0] == gate.INCOMPARABLE


def row(value: float, half: float, **more: object) -> dict[str, object]:
    return {"fitted": value, "fitted_low": value - half, "fitted_high": value + half, "runs": 16, **more}


def test_numbers_are_told_apart_by_welch() -> None:
    """Against the t test of samples that have these means and errors."""
    generator = np.random.default_rng(1)
    samples = generator.normal(size=(2, 16)) * [[1.0], [3.0]]
    rows = []
    for sample in samples:
        half = stats.t.ppf(0.975, 15) * sample.std(ddof=1) / 4
        rows.append(row(float(sample.mean()), float(half)))
    chance = stats.ttest_ind(*samples, equal_var=False).pvalue
    assert list(gate.moved(*rows, 0.999 * chance)) == []
    assert len(list(gate.moved(*rows, 1.001 * chance))) == 1


def test_numbers_without_noise_may_differ_by_rounding_alone() -> None:
    for size in (0.5, 20.0):
        one = row(size, 0.0)
        assert list(gate.moved(row(size * (1 + 2e-6), 0.0), one, 1e-5)) == []
        assert len(list(gate.moved(row(size + 1e-4 * max(1, size), 0.0), one, 1e-5))) == 1


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

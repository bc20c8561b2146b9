"""The gate: whatever leaves the reference fails with its line, and whatever cannot be compared fails too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from dpregret.paper_figs.compare.gate import allowance, main
from dpregret.paper_figs.compare.reference import PAPER, SUMS, keep
from dpregret.paper_figs.judge.claims_csv import FORMS, read_lines, write_lines
from dpregret.paper_figs.text.read_table import DamageError, read_table
from dpregret.paper_figs.validation.gate_odds import simulate_gate

NAN = float("nan")
COUNT = 10
Edit = Callable[[pd.DataFrame], pd.DataFrame]
Lines = dict[str, pd.DataFrame]


def interval(name: str, value: float, half: float) -> dict[str, float]:
    return {name: value, f"{name}_low": value - half, f"{name}_high": value + half}


def line(number: int, kind: str) -> dict[str, object]:
    return {
        "kind": kind, "claim": f"{kind}-{number}", "origin": "paper", "type": "exponent", "learner": "ftal",
        "variant": "plain", "experiment": "horizon", "stream": "kink", "parameter": "horizon", "response": "regret",
        "rate": "T^0.5", "tolerance": 0.1, "verdict": "reproduced" if kind == "claim" else "holds",
        **interval("fitted", 0.5, 0.02), **interval("normalised", 0.0, 0.02), **interval("log_level", 3.0, 0.05),
        "largest_run": 0.3, "runs": 16, "cells_used": "1; 2; 4; 8", "why": "a bound", "resolution": 0.15,
    }  # fmt: skip


def tables() -> Lines:
    """Ten claims, a check and two jobs."""
    lines = [line(number, "claim") for number in range(COUNT)] + [line(0, "check")]
    job = {
        "profile": "ci", "experiment": "horizon", "learner": "ftal", "variant": "plain", "status": "ok", "runs": 16,
        **interval("level", 0.2, 0.01), "largest_run": 0.3, "violation": 0.0, "delivered": 1.0, "noise_scale": 2.5,
        "config_hash": "1e1234567890", "code_hash": "123456789012",
    }  # fmt: skip
    return {"lines": pd.DataFrame(lines), "jobs": pd.DataFrame([job, {**job, "learner": "ogd"}])}


def write(folder: Path, lines: pd.DataFrame, jobs: pd.DataFrame) -> Path:
    paper = folder / "paper_2020"
    paper.mkdir(parents=True, exist_ok=True)
    write_lines(lines, paper)
    jobs.to_csv(paper / "jobs.csv", index=False)
    keep(paper, PAPER)
    return paper


def at(row: int, **changes: object) -> Edit:
    def edit(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.astype(object)
        for name, value in changes.items():
            frame.loc[row, name] = value
        return frame

    return edit


def compared(tmp_path: Path, capsys: pytest.CaptureFixture[str], **edits: Edit) -> tuple[int, list[str]]:
    """Exit code and printed lines with edited current tables."""
    write(tmp_path / "reference", **tables())
    now = {name: edits.get(name, lambda same: same)(frame) for name, frame in tables().items()}
    write(tmp_path / "results", **now)
    code = main(["compare", str(tmp_path / "results"), str(tmp_path / "reference")])
    printed = capsys.readouterr()
    return code, (printed.out or printed.err).splitlines()


def test_equal_tables_pass_and_all_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = compared(tmp_path, capsys)
    assert code == 0
    assert said == ["gate: 11 lines and 2 jobs of 1 papers, 35 numbers: all as in the reference"]


LINE = "paper_2020 claim-3, ftal.plain in horizon: "
JOB = "paper_2020 horizon, ogd.plain: "


@pytest.mark.parametrize(
    ("which", "edit", "said"),
    [
        ("lines", at(3, verdict="inconclusive"), f"{LINE}verdict was reproduced, is inconclusive (an end of its inter"),
        ("lines", at(3, **interval("fitted", 0.65, 0.02)), f"{LINE}exponent was 0.5, is 0.65, "),
        ("lines", at(3, **interval("fitted", 0.35, 0.02)), f"{LINE}exponent was 0.5, is 0.35, "),
        ("lines", at(3, **interval("log_level", 3.7, 0.05)), f"{LINE}level was 20.09, is 40.45, "),
        ("lines", at(3, **interval("fitted", NAN, NAN)), f"{LINE}exponent was 0.5, is none"),
        ("lines", at(3, cells_used="1; 2; 4"), f"{LINE}fitted cells were 1; 2; 4; 8, are 1; 2; 4"),
        ("lines", at(3, rate="T"), f"{LINE}rate was 'T^0.5', is 'T'"),
        ("lines", at(3, tolerance=-0.1), f"{LINE}tolerance was 0.1, is -0.1"),
        ("lines", at(3, stream="other"), f"{LINE}stream was 'kink', is 'other'"),
        ("lines", at(3, kind="check", verdict="holds"), f"{LINE}kind was 'claim', is 'check'; verdict was reproduced"),
        ("lines", lambda frame: frame.drop(index=3), f"{LINE}in the reference only"),
        ("lines", at(3, claim="claim-new"), "paper_2020 claim-new, ftal.plain in horizon: new, without a reference"),
        ("jobs", at(1, status="failed: left its set"), f"{JOB}status was ok, is failed: left its set"),
        ("jobs", at(1, violation=1e-3), f"{JOB}violation of the set was 0, is 0.001"),
        ("jobs", at(1, violation=NAN), f"{JOB}violation of the set was 0, is nan"),
        ("jobs", at(1, delivered=1.6667), f"{JOB}delivered over claimed eps was 1, is 1.6667"),
        ("jobs", at(1, delivered=1.0001), f"{JOB}delivered over claimed eps was 1, is 1.0001"),
        ("jobs", at(1, noise_scale=NAN), f"{JOB}scale of the noise was 2.5, is nan"),
        ("jobs", at(1, **interval("level", 0.3, 0.01)), f"{JOB}regret over the trivial one was 0.2, is 0.3, "),
        ("jobs", lambda frame: frame.drop(index=1), f"{JOB}in the reference only"),
        ("jobs", at(1, learner="new"), "paper_2020 horizon, new.plain: new, without a reference"),
    ],
)
def test_whatever_moved_fails_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], which: str, edit: Edit, said: str
) -> None:
    code, lines = compared(tmp_path, capsys, **{which: edit})
    assert code == 1
    assert any(each.startswith(said) for each in lines), lines
    assert lines[-1].endswith(" left the reference")


def test_message_has_the_worst_first_what_differs_and_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def move(frame: pd.DataFrame) -> pd.DataFrame:
        small, large = interval("fitted", 0.65, 0.02), interval("fitted", 1.5, 0.02)
        return at(5, verdict="violated")(at(8, **large)(at(1, **small)(frame)))

    code, said = compared(tmp_path, capsys, lines=move, jobs=at(0, code_hash="ffffffffffff"))
    assert code == 1
    assert [each.split(",")[0] for each in said[:3]] == [f"paper_2020 claim-{number}" for number in (5, 8, 1)]
    row = {**line(0, "claim")}
    times = 1.0 / allowance(row, row, "fitted", 0.01 / 70)
    assert f"exponent was 0.5, is 1.5, {times:.3g} times what is allowed" in said[1]
    assert said[1].endswith("(same configuration 1e1234567890, code was 123456789012, is ffffffffffff)")
    assert said[3:] == [
        "to see what differs: .venv/bin/dpregret compare results/reference/ci results/ci",
        "if it is meant: make reference RUNS=results/ci",
        "gate: 11 lines and 2 jobs of 1 papers, 35 numbers: 3 left the reference",
    ]


def text_edit(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        ("claims.csv", text_edit("0.48", "nan"), "claims.csv:2: column fitted_low: 'nan' is no finite number"),
        ("claims.csv", text_edit("0.52", "inf"), "claims.csv:2: column fitted_high: 'inf' is no finite number"),
        ("claims.csv", text_edit("0.52", "1e999"), "claims.csv:2: column fitted_high: '1e999' is no finite number"),
        ("claims.csv", text_edit("0.52", "1e6"), "claims.csv:2: column fitted: [0.48, 1e+06] is larger than anything"),
        ("claims.csv", text_edit("0.48,0.52", "0.52,0.48"), "column fitted: 0.5 is not within its interval"),
        ("claims.csv", text_edit("0.5,0.48", ",0.48"), "column fitted: a number without its interval"),
        ("claims.csv", lambda text: text[:1000], ": cut off, the last line has no end"),
        ("claims.csv", lambda text: "", "claims.csv: empty"),
        ("claims.csv", text_edit("fitted_low,fitted_high", "fitted_high,fitted_low"), "is not within its interval"),
        ("claims.csv", text_edit(",log_level,", ",old,"), "claims.csv:1: no column 'log_level'"),
        ("claims.csv", text_edit(",tolerance,", ",old,"), "claims.csv:1: no column 'tolerance'"),
        ("claims.csv", text_edit("claim-3", "claim-2"), "claims.csv:5: 'claim-2' stands twice, first in line 4"),
        ("claims.csv", text_edit("claim-3,", ",claim-3,"), "claims.csv:5: 26 cells, the header has 25"),
        ("claims.csv", text_edit("reproduced", "repr0duced"), "unknown verdict 'repr0duced'"),
        ("claims.csv", text_edit("claim-3", "check-0"), "'check-0' is both a claim and a check"),
        ("jobs.csv", text_edit(",code_hash", ",hash"), "jobs.csv:1: no column 'code_hash'"),
        ("jobs.csv", text_edit(",16,", ",,"), "jobs.csv:2: column runs: empty"),
        ("jobs.csv", lambda text: text.replace("ci,", "full,"), "results are of profile 'ci', the reference of 'full'"),
        ("jobs.csv", text_edit("ci,", "full,"), "jobs of several profiles: 'ci', 'full'"),
    ],
)
def test_a_reference_that_was_kept_damaged_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, edit: Callable[[str], str], fault: str
) -> None:
    results, reference = (write(tmp_path / side, **tables()) for side in ("results", "reference"))
    (reference / name).write_text(edit((reference / name).read_text()))
    keep(reference, PAPER)
    assert main(["compare", str(results), str(reference)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gate: cannot compare: ")
    assert fault in said
    assert said.count("\n") == 1


def test_lines_that_a_kept_reference_lacks_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, reference = (write(tmp_path / side, **tables()) for side in ("results", "reference"))
    kept = (reference / "claims.csv").read_text().splitlines(keepends=True)
    (reference / "claims.csv").write_text("".join(kept[:4]))
    keep(reference, PAPER)
    assert main(["compare", str(results), str(reference)]) == 1
    assert capsys.readouterr().out.count("new, without a reference") == COUNT - 3


def test_a_paper_without_a_reference_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("results", "reference"):
        write(tmp_path / folder, **tables())
    (tmp_path / "results" / "paper_2020").rename(tmp_path / "results" / "new_2021")
    write(tmp_path / "results", **tables())
    assert main(["compare", str(tmp_path / "results"), str(tmp_path / "reference")]) == 1
    assert capsys.readouterr().out.startswith("new_2021: new, without a reference\n")


def test_a_number_that_has_no_allowance_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frames = tables()
    frames["lines"].loc[3, "runs"] = 1
    results, reference = (write(tmp_path / side, **frames) for side in ("results", "reference"))
    assert main(["compare", str(results), str(reference)]) == 1
    assert f"{LINE}exponent was 0.5, is 0.5" in capsys.readouterr().out


@pytest.mark.parametrize("name", [*PAPER, SUMS])
def test_a_missing_file_of_the_reference_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    results, reference = (write(tmp_path / side, **tables()) for side in ("results", "reference"))
    (reference / name).unlink()
    assert main(["compare", str(results), str(reference)]) == 2
    assert f"{reference / name}: not there" in capsys.readouterr().err
    (results / "claims.csv").unlink()
    assert main(["compare", str(results), str(reference)]) == 2


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(PAPER), place=st.integers(0, 4000), new=st.binary(max_size=3), gone=st.integers(0, 3000))
@example(name="claims.csv", place=4000, new=b"", gone=3000)
def test_no_damaged_byte_of_a_reference_passes(tmp_path: Path, name: str, place: int, new: bytes, gone: int) -> None:
    results, reference = (write(tmp_path / side, **tables()) for side in ("results", "reference"))
    whole = (reference / name).read_bytes()
    place %= len(whole)
    damaged = whole[:place] + new + whole[place + gone :]
    (reference / name).write_bytes(damaged)
    assert main(["compare", str(results), str(reference)]) == (0 if damaged == whole else 2)
    form = FORMS.get(name.removesuffix("s.csv"))
    if form is not None:  # and the reader alone either refuses or has whole, finite numbers
        try:
            found = read_table(reference / name, form)
        except DamageError:
            pass
        else:
            assert not np.isinf(found[[each for each in form.numbers if each in found]].to_numpy(dtype=float)).any()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (interval("fitted", 0.5, 0.004), "standard error of the exponent was 0.0094, is 0.0019"),
        (interval("fitted", 0.5, 0.1), "standard error of the exponent was 0.0094, is 0.047"),
        ({"resolution": 0.5}, "resolution was 0.15, is 0.5"),
        ({"resolution": NAN}, "resolution was 0.15, is nan"),
    ],
)
def test_an_interval_and_a_resolution_may_move_like_their_estimates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, float], told: str
) -> None:
    code, said = compared(tmp_path, capsys, lines=at(3, **changes))
    assert code == 1
    assert f"{LINE}{told}" in said[0]
    near = {**interval("fitted", 0.5, 0.025), "resolution": 0.16}
    assert compared(tmp_path, capsys, lines=at(3, **near))[0] == 0
    assert compared(tmp_path, capsys, lines=at(3, **changes, largest_run=0.94))[0] == 0, "rare runs rule"


def test_a_rare_draw_that_the_reference_missed_is_no_alarm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice as many runs have met one rare draw: the narrow interval of the reference knew nothing of it."""
    narrow, wide = interval("fitted", 0.5, 1e-4), interval("fitted", 0.55, 0.06)
    for share, wanted in ((0.94, 0), (0.3, 1)):
        frames, seen = tables(), tables()
        frames["lines"] = at(3, **narrow)(frames["lines"])
        seen["lines"] = at(3, **wide, largest_run=share, runs=32)(seen["lines"])
        reference, results = write(tmp_path / "reference", **frames), write(tmp_path / "results", **seen)
        assert main(["compare", str(results), str(reference)]) == wanted
        said = capsys.readouterr().out
        assert ("numbers, 1 of rare runs: all as in the reference" in said) == (wanted == 0)


def test_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    lines = tables()["lines"]
    write_lines(lines, tmp_path)
    found = read_lines(tmp_path)
    assert found["claim"].tolist() == lines["claim"].tolist()
    assert found["fitted_low"].tolist() == lines["fitted_low"].tolist()


@pytest.mark.parametrize("count", [1, 10])
def test_allowance_is_the_stated_quantile(count: int) -> None:
    """q sqrt(2) s: s from the reference's 95 % interval, q for a rate of 1 % over all numbers, both of a t law."""
    law, row = stats.t(15), line(0, "claim")
    error = 0.02 / law.ppf(0.975)
    wanted = law.ppf(1 - 0.01 / (2 * count)) * np.sqrt(2) * error + 2e-5
    assert allowance(row, row, "fitted", 0.01 / (2 * count)) == pytest.approx(wanted)


def test_false_alarms_are_shared_by_all_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """3.8 standard errors of the difference: one of 35 numbers may move so far, a single one might not."""
    assert compared(tmp_path, capsys, lines=at(3, **interval("fitted", 0.55, 0.02)))[0] == 0


def test_without_noise_only_rounding_is_forgiven() -> None:
    row = {**line(0, "claim"), **interval("log_level", 20.0, 0.0)}
    assert allowance(row, row, "log_level", 1e-3) == pytest.approx(20 * 2e-5)


def test_false_alarms_keep_their_rate_and_a_drift_is_noticed() -> None:
    loud = simulate_gate(false_alarm=0.1, common=0.0, simulations=150)
    assert loud.false_alarm <= 0.1 + 3 * (0.1 * 0.9 / 150) ** 0.5
    paired, independent = (simulate_gate(common=share, simulations=150) for share in (0.9, 0.0))
    assert paired.false_alarm == 0.0
    assert paired.power > 0.95
    assert independent.power > 0.9
    assert min(paired.power_level, independent.power_level) > 0.9
    assert independent.false_alarm <= 0.02 + 3 * (0.02 * 0.98 / 150) ** 0.5


def test_simulations_are_the_same_every_time_and_know_the_direction_of_a_drift() -> None:
    settings = {"runs": 8, "spread": 0.3, "exponents": 3, "simulations": 60}
    assert simulate_gate(**settings) == simulate_gate(**settings)
    assert simulate_gate(**settings, seed=8) != simulate_gate(**settings)
    powers = [simulate_gate(**settings, drift=drift).power for drift in (0.0, 0.1, 0.3)]
    assert powers[0] < 0.1 < powers[1] < powers[2]

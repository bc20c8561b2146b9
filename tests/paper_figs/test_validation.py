"""The validation's own tables, at a small size."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpregret.paper_figs import stopping_coverage, validation
from dpregret.paper_figs.stopping import enough
from dpregret.paper_figs.stopping_coverage import moments, stop


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    found = validation.intervals(600)
    assert len(found) == 12
    assert found["coverage"].mean() == pytest.approx(0.945, abs=0.01)
    assert found["coverage"].between(0.915, 0.98).all()  # 600 simulations: a standard error of 0.9 %
    assert found["error"].abs().max() < 0.01


def test_wide_noise_gives_wide_intervals() -> None:
    found = validation.intervals(20).set_index(["runs", "spread", "cells"])["half_width"]
    assert found[8, 0.5, 4] > found[8, 0.2, 4] > found[32, 0.2, 4] > found[32, 0.2, 8]


def test_planted_curves_get_the_verdict_that_they_deserve() -> None:
    found = validation.verdicts(10).set_index("curve")
    assert set(found.index) == set(validation.CASES)
    assert (found["right"] >= 0.9).all(), found


def test_a_curve_that_deserves_another_verdict_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"liar": validation.Case(lambda checkpoints, value: 3 * checkpoints**0.3, "violated")}
    monkeypatch.setattr(validation, "CASES", wrong)
    found = validation.verdicts(2)
    assert found[["right", "else"]].to_numpy().tolist() == [[0.0, "below bound"]]


def test_tables_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        validation.write_validation(tmp_path / name, 20)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(
        f"{name}.{form}"
        for name in ("intervals", "verdicts", "resolution", "gate", "stopping")
        for form in ("csv", "md", "html")
    )
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert (pd.read_csv(tmp_path / "one" / "gate.csv")["simulations"] == 2).all()


def test_runs_that_say_how_many_there_should_be_keep_the_intervals_of_exponents() -> None:
    found = stopping_coverage.stopping(500)
    assert len(found) == 6 * 2 * 3 + 2
    usual = found.loc[found["noise"] != stopping_coverage.RAREST]
    assert usual["exponent"].between(0.91, 0.985).all()  # 500 simulations: a standard error of 1 %
    assert usual["exponent"].mean() == pytest.approx(usual["exponent, fixed"].mean(), abs=0.01)
    normal = usual.loc[usual["noise"].str.startswith("log-normal")]
    assert normal["mean"].mean() == pytest.approx(0.947, abs=0.01)
    rare = found.loc[(found["noise"] == stopping_coverage.RAREST) & (found["error"] == 0.05)].set_index("least")
    assert rare["mean"].is_monotonic_increasing, "an event that few runs have not seen is not reckoned with"
    assert rare.loc[8, "mean"] < 0.7


def test_a_planted_scatter_takes_the_runs_that_it_needs() -> None:
    """4 % of a mean known to 1 % takes 16 runs, to 0.5 % 64; equal runs take the least."""
    generator = np.random.default_rng(3)
    responses = 5 * (1 + 0.04 * generator.normal(size=(300, 128, 1)))
    for error, wanted in ((0.013, 16), (0.0065, 64)):
        runs = stop(moments(responses, 4), error)
        assert np.median(runs) == wanted
        assert set(runs) <= {4, 8, 16, 32, 64, 128}
    assert set(stop(moments(np.ones((3, 128, 2)), 8), 0.01)) == {8}
    known = moments(responses, 8)
    assert (stop(known, 0.013) >= stop(known, 0.013, careful=False)).all()


@pytest.mark.parametrize("runs", [8, 16, 128])
def test_runs_are_enough_where_every_interval_is_short(runs: int) -> None:
    """Half of a 95 % t interval is at most that of a normal law with the stated standard error, in all cells."""
    means, error = np.array([2.0, -1.0]), 0.1
    allowed = stats.norm.ppf(0.975) * error * abs(means) * np.sqrt(runs) / stats.t.ppf(0.975, runs - 1)
    assert enough(means, 0.999 * allowed, runs, error)
    assert not enough(means, np.array([0.5, 1.001]) * allowed, runs, error)

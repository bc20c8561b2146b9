"""The validation's own tables, at a small size."""

from pathlib import Path

import pytest

from dpregret.paper_figs.validation import simulate


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    found = simulate.intervals(600)
    assert len(found) == 12
    assert found["coverage"].mean() == pytest.approx(0.945, abs=0.01)
    assert found["coverage"].between(0.915, 0.98).all()  # 600 simulations: a standard error of 0.9 %
    assert found["error"].abs().max() < 0.01


def test_wide_noise_gives_wide_intervals() -> None:
    found = simulate.intervals(20).set_index(["runs", "spread", "cells"])["half_width"]
    assert found[8, 0.5, 4] > found[8, 0.2, 4] > found[32, 0.2, 4] > found[32, 0.2, 8]


def test_planted_curves_get_the_verdict_that_they_deserve() -> None:
    found = simulate.verdicts(10).set_index("curve")
    assert set(found.index) == set(simulate.CASES)
    assert (found["right"] >= 0.9).all(), found


def test_a_curve_that_deserves_another_verdict_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"liar": simulate.Case(lambda checkpoints, value: 3 * checkpoints**0.3, "violated")}
    monkeypatch.setattr(simulate, "CASES", wrong)
    found = simulate.verdicts(2)
    assert found[["right", "else"]].to_numpy().tolist() == [[0.0, "below bound"]]


def test_tables_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        simulate.write_validation(tmp_path / name, 20)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(
        f"{name}.{form}" for name in ("intervals", "verdicts", "resolution") for form in ("csv", "md", "html")
    )
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()

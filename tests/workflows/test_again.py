"""What a paper's tables are made again from."""

from pathlib import Path

import pytest

from dpregret.core.errors import ConfigError
from dpregret.workflows.run.again import listed, rewrite_tables


def test_tables_are_not_judged_without_the_plan_of_their_run(tmp_path: Path) -> None:
    """The plan says which claims were confirmed, on which profile."""
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"plan\.json: not a plan of this version: make the run again"):
        rewrite_tables("lou_cheung_2020", tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_titles_of_figures_are_folded_at_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = listed("lou_cheung_2020")
    assert max(map(len, lines)) <= 80
    at = next(number for number, line in enumerate(lines) if line.startswith("exponent_simplex_window "))
    assert lines[at + 1].startswith(" " * len("exponent_simplex_dimension  "))
    monkeypatch.setenv("COLUMNS", "30")
    assert any(line.startswith("printed_errata: As printed") for line in listed("lou_cheung_2020"))

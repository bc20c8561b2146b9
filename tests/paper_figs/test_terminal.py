"""Tables on a terminal: they fit its width, and no identifier is broken."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from dpregret.paper_figs.compare import compare
from dpregret.paper_figs.tables import show
from dpregret.paper_figs.text import formats
from dpregret.workflows import advice

REFERENCE = Path(__file__).resolve().parents[2] / "results" / "reference"


@pytest.mark.parametrize(
    ("paper", "width"), [("lou_cheung_2020", 80), ("lou_cheung_2020", None), ("ene_et_al_2021", 80)]
)
@pytest.mark.parametrize("further", [[], ["--lines", "claim"], ["--lines", "check"], ["--lines", "claim", "--long"]])
def test_tables_fit_and_claims_are_whole(
    width: int | None, paper: str, further: list[str], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.delenv("COLUMNS", raising=False)
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    assert show.main([paper, "--results", str(REFERENCE), *further]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(show.COMMITTED.strip())
    assert fits(shown, width or formats.WIDE)
    file = show.FILES[further[1]] if further else "table_1.csv"
    lines = pd.read_csv(REFERENCE / paper / file, keep_default_na=False, dtype=str)
    claims = set(lines["claim"]) if further else set(lines.loc[lines["power"] != "", "claim"])
    assert claims <= set(shown.split())
    if "--long" in further:
        assert set(lines["learner"] + "." + lines["variant"]) <= set(shown.split())


def test_advice_fits_and_learners_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    request = advice.Request(100_000, 32, 1.0, window=1024)
    found = advice.advise(request, *advice.read_cells(REFERENCE, REFERENCE))
    for long in (False, True):
        names = set()
        for width in (80, 100, 120):
            monkeypatch.setenv("COLUMNS", str(width))
            shown = advice._text(found, long)
            assert fits(shown, width)
            names.add(tuple(sorted(set(re.findall(r"(?<!\S)[a-z]+(?:-[a-z]+)*\.[a-z-]+(?!\S)", shown)))))
        assert len(names) == 1
        assert "wdp-cocop-gaussian.corrected" in names.pop()


def test_a_comparison_fits_and_claims_are_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [str(REFERENCE / "lou_cheung_2020"), str(REFERENCE / "ci" / "lou_cheung_2020")]
    moved = compare.compare(*(compare.read_folder(Path(side)) for side in sides))
    assert len(moved)
    for width, further in ((80, []), (120, ["--long"])):
        monkeypatch.setenv("COLUMNS", str(width))
        assert compare.main([*sides, *further]) == 0
        shown = capsys.readouterr().out
        assert fits(shown.rpartition("\n\n")[0], width)
        assert set(moved["claim"]) <= set(shown.split())


def test_what_was_not_run_comes_last() -> None:
    lines = pd.read_csv(REFERENCE / "ci" / "lou_cheung_2020" / "claims.csv", keep_default_na=False, dtype=str)
    absent = [verdict == "not in this profile" for verdict in show.lines_table(lines)["verdict"]]
    assert any(absent)
    assert absent == sorted(absent)


def fits(shown: str, width: int) -> bool:
    """Whether all lines are that short, those apart that are one long word (a path)."""
    return all(len(line) <= width or " " not in line.strip() for line in shown.splitlines())

"""Two folders of results: what moved beyond its interval; and tables on a terminal, which fit its width."""

import re
from pathlib import Path

import pandas as pd
import pytest

from dpregret.paper_figs.compare import figures, two_runs
from dpregret.paper_figs.judge.result_tables import AUTOMATIC
from dpregret.paper_figs.judge.vocabulary import HOLDS
from dpregret.paper_figs.tables import show
from dpregret.paper_figs.tables.write_tables import MORE
from dpregret.paper_figs.text import formats
from dpregret.workflows.run import load_run
from dpregret.workflows.run.load_run import read_run

NAN = float("nan")


def claims(**changes: object) -> pd.DataFrame:
    record = {
        "claim": "one", "learner": "ftal", "variant": "plain", "experiment": "horizon", "stream": "kink",
        "parameter": "horizon", "response": "regret", "verdict": "reproduced", "fitted": 0.5, "fitted_low": 0.46,
        "fitted_high": 0.54, "cells_used": "1; 2; 3; 4",
    }  # fmt: skip
    return pd.DataFrame([{**record, **changes}])


def write(folder: Path, *frames: pd.DataFrame, paper: str = "paper_2020") -> Path:
    (folder / paper).mkdir(parents=True, exist_ok=True)
    pd.concat(frames).to_csv(folder / paper / "claims.csv", index=False)
    return folder / paper


def differences(tmp_path: Path, first: list[pd.DataFrame], second: list[pd.DataFrame]) -> pd.DataFrame:
    folders = write(tmp_path / "a", *first), write(tmp_path / "b", *second)
    return two_runs.compare(*(read_run(str(folder)) for folder in folders))


@pytest.mark.parametrize(("change", "moved"), [(0.05, True), (0.05 - 1e-3, False), (-0.06, True)])
def test_the_line_is_the_interval_of_the_difference(tmp_path: Path, change: float, moved: bool) -> None:
    """Half widths 0.04 and 0.03: sqrt(0.04^2 + 0.03^2) = 0.05."""
    value = 0.5 + change + 2 * two_runs.SLACK
    other = claims(fitted=value, fitted_low=value - 0.03, fitted_high=value + 0.03)
    found = differences(tmp_path, [claims()], [other])
    assert list(found["what"]) == ([two_runs.BEYOND] if moved else [])


def test_every_kind_of_difference_is_told_the_gravest_first(tmp_path: Path) -> None:
    first = [claims(claim=name) for name in ("same", "gone", "verdict", "moved", "other")]
    second = [
        claims(claim="same"),
        claims(claim="new"),
        claims(claim="verdict", verdict="inconclusive", cells_used="1; 2"),
        claims(claim="moved", fitted=0.9, fitted_low=0.86, fitted_high=0.94),
        claims(claim="other", stream="smooth"),
        claims(claim="gone", verdict="not run", fitted=NAN, fitted_low=NAN, fitted_high=NAN),
    ]
    found = differences(tmp_path, first, second)
    kinds = [two_runs.BEYOND, two_runs.VERDICT, two_runs.OTHER, two_runs.ONLY_A, two_runs.ONLY_B]
    assert found["what"].tolist() == kinds
    assert found["claim"].tolist() == ["moved", "verdict", "other", "gone", "new"]
    assert (found["cells"].tolist()[:2], found["change"][0]) == (["same", "other"], "0.400")
    a, b = (read_run(str(tmp_path / name / "paper_2020")) for name in "ab")
    assert re.findall(r"\d+", two_runs.summary(a, b, found)) == ["4", "1", "1", "1", "1", "1"]


def test_a_folder_without_results_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_run.main(str(tmp_path), str(tmp_path)) == 2
    assert capsys.readouterr().err.startswith(f"dpregret: compare: {tmp_path}: ")


def test_claims_of_one_name_are_told_apart_by_their_papers(capsys: pytest.CaptureFixture[str]) -> None:
    papers = ("paper_2020", "other_2021")

    def read(verdict: str) -> tuple[pd.DataFrame, figures.Drawn]:
        return pd.concat([claims(verdict=verdict, paper=paper) for paper in papers], ignore_index=True), {}

    assert two_runs.main("reproduced", "inconclusive", read) == 0
    shown = capsys.readouterr().out
    assert shown.index("other_2021 one") < shown.index("paper_2020 one")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("0.46,", "nan,", "claims.csv:2: column fitted_low: "),
        ("reproduced", "reproduzed", "claims.csv:2: column verdict: "),
        ("1; 2; 3; 4", "\xff", "claims.csv:2: not UTF-8"),
        ("verdict", "verdikt", "claims.csv:1: no column 'verdict'"),
        ("one,", '"one,', "claims.csv:2: unexpected end of data"),
    ],
)
def test_a_damaged_table_is_one_line_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, fault: str
) -> None:
    folder = write(tmp_path, claims())
    file = folder / "claims.csv"
    file.write_bytes(file.read_text().replace(old, new, 1).encode("latin-1"))
    assert load_run.main(str(folder), str(folder)) == 2
    said = capsys.readouterr().err
    assert fault in said
    assert said.count("\n") == 1


REFERENCE = Path(__file__).resolve().parents[2] / "results" / "reference"


@pytest.mark.parametrize(
    ("paper", "width"), [("lou_cheung_2020", 80), ("lou_cheung_2020", None), ("ene_et_al_2021", 80)]
)
@pytest.mark.parametrize(("kind", "long"), [(None, False), ("claim", False), ("check", False), ("claim", True)])
def test_tables_fit_and_claims_are_whole(
    width: int | None,
    paper: str,
    kind: str | None,
    long: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    assert show.main(paper, [REFERENCE], lines=kind, long=long) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(show.COMMITTED.strip())
    words = [line for line in shown.splitlines() if " " in line.strip()]  # a path may be longer
    assert max(map(len, words)) <= (width or formats.WIDE)
    file = show.FILES[kind] if kind else "table_1.csv"
    lines = pd.read_csv(REFERENCE / paper / file, keep_default_na=False, dtype=str)
    if kind == "check":  # those of every learner that hold are counted
        counted = (lines["origin"] == AUTOMATIC) & (lines["verdict"] == HOLDS)
        told = r"(\d+)\s+(?:\w+\s+bound|ledger)s?\s+in\s+\d+\s+cells?:\s+(?:all\s+hold|holds|(\d+)\s+hold)"
        said = re.findall(told, shown.partition("checked for every learner")[2])
        assert sum(int(some or all_of) for all_of, some in said) == counted.sum()
        lines = lines.loc[~counted]
    claims = set(lines["claim"]) if kind else set(lines.loc[lines["power"] != "", "claim"])
    assert claims <= set(shown.split())
    if long:
        assert set(lines["learner"] + "." + lines["variant"]) <= set(shown.split())


def test_a_table_without_claims_shows_the_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A study without claims has nothing beneath its bounds; the table of a learner a row has means."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "claims.csv").write_text("")
    head = "row,column,part,printed,side,claim,law,power,verdict,sign,resolution\n"
    (folder / "table_1.csv").write_text(head + "1,algorithm,1,ogd.plain,,,,,,,\n")
    (folder / "table_1_all.csv").write_text('algorithm,group,regret,bound\nogd.plain,study,"3.0 [1.6, 4.5]",-\n')
    assert show.main("mine", [tmp_path]) == 0
    assert "3.0 [1.6, 4.5]" in capsys.readouterr().out
    assert "3.0 [1.6, 4.5]" in show.printed_table(folder)  # as a run ends
    assert show.protecting_more(folder) == []
    (folder / "table_1_all.csv").write_text(f"algorithm,window\na,{MORE!r}\nb,W = 4\n".replace("'", '"'))
    assert show.protecting_more(folder) == ["a"]
    (folder / "table_1.csv").write_text(head + "1,algorithm,1,ogd.plain,stated,c1,law,T,reproduced,=,\n")
    assert show.main("mine", [tmp_path]) == 0
    assert "3.0 [1.6, 4.5]" not in capsys.readouterr().out

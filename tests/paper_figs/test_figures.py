from __future__ import annotations

from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from few_forms import only

from dpregret.core import parquet
from dpregret.paper_figs.figures import mechanisms
from dpregret.paper_figs.figures import write as figures
from dpregret.paper_figs.figures.layout import MOST, Curve, Page
from dpregret.paper_figs.figures.series import Series, curve, panels_of, rows_of, series_of
from dpregret.paper_figs.figures.style import GREY, Look, Looks, hue_of
from dpregret.paper_figs.judge.claims import FigureEntry, load_claims
from dpregret.paper_figs.judge.runs import read_runs
from dpregret.paper_figs.text.formats import read_csv
from dpregret.workflows.plan.facts import display_names

NAMES = {"wdp-cocop-gamma": "WDP-COCOP (Gamma)", "wdp-cocop-gamma.corrected": "WDP-COCOP (Gamma), corrected"}


def costs() -> pd.DataFrame:
    rows = [
        (shape, dimension, operation, 1e-6 * dimension * factor, 10)
        for shape in ("ball", "flow")
        for dimension in (8, 16)
        for operation, factor in (("projection", 3), ("linear oracle", 1))
    ]
    return pd.DataFrame(rows, columns=["set", "dimension", "operation", "seconds", "calls"])


def draw(runs: Path, repository: Path, out: Path) -> list[Path]:
    parquet.write(costs(), out / "costs.parquet", parquet.Stamp("", ""))
    paper = repository / "workflows/papers/lou_cheung_2020"
    return figures.write_figures(runs, paper, out / "figures", out / "costs.parquet", names=NAMES)


def test_every_figure_is_written_with_its_data(
    paper_runs: Path, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, "png", but="exponent_dimension")
    before = dict(mpl.rcParams)
    paths = draw(paper_runs, repository, tmp_path)
    assert dict(mpl.rcParams) == before
    assert {path.stem for path in paths if path.suffix == ".png"} == {
        "regret_horizon", "exponent_dimension", "exponent_epsilon", "printed_errata", "oracle_costs",
    }  # fmt: skip
    assert {path.suffix for path in paths if path.stem == "exponent_dimension"} == {".pdf", ".png", ".svg", ".csv"}
    data = read_csv(tmp_path / "figures" / "exponent_dimension.csv")
    assert set(data["series"]) >= {"WDP-COCOP (Gamma), corrected", "predicted law"}
    assert not data["series"].str.contains("wdp-cocop").any()


def test_files_have_the_same_bytes_every_time(tmp_path: Path) -> None:
    plates = [mechanisms.costs(Page(), costs()) for _ in range(2)]
    first, second = (plate.save(tmp_path / str(number) / "costs") for number, plate in enumerate(plates))
    assert [path.suffix for path in first] == [".pdf", ".png", ".svg", ".csv"]
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert b"CreationDate" not in first[0].read_bytes()
    assert b"/FontFile2" in first[0].read_bytes()  # TrueType, embedded
    corner = plates[0].panels[0].axis.get_position(original=True).min
    assert corner.tolist() == corner.round(9).tolist()  # else they are so mostly: the layout's last bits are not


def test_local_slopes_of_a_planted_power_lie_on_zero(paper_runs: Path, repository: Path) -> None:
    claims = load_claims(repository / "workflows/papers/lou_cheung_2020/claims.yaml")
    entry = next(each for each in claims.figures if each.name == "exponent_dimension")
    plate = figures.draw(Page(NAMES), read_runs(paper_runs), claims, entry, None)
    data = plate.data().set_index("what")["y"]
    assert data["local slope of response over law"].to_numpy() == pytest.approx(np.zeros(4), abs=1e-9)
    assert plate.finding.startswith("Regret per $\\ln T$ follows $d$: fitted power 1.00")


def test_regret_curves_carry_their_bands(paper_runs: Path, repository: Path) -> None:
    runs = read_runs(paper_runs)
    rows = rows_of(runs, "horizon")
    series = series_of(rows)
    assert [each.name(Page(NAMES)) for each in series] == ["WDP-COCOP (Gamma), corrected", "ftal, plain"]
    drawn = curve(rows, series[0])
    assert drawn.means == pytest.approx(10 + 20 * np.log(drawn.values))
    assert (drawn.reach > 0).all()
    claims = load_claims(repository / "workflows/papers/lou_cheung_2020/claims.yaml")
    plate = figures.draw(Page(NAMES), runs, claims, FigureEntry(type="regret", experiment="horizon"), None)
    assert len(plate.panels[0].axis.collections) == 2
    low = plate.data().loc[lambda data: data["what"] == "mean", "low"]
    assert low.notna().all()


def test_no_two_algorithms_of_the_project_look_alike() -> None:
    names = display_names()
    looks, keys = Looks(names), [key for key in names if "." in key.strip(".") and ":" not in key and key[0] != "."]
    drawn = {key: looks.of(*key.split(".", 1), private=hue_of(key) != GREY) for key in keys}
    assert len(set(drawn.values())) == len(keys) > 100
    assert Looks(dict(reversed(names.items()))).of("noisy-gd", "corrected") == drawn["noisy-gd.corrected"]
    for one, two in combinations(("wdp-cocop-gaussian.corrected", "wdp-cocop-gamma.corrected",
                                  "noise-per-gradient.corrected", "wdp-scofw-gamma.corrected"), 2):  # fmt: skip
        assert drawn[one].marker != drawn[two].marker  # told apart in grey too


def test_a_panel_holds_six_curves_and_refuses_two_that_look_alike() -> None:
    series = [Series("a", f"v{number}") for number in range(5)] + [Series(name, "x") for name in "bcd"]
    parts = panels_of(series)
    assert max(map(len, parts)) <= MOST
    assert [each for part in parts for each in part] == series
    panel, look = Page().plate(1).panels[0], Look((0, 0, 0), "o")
    panel.curve("one", Curve(np.array([1.0, 2.0]), np.ones(2), hollow=np.array([True, False])), look)
    assert [line.get_markerfacecolor() for line in panel.axis.lines[1:]] == [(0, 0, 0), (1.0, 1.0, 1.0)]
    with pytest.raises(ValueError, match="'two' looks like 'one'"):
        panel.curve("two", Curve(np.array([1.0, 2.0]), np.ones(2)), look)

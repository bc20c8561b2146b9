from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from planted import plates_of

from dpregret.core import parquet
from dpregret.paper_figs.figures import compare
from dpregret.paper_figs.figures import write as figures
from dpregret.paper_figs.figures.style import MOST, Curve, Look, Page, Plate, look
from dpregret.paper_figs.figures.sweep import Series, curve, panels_of, rows_of, series_of
from dpregret.paper_figs.judge.runs import read_runs
from dpregret.workflows.plan.read import PAPERS

NAMES = {"wdp-cocop-gamma": "WDP-COCOP (Gamma)", "wdp-cocop-gamma.corrected": "WDP-COCOP (Gamma), corrected"}
PAPER = PAPERS / "lou_cheung_2020"


def costs() -> pd.DataFrame:
    rows = [
        (shape, dimension, operation, 1e-6 * dimension * factor, 10)
        for shape in ("ball", "flow")
        for dimension in (8, 16)
        for operation, factor in (("projection", 3), ("linear oracle", 1))
    ]
    return pd.DataFrame(rows, columns=["set", "dimension", "operation", "seconds", "calls"])


def test_every_figure_is_drawn_with_its_data(paper_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, file = dict(mpl.rcParams), tmp_path / "costs.parquet"
    parquet.write(costs(), file, parquet.Stamp("", ""))
    plates = plates_of(monkeypatch, lambda out: figures.write_figures(paper_runs, PAPER, out, file, names=NAMES))
    assert dict(mpl.rcParams) == before
    assert set(plates) == {
        "regret_horizon", "exponent_dimension", "exponent_epsilon", "printed_errata", "oracle_costs",
    }  # fmt: skip
    data = plates["exponent_dimension"].data()
    assert set(data["series"]) >= {"WDP-COCOP (Gamma), corrected", "predicted law"}
    assert not data["series"].str.contains("wdp-cocop").any()
    slopes = data.set_index("what")["y"]["local slope of response over law"]
    assert slopes.to_numpy() == pytest.approx(np.zeros(4), abs=1e-9)  # of a planted power
    assert plates["exponent_dimension"].finding.startswith("Law $d$: reproduced")
    regret = plates["regret_horizon"]
    assert len(regret.panels[0].axis.collections) == 2  # bands
    assert regret.data().loc[lambda data: data["what"] == "mean", "low"].notna().all()


def test_files_have_the_same_bytes_every_time(tmp_path: Path) -> None:
    with look():
        plates = [compare.costs(Page(), costs()) for _ in range(2)]
        first, second = (plate.save(tmp_path / str(number) / "costs") for number, plate in enumerate(plates))
    assert [path.suffix for path in first] == [".pdf", ".png", ".svg", ".csv"]
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert b"CreationDate" not in first[0].read_bytes()
    assert b"/FontFile2" in first[0].read_bytes()  # TrueType, embedded
    corner = plates[0].panels[0].axis.get_position(original=True).min
    assert corner.tolist() == corner.round(9).tolist()  # else they are so mostly: the layout's last bits are not


def test_a_curve_has_the_means_of_its_runs(paper_runs: Path) -> None:
    rows = rows_of(read_runs(paper_runs), "horizon")
    series = series_of(rows)
    assert [each.name(Page(NAMES)) for each in series] == ["WDP-COCOP (Gamma), corrected", "ftal, plain"]
    drawn = curve(rows, series[0])
    assert drawn.means == pytest.approx(10 + 20 * np.log(drawn.values))
    assert (drawn.reach > 0).all()


def test_a_panel_holds_six_curves_with_open_markers_where_nothing_is_fitted() -> None:
    series = [Series("a", f"v{number}") for number in range(5)] + [Series(name, "x") for name in "bcd"]
    parts = panels_of(series)
    assert max(map(len, parts)) <= MOST
    assert [each for part in parts for each in part] == series
    panel, black = Plate(1).panels[0], Look((0, 0, 0), "o")
    panel.curve("one", Curve(np.array([1.0, 2.0]), np.ones(2), hollow=np.array([True, False])), black)
    marked, opened = panel.axis.lines
    assert (marked.get_markerfacecolor(), opened.get_markerfacecolor()) == ((0, 0, 0), "white")
    assert list(opened.get_xdata()) == [1.0]

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from dpregret.core import stamped
from dpregret.paper_figs import figures, regret_figures
from dpregret.paper_figs.claims_files import load_claims
from dpregret.paper_figs.curves import curve, series_of
from dpregret.paper_figs.figure_style import colours, save
from dpregret.paper_figs.runs import read_runs


def costs() -> pd.DataFrame:
    rows = [
        (shape, dimension, operation, 1e-6 * dimension * factor, 10)
        for shape in ("ball", "simplex", "box", "flow")
        for dimension in (8, 16, 32)
        for operation, factor in (("projection", 3), ("linear oracle", 1))
    ]
    return pd.DataFrame(rows, columns=["set", "dimension", "operation", "seconds", "calls"])


def ages() -> pd.DataFrame:
    rows = [(window, age, np.sqrt(1 + age / window)) for window in (1, 4) for age in range(8 * window)]
    return pd.DataFrame(rows, columns=["window", "age", "mu_gdp"])


def draw(runs: Path, repository: Path, out: Path) -> list[Path]:
    stamped.write(costs(), out / "costs.parquet", stamped.Stamp("", ""))
    stamped.write(ages(), out / "expiry.parquet", stamped.Stamp("", ""))
    paper = repository / "workflows/papers/lou_cheung_2020"
    return figures.write_figures(runs, paper, out / "figures", out / "costs.parquet", out / "expiry.parquet")


def test_every_figure_is_written_with_the_same_bytes(paper_runs: Path, repository: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    before = dict(mpl.rcParams)
    first, second = (draw(paper_runs, repository, folder) for folder in folders)
    assert dict(mpl.rcParams) == before
    assert {path.stem for path in first} == {
        "regret_horizon", "exponent_dimension", "exponent_epsilon", "printed_errata", "oracle_costs", "loss_by_age",
    }  # fmt: skip
    for one, two in zip(first, second, strict=True):
        assert one.stat().st_size > 2000
        assert one.read_bytes() == two.read_bytes()


def test_local_slopes_of_a_planted_power_lie_on_zero(paper_runs: Path, repository: Path) -> None:
    claims = load_claims(repository / "workflows/papers/lou_cheung_2020/claims.yaml")
    figure = figures.exponent_figure(read_runs(paper_runs), claims, "dimension", "dimension")
    slopes = [line for line in figure.axes[1].lines if line.get_marker() == "o"]
    assert len(slopes) == 1
    assert np.asarray(slopes[0].get_ydata()) == pytest.approx(np.zeros(4), abs=1e-9)


def test_regret_curves_carry_their_bands(paper_runs: Path) -> None:
    runs = read_runs(paper_runs)
    series = series_of(runs, "horizon")
    assert [each.name for each in series] == ["wdp-cocop-gamma corrected", "ftal"]
    horizons, means, reach = curve(runs, "horizon", series[0])
    assert means == pytest.approx(10 + 20 * np.log(horizons))
    assert (reach > 0).all()
    figure = regret_figures.regret_figure(runs, "horizon", series)
    assert len(figure.axes[0].collections) == 2


def test_figures_are_saved_without_dates(tmp_path: Path) -> None:
    paths = save(regret_figures.age_figure(ages()), tmp_path / "age")
    assert [path.name for path in paths] == ["age.pdf", "age.png"]
    assert b"CreationDate" not in paths[0].read_bytes()
    assert len(set(colours(["a", "b", "c"]).values())) == 3

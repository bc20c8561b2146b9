"""Files of runs, read as they were written or refused, and the tables and figures that come of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from planted import figures_of, logarithmic, planted_paper, root, write_runs

from dpregret.core import parquet
from dpregret.paper_figs.figures import compare, write
from dpregret.paper_figs.figures.curves import Series, panels_of
from dpregret.paper_figs.figures.grammar import Curve, PanelFigure, Source, Theme
from dpregret.paper_figs.figures.style import MOST, CurveStyle, style_context
from dpregret.paper_figs.judge.cells import NotRun
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry, Table
from dpregret.paper_figs.judge.read_claims import load_claims, load_paper
from dpregret.paper_figs.judge.result_tables import read_jobs, write_jobs
from dpregret.paper_figs.judge.runs import COLUMNS, COST_COLUMNS, KEY, RunsError, check_columns, empty_row, read_runs
from dpregret.paper_figs.tables.write_tables import (
    LARGEST,
    MORE,
    comparison_table,
    costs_table,
    last_rows,
    write_errata,
    write_tables,
)
from dpregret.paper_figs.validation.simulate import Sweep
from dpregret.workflows.plan.read import PAPERS

TABLES = ["table_1_all.csv", "table_1_all.md", *(f"table_1.{form}" for form in ("csv", "md", "tex", "html"))]
FILES = {"checks.csv", "claims.csv", "costs.csv", "costs.md", "errata.csv", "errata.md", "jobs.csv", *TABLES}


@pytest.fixture(scope="session")
def tables(paper_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tables")
    write_tables(paper_runs, PAPERS / "lou_cheung_2020", out)
    return out


@pytest.fixture(scope="session")
def claims() -> ClaimsFile:
    return load_claims(PAPERS / "lou_cheung_2020" / "claims.yaml")


def test_the_same_runs_give_the_same_bytes_and_timings_enter_the_costs_only(tables: Path, tmp_path: Path) -> None:
    assert {path.name for path in tables.iterdir()} == FILES
    slower = planted_paper()
    slower[["seconds", "seconds_projection"]] *= 3
    write_tables(write_runs(slower, tmp_path / "runs"), PAPERS / "lou_cheung_2020", tmp_path / "out")
    same = {name for name in FILES if (tables / name).read_bytes() == (tmp_path / "out" / name).read_bytes()}
    assert same == {name for name in FILES if not name.startswith("costs")}


def test_rows_show_what_was_planted(tables: Path) -> None:
    table = pd.read_csv(tables / "table_1_all.csv", keep_default_na=False).set_index(["algorithm", "variant"])
    row, printed = (table.loc[("WDP-COCOP, Gamma", variant)] for variant in ("corrected", "printed"))
    shown = {name: row[f"{name} exponent"].split(" ")[0] for name in ("T", "d", "eps", "W")}
    assert shown == {"T": "0.00", "d": "1.00", "eps": "-1.00", "W": "-"}
    assert (row["eps / delta"], row["operation counted"]) == ("8 / 1e-06", "1 projection")
    assert "reproduced: T, d, eps" in row["verdicts"]
    assert printed["T exponent"].startswith("1.00 (")
    assert "L1" in printed["errata"].split()
    assert row["bound (LaTeX)"] == r"$O\bigl(d\log_2^{1.5}W\ln T/\varepsilon\bigr)$"


def test_a_row_says_which_rounds_its_learner_protects() -> None:
    """Where nothing is declared: the windows that were played, or that all rounds are protected for a window asked."""
    reference = {"experiment": "horizon", "stream": "norm-kink"}
    words = {"group": "study", "operation": "-", "bound_text": "-"}
    names = {
        name: {"id": name, "label": name, "learner": f"{name}.plain", **words} for name in ("short", "whole", "free")
    }
    names["declared"] = names["whole"] | {"id": "declared", "label": "declared", "window": "all T"}
    table = Table.model_validate({"caption": "-", "reference": reference, "rows": list(names.values())})
    claims = ClaimsFile.model_construct(claims=(), tables=(table,), problem="online", response="regret")
    judged = pd.DataFrame({"claim": [], "errata": [], "origin": [], "learner": [], "variant": []})
    parts = {"short": (16, 8.0), "whole": (64, 8.0), "free": (64, np.inf)}

    def column(windows: dict[str, tuple[int, float]]) -> dict[str, str]:
        frames = [
            frame(learner=name, variant="plain", window=window, epsilon=epsilon)
            for name, (window, epsilon) in windows.items()
        ]
        found = comparison_table(pd.concat(frames, ignore_index=True), claims, table, judged)
        return dict(zip(found["algorithm"], found["window"], strict=True))

    assert column(parts) == {"short": "W = 16", "whole": MORE, "free": "-", "declared": "all T"}
    parts["short"] = (64, 8.0)
    assert column(parts) == {"short": "-", "whole": "-", "free": "-", "declared": "all T"}


PLAYED = ("wdp-cocop-gamma", "corrected", "horizon", "norm-kink")


def ends(*sweeps: Sweep, where: dict[str, Any], largest: Sequence[str] = ()) -> pd.DataFrame:
    return last_rows(pd.concat([sweep.frame() for sweep in sweeps], ignore_index=True), *PLAYED, where, largest)


@pytest.mark.parametrize("settings", [{}, {"epsilon": np.inf, "window": 2**15}, {"window": 2**12}])
def test_a_learner_without_t_is_measured_at_a_horizon_that_its_longest_play_passes(settings: dict[str, object]) -> None:
    longest, shorter = Sweep(root, settings=settings), Sweep(logarithmic, horizon=2**13, settings=settings)
    passed = ends(longest, shorter, where={"horizon": 2**12}, largest=LARGEST)
    assert set(zip(passed["horizon"], passed["checkpoint"], strict=True)) == {(2**15, 2**12)}
    assert (len(passed), passed["regret"].mean()) == (16, pytest.approx(2**6, rel=1e-9))
    played = ends(longest, shorter, where={"horizon": 2**13}, largest=LARGEST)
    assert set(zip(played["horizon"], played["checkpoint"], strict=True)) == {(2**13, 2**13)}
    assert len(ends(longest, where={})) == 16, "without a horizon the end of the play"


def test_another_horizon_is_not_that_of_a_play_that_was_made_for_more() -> None:
    for sweep in (Sweep(root, anytime=False), Sweep(root, settings={"window": 2**15})):
        assert len(ends(sweep, where={"horizon": 2**15})) == 16
        with pytest.raises(NotRun, match="no finished run"):
            ends(sweep, where={"horizon": 2**12})


@pytest.mark.parametrize(
    ("settings", "taken"),
    [
        ([{"delta": delta} for delta in (0.0, 1e-6, 1e-12)], 1),
        ([{"set": name} for name in ("simplex", "ball")], 1),
        ([{"set": "ball", "dimension": 2}, {"set": "simplex", "dimension": 8}], 0),
        ([{"best_loss": loss} for loss in (0.0, 4.0, 2.0)], 1),
    ],
)
def test_a_table_averages_over_runs_alone(settings: list[dict[str, object]], taken: int) -> None:
    frames = [Sweep(root).frame().assign(**each) for each in settings]
    rows = last_rows(pd.concat(frames, ignore_index=True), *PLAYED, {}, LARGEST)
    assert len(rows) == 16
    assert all(set(rows[name]) == {value} for name, value in settings[taken].items())


def test_errata_carry_measured_numbers(tables: Path) -> None:
    errata = pd.read_csv(tables / "errata.csv", keep_default_na=False).set_index("erratum")
    status = {"L1": "measured", "L5": "not run", "L6": "not measured", "L15": "not measured"}
    assert errata.loc[[*status], "status"].to_dict() == status
    printed, corrected = (float(errata.loc["L1", side].split()[0]) for side in ("as printed", "corrected"))
    assert float(errata.loc["L1", "ratio"]) == pytest.approx(printed / corrected, rel=5e-3)
    assert float(errata.loc["L1", "of constant"]) > 0
    assert errata.loc["L1", "setting"].startswith("T = ")
    assert errata.loc["L1", "claims"] == "alg1-printed-gamma alg1-printed-gaussian"


def test_an_effect_is_measured_wherever_both_variants_ran(tables: Path, paper_runs: Path, tmp_path: Path) -> None:
    """The experiment of an erratum is not in the run: another one is, in its largest setting."""
    named = pd.read_csv(tables / "errata.csv", keep_default_na=False).set_index("erratum").loc["L1"]
    errata = [each for each in load_paper(PAPERS / "lou_cheung_2020").errata.errata if each.id == "L1"]
    runs = read_runs(paper_runs)
    moved = runs.assign(experiment=runs["experiment"].replace(named["experiment"], "elsewhere"))
    alone = moved.loc[moved["variant"] != errata[0].measure.variant]
    for rows, status, experiment in ((moved, "measured", "elsewhere"), (alone, "not run", named["experiment"])):
        write_errata(rows, errata, tmp_path, {"elsewhere"})
        found = pd.read_csv(tmp_path / "errata.csv", keep_default_na=False).loc[0]
        assert (found["status"], found["experiment"]) == (status, experiment)
        assert (found["as printed"] == named["as printed"]) == (status == "measured")


def test_costs_count_the_runs_that_were_timed_on_this_machine(
    tables: Path, paper_runs: Path, claims: ClaimsFile
) -> None:
    runs = read_runs(paper_runs)
    elsewhere = runs.assign(seconds=runs["seconds"].where(runs["run"] % 2 == 0))
    whole, half = pd.read_csv(tables / "costs.csv"), costs_table(elsewhere, claims)
    assert (half["runs measured here"] * 2 == whole["runs measured here"]).all()


def test_gauges_have_columns_where_somebody_calls_them(tables: Path, paper_runs: Path, claims: ClaimsFile) -> None:
    assert "gauges per round" not in pd.read_csv(tables / "costs.csv")
    runs = read_runs(paper_runs)
    calls = np.where(runs["learner"] == "ftal", 2.0, np.nan)
    costs = costs_table(runs.assign(gauges=calls, seconds_gauge=3e-6 * calls), claims)
    by = costs.groupby(costs["algorithm"] == "FTAL")[["gauges per round", "us per gauge"]]
    assert {name: set(map(tuple, each.to_numpy())) for name, each in by} == {True: {("2", "3.00")}, False: {("0", "-")}}


def test_calls_and_seconds_per_iteration_are_those_of_whole_cells() -> None:
    """Budgets of 1 and 7 iterations, one projection of 2 us in each: the cell counts 8, which are 4 a row."""
    reference = {"experiment": "risk", "stream": "norm-kink", "where": {"epsilon": 1.0}}
    words = {"group": "study", "operation": "-", "bound_text": "-"}
    row = {"id": "a", "label": "a", "learner": "a.plain", **words}
    table = Table.model_validate({"caption": "-", "reference": reference, "rows": [row]})
    claims = ClaimsFile.model_construct(
        claims=(), tables=(table,), rows=table.rows, problem="online", response="regret"
    )
    judged = pd.DataFrame({"claim": [], "errata": [], "origin": [], "learner": [], "variant": []})
    counted = {"projections": 4.0, "linear_oracles": 0.0, "local_oracles": 0.0, "solves": 0.0}
    timed = {"seconds": 8e-5, "seconds_projection": 8e-6, "seconds_linear_oracle": 0.0, "seconds_local_oracle": 0.0}
    whole = {"learner": "a", "variant": "plain", "experiment": "risk", **counted, **timed}
    budgets = {1.0: 1.0, 16.0: 7.0}
    frames = [frame(epsilon=epsilon, iterations=count, **whole) for epsilon, count in budgets.items()]
    runs = pd.concat(frames, ignore_index=True)
    costs = costs_table(runs, claims).iloc[0]
    assert costs["projections per round"] == "1"
    assert (costs["us per round"], costs["us per projection"]) == ("20.0", "2.00")
    assert comparison_table(runs, claims, table, judged)["operation counted"].tolist() == ["1 projection"]


def frame(**changes: object) -> pd.DataFrame:
    return Sweep(lambda checkpoints, value: np.sqrt(checkpoints), runs=2, horizon=64).frame().assign(**changes)


def test_all_files_come_back_sorted_with_plain_types(tmp_path: Path) -> None:
    write_runs(pd.concat([frame(), frame(learner="ftal", variant="plain", epsilon=np.inf)]), tmp_path)
    found = read_runs(tmp_path)
    assert list(found.columns) == [*COLUMNS, *COST_COLUMNS]
    assert len(found) == 2 * len(frame())
    assert found[list(KEY)].equals(found[list(KEY)].sort_values(list(KEY), ignore_index=True))
    assert found["tight"].dtype == np.bool_


def test_mixed_configurations_are_refused(tmp_path: Path) -> None:
    write_runs(pd.concat([frame(), frame(learner="ftal", config_hash="other")]), tmp_path)
    with pytest.raises(RunsError, match="different configurations in experiment horizon"):
        read_runs(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.drop(columns=["bound"]), "missing columns bound"),
        (lambda rows: rows.assign(run=0.5), "column run holds float64, expected integer"),
        (lambda rows: rows.assign(regret="x"), "column regret holds"),
        (lambda rows: pd.concat([rows, rows]), "the same row twice: paper=lou_cheung_2020"),
        (lambda rows: rows.assign(regret=np.nan), "regret is nan, must be finite"),
        (lambda rows: rows.assign(violation=-1.0), "violation is -1, must be finite, at least 0"),
        (lambda rows: rows.assign(delivered_epsilon=np.nan), "delivered_epsilon is nan, must be at least 0"),
        (lambda rows: rows.assign(bound=np.inf), "bound is inf, must be finite, or unknown"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    parquet.write(change(frame()), tmp_path / "a.parquet", parquet.Stamp("", ""))
    with pytest.raises(RunsError, match=message):
        read_runs(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunsError, match="no Parquet file"):
        read_runs(tmp_path)


def test_every_job_has_its_row(tmp_path: Path) -> None:
    sound = Sweep(lambda checkpoints, value: 3 * checkpoints**0.5, spread=0.1, delivered=1.25).frame()
    sound = sound.assign(violation=1e-12, noise_scale=np.where(sound["run"] % 2, 1.0, 4.0), code_hash="1e1234567890")
    sound = sound.assign(participations=26, record_epsilon=np.where(sound["run"] == 1, 66.8, 60.0))
    labels = {"experiment": "horizon", "learner": "ftal", "variant": "plain", "status": "failed: left its set"}
    crashed = check_columns(empty_row().assign(**labels, config_hash="c", code_hash="k"), "planted")
    write_jobs(pd.concat([sound, crashed]), tmp_path, "ci")
    found = read_jobs(tmp_path).set_index("learner")
    row, lost = found.loc["wdp-cocop-gamma"], found.loc["ftal"]
    assert (row["status"], row["runs"], row["profile"], row["code_hash"]) == ("ok", 16, "ci", "1e1234567890")
    horizon = sound["horizon"].max()
    assert row["level"] == pytest.approx(3 * horizon**0.5 / (0.5 * horizon), rel=1e-4)
    assert row["level_low"] < row["level"] < row["level_high"]
    assert (row["violation"], row["delivered"], row["noise_scale"]) == (1e-12, 1.25, 2.0)
    assert lost["status"] == "failed: left its set"
    assert row["delivered_record"] == pytest.approx(66.8 / 8)
    assert lost[["level", "delivered", "delivered_record", "noise_scale"]].isna().all()


def test_a_table_of_jobs_without_the_epsilon_of_a_record_is_read(tmp_path: Path) -> None:
    """As older versions wrote it; a record whose loss has no bound is not taken for the largest of the others."""
    rows = Sweep(lambda checkpoints, value: checkpoints**0.5).frame().assign(code_hash="k")
    unbounded = np.where(rows["run"] == 1, np.inf, 60.0)
    for frame in (rows, rows.assign(participations=26, record_epsilon=unbounded)):
        write_jobs(frame, tmp_path, "ci")
        assert read_jobs(tmp_path)["delivered_record"].isna().all()
    older = pd.read_csv(tmp_path / "jobs.csv").drop(columns="delivered_record")
    older.to_csv(tmp_path / "jobs.csv", index=False)
    assert read_jobs(tmp_path)["delivered_record"].isna().all()


# Figures


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
    figures = figures_of(monkeypatch, lambda out: write.write_figures(paper_runs, PAPER, out, file, names=NAMES))
    assert dict(mpl.rcParams) == before
    exponents = {f"exponent_{parameter}" for parameter in ("dimension", "epsilon")}
    assert set(figures) == exponents | {"regret_horizon", "printed_errata", "oracle_costs"}
    data = figures["exponent_dimension"].data()
    assert set(data["series"]) >= {"WDP-COCOP (Gamma), corrected", "predicted law"}
    assert not data["series"].str.contains("wdp-cocop").any()
    slopes = data.set_index("what")["y"]["local slope of response over law"]
    assert slopes.to_numpy() == pytest.approx(np.zeros(4), abs=1e-9)  # of a planted power
    assert figures["exponent_dimension"].finding.startswith("Law $d$: reproduced")
    regret = figures["regret_horizon"]
    assert len(regret.panels[0].axis.collections) == 2  # bands
    assert regret.data().loc[lambda data: data["what"] == "mean", "low"].notna().all()


def test_files_have_the_same_bytes_every_time(tmp_path: Path) -> None:
    with style_context():
        parquet.write(costs(), tmp_path / "costs.parquet", parquet.Stamp("", ""))
        unused: Any = None
        source = Source(Theme(), unused, unused, FigureEntry(type="costs"), tmp_path / "costs.parquet")
        figures = [compare.costs(source) for _ in range(2)]
        first, second = (figure.save(tmp_path / str(number) / "costs") for number, figure in enumerate(figures))
    assert [path.suffix for path in first] == [".pdf", ".png", ".svg", ".csv"]
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert b"CreationDate" not in first[0].read_bytes()
    assert b"/FontFile2" in first[0].read_bytes()  # TrueType, embedded
    corner = figures[0].panels[0].axis.get_position(original=True).min
    assert corner.tolist() == corner.round(9).tolist()  # else they are so mostly: the layout's last bits are not


def test_a_panel_holds_six_curves_with_open_markers_where_nothing_is_fitted() -> None:
    series = [Series("a", f"v{number}") for number in range(5)] + [Series(name, "x") for name in "bcd"]
    parts = panels_of(series)
    assert max(map(len, parts)) <= MOST
    assert [each for part in parts for each in part] == series
    panel, black = PanelFigure(1).panels[0], CurveStyle((0, 0, 0), "o")
    panel.curve("one", Curve(np.array([1.0, 2.0]), np.ones(2), hollow=np.array([True, False])), black)
    marked, opened = panel.axis.lines
    assert (marked.get_markerfacecolor(), opened.get_markerfacecolor()) == ((0, 0, 0), "white")
    assert list(opened.get_xdata()) == [1.0]

"""Files of runs: what is read is what was written, and what is damaged is refused; jobs.csv, what came of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from planted import write_runs

from dpregret.core import parquet
from dpregret.paper_figs.judge.result_tables import read_jobs, write_jobs
from dpregret.paper_figs.judge.runs import COLUMNS, COST_COLUMNS, KEY, RunsError, check_columns, empty_row, read_runs
from dpregret.paper_figs.validation.simulate import Sweep


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
    assert lost[["level", "delivered", "noise_scale"]].isna().all()

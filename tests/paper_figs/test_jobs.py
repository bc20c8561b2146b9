"""jobs.csv: what a job was computed from, and what it came to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpregret.paper_figs.judge.result_tables import read_jobs, write_jobs
from dpregret.paper_figs.judge.runs import check_columns, empty_row
from dpregret.paper_figs.validation.planted_laws import Sweep


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

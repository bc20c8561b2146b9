"""Runs that are played group by group give the rows of all runs together, to the last bit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from plays import rows_of

from dpregret.workflows.families import online
from dpregret.workflows.plan.load import load_config

PAPER = "lou_cheung_2020"
TIMES = ["seconds", "seconds_projection", "seconds_linear_oracle", "seconds_local_oracle"]
PLAYS = {
    "wdp-cocop-gaussian": ("corrected", ["norm-kink", "random-kink", "drift"]),
    "wdp-cocop-gamma": ("corrected", ["random-kink"]),
    "wdp-cocol-gamma": ("practical", ["smooth-quadratic"]),
    "wdp-scofw-gaussian": ("corrected", ["random-kink"]),
    "pocp-igd": ("corrected", ["smooth-quadratic"]),
    "pqftl": ("corrected", ["lasso"]),
    "dp-ftrl": ("corrected", ["realizable-direction"]),
    "ftal": ("plain", ["random-kink", "ridge-logistic"]),
}


@pytest.mark.parametrize("learner", PLAYS)
def test_groups_change_no_bit(
    settings: dict[str, Any], write: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch, learner: str
) -> None:
    variant, streams = PLAYS[learner]
    experiment = settings["papers"][PAPER]["experiments"]["horizon"]
    experiment |= {"set": "simplex" if "cocol" in learner else "ball", "streams": streams, "dimension": [9], "runs": 7}
    experiment |= {"horizon": [270], "window": [4, "horizon"], "epsilon": [2.0], "learners": {learner: [variant]}}
    experiment["options"] = {"pool_size": 50} if streams == ["lasso"] else {}
    config = load_config(write(copy.deepcopy(settings) | {"allow_few_cells": True}), check=False)
    frames, sizes = [], []
    for limit in (1e6, 0.06, 1e-9):
        monkeypatch.setattr(online, "GROUP_MB", limit)
        frames.append(rows_of(config, PAPER, "horizon", learner, variant).drop(columns=TIMES))
        sizes.append(online.runs_a_group(2, 7, 9, drawn=True))
    assert sizes == [7, 3, 1]
    assert (frames[0]["status"] == "ok").all()
    assert frames[0]["run"].nunique() == 7
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frame, frames[0], check_exact=True)


@pytest.mark.parametrize(
    ("settings", "runs", "dimension", "drawn", "size"),
    [(1, 16, 100_000, False, 1), (3, 1000, 4, False, 1000), (1, 16, 10_000, False, 3), (8, 32, 128, True, 32),
     (1, 16, 16_384, True, 1), (1, 16, 1000, False, 16), (4, 33, 4, True, 33)],
)  # fmt: skip
def test_a_block_of_a_group_stays_small(settings: int, runs: int, dimension: int, drawn: bool, size: int) -> None:
    assert online.runs_a_group(settings, runs, dimension, drawn) == size

"""Experiments of each family: which cells there are, what a play comes to, however its runs are grouped."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plays import SMALL, rows_of, rows_of_small, small

from dpregret.datasets import expert_data
from dpregret.paper_figs.judge.runs import check_columns, check_runs
from dpregret.workflows.families import FAMILIES, online
from dpregret.workflows.plan.load import load_config

MANY_CORNERS: dict[str, Any] = {"set": "sign-polytope", "learners": {"noisy-eg": ["corrected"]}}


@pytest.fixture
def loaded(tmp_path: Path, write: Callable[[Any], Path]) -> Callable[..., Any]:
    """The configuration of a small experiment of a family, some keys changed."""
    return lambda family, **changes: load_config(write(small(family, **changes)))


def cells(config: Any, family: str, learner: str) -> list[Any]:
    experiment = config.experiment(SMALL[family][0], "small")
    return list(FAMILIES[family].cells(experiment, FAMILIES[family].learners[learner].card))


@pytest.mark.parametrize(
    ("family", "learner", "changes", "count"),
    [
        ("erm", "noisy-gd", {"set": ["ball", "l1-ball"], "dimension": [4, 8],
                             "options": {"majority": [0.75, 0.9], "radius": 0.5}}, 2 * 4 * 2 * 2),
        ("experts", "sparse-vector", {"experts": [8, 16], "best_loss": [0, 5], "epsilon": [1.0, 2.0],
                                      "streams": ["halving", "halving-transient"]}, 2 * 2 * 4 * 2 * 2),
        ("experts", "hedge", {"experts": [8, 16], "best_loss": [0, 5], "epsilon": [1.0, 2.0],
                              "streams": ["halving", "halving-transient"]}, 2 * 2 * 4 * 2),
    ],
)  # fmt: skip
def test_cells_cross_everything_and_learners_without_privacy_have_one_epsilon(
    loaded: Callable[..., Any], family: str, learner: str, changes: dict[str, Any], count: int
) -> None:
    found = cells(loaded(family, **changes), family, learner)
    assert len(found) == count
    assert family != "erm" or len({cell.label for cell in found}) == count
    assert learner != "hedge" or {cell.epsilon for cell in found} == {math.inf}


def test_options_of_a_set_make_cells_on_the_same_data(loaded: Callable[..., Any]) -> None:
    changes = {**MANY_CORNERS, "sweep": "option", "samples": [256], "set_options": {"corners": [4, 6, 10]}}
    config = loaded("erm", **changes)
    found = cells(config, "erm", "noisy-gd")
    assert [dict(cell.set_options) for cell in found] == [{"corners": k} for k in (4, 6, 10)]
    assert len({cell.label for cell in found}) == 1
    rows = rows_of_small(config, "erm", "noisy-eg", "corrected")
    assert set(rows["corners"]) == {4, 6, 10}
    assert (np.diff(rows.groupby("corners")["width"].first()) > 0).all()


def test_rows_of_risks(loaded: Callable[..., Any]) -> None:
    config = loaded("erm")
    private = rows_of_small(config, "erm", "noisy-gd", "corrected")
    trivial = rows_of_small(config, "erm", "stay-at-zero", "plain")
    assert (len(private), len(trivial)) == (4 * 2 * 3, 4 * 3)
    assert (private["regret"] >= -1e-12).all()
    assert np.allclose(trivial["regret"], trivial["trivial_regret"])
    assert np.allclose(private["delivered_epsilon"], private["epsilon"])
    assert (private["horizon"] == private["checkpoint"]).all()
    assert (private["violation"] < 1e-9).all()
    assert not private["capped"].any()
    assert (private["mu_gdp"] > 0).all()
    assert trivial["epsilon"].eq(math.inf).all()
    assert private["width"].iloc[0] == pytest.approx(math.sqrt(2) * math.gamma(2.5) / math.gamma(2))


def test_rows_of_bandits_are_paired(loaded: Callable[..., Any]) -> None:
    learner = ("bandits", "private-bandit-gaussian", "corrected")
    config = loaded("bandits", runs=2)
    assert [cell.horizon for cell in cells(config, *learner[:2])] == [256, 1024, 4096, 16384]
    rows = check_runs(check_columns(rows_of_small(config, *learner), "a"), "a")
    assert len(rows) == 4 * 2 * 2
    private, free = (rows.loc[rows["epsilon"] == epsilon].sort_values(["horizon", "run"]) for epsilon in (4.0, np.inf))
    assert private["delivered_epsilon"].to_numpy() == pytest.approx(np.full(8, 4.0))
    assert (private["displacement"] > 0).all()
    assert not free["displacement"].any()
    assert (rows["regret"] <= rows["bound"]).all()
    assert not rows["clipped"].any()
    assert (rows["linear_oracles"] > 0).all()
    assert not rows["projections"].any()
    again = rows_of_small(loaded("bandits", runs=2, epsilon=[math.inf]), *learner).sort_values(["horizon", "run"])
    assert again["regret"].to_numpy() == pytest.approx(free["regret"].to_numpy(), rel=1e-12)


def test_rows_of_experts(loaded: Callable[..., Any]) -> None:
    played = (("sparse-vector", "pure"), ("sparse-vector", "zcdp"), ("hedge", "unit"))
    config = loaded("experts", best_loss=[0, 8], learners={"sparse-vector": ["pure", "zcdp"], "hedge": ["unit"]})
    frames = [check_columns(rows_of_small(config, "experts", *each), each[0]) for each in played]
    rows = check_runs(pd.concat(frames, ignore_index=True), "test")
    assert len(rows) == 3 * 2 * 4 * 3
    assert set(rows["best_loss"]) == {0.0, 8.0}
    assert (rows["regret"] >= -1e-9).all()
    private = rows.loc[rows["learner"] == "sparse-vector"]
    assert set(private.groupby("variant")["delta"].first()) == {0.0, 1e-6}
    assert private["delivered_epsilon"].to_numpy() == pytest.approx(np.full(len(private), 4.0))
    hedge = rows.loc[rows["learner"] == "hedge"]
    assert (hedge["epsilon"] == math.inf).all()
    assert hedge.groupby(["horizon", "best_loss"])["regret"].nunique().eq(1).all()  # exact: equal in all runs
    assert set(rows["draws"].isna()) == {False}


def test_rows_of_experts_on_data_and_on_the_stream_of_a_lower_bound(loaded: Callable[..., Any], tmp_path: Path) -> None:
    expert_data.prepare("breast-cancer-experts", tmp_path / "breast-cancer-experts.npz")
    config = loaded("experts", streams=["breast-cancer-experts"], experts=[16], best_loss=[30],
                    learners={"hedge": ["horizon"]})  # fmt: skip
    assert rows_of_small(config, "experts", "hedge", "horizon", tmp_path)["best_loss"].eq(30).all()
    config = loaded("experts", streams=["lower-bound"], learners={"sparse-vector": ["pure", "zcdp"]},
                    options={"length": [1, 8]}, epsilon=[0.1])  # fmt: skip
    found = [rows_of_small(config, "experts", "sparse-vector", variant) for variant in ("pure", "zcdp")]
    assert set(found[0]["length"]) == {1, 8}
    assert found[0]["lower_bound"].to_numpy() == pytest.approx(found[0]["length"] / 4)
    assert found[1]["lower_bound"].isna().all()  # the bound is for delta = 0


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

"""Experiments with expert advice: what is refused, which cells there are, what a play comes to."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plays import rows_of

from dpregret.core.errors import ConfigError
from dpregret.datasets import expert_data
from dpregret.paper_figs.judge.runs import check_columns, check_runs
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.load import load_config

Write = Callable[[Any], Path]
EXPERIMENT: dict[str, Any] = {
    "family": "experts",
    "title": "Experts",
    "sweep": "horizon",
    "streams": ["halving"],
    "experts": [8],
    "horizon": [64, 128, 256, 512],
    "epsilon": [4.0],
    "delta": 1e-6,
    "runs": 3,
    "learners": {"sparse-vector": ["pure"], "hedge": ["unit"]},
}


def settings(**changes: Any) -> dict[str, Any]:
    experiment = {**copy.deepcopy(EXPERIMENT), **changes}
    experiment = {key: value for key, value in experiment.items() if value is not None}
    return {"profile": "mine", "seed": 7, "papers": {"asi_et_al_2023": {"experiments": {"small": experiment}}}}


@pytest.mark.parametrize(
    ("changes", "fragments"),
    [
        ({"experts": [1]}, ["experts[0]", "at least 2", "got 1"]),
        ({"experts": [12]}, ["experts[0]", "experts must be a power of two, at least 2, got 12"]),
        ({"experts": []}, ["experts", "must not be empty"]),
        ({"experts": [8, 8]}, ["8 is given twice"]),
        ({"streams": ["halvings"]}, ["unknown stream 'halvings'", "did you mean 'halving'?"]),
        ({"learners": {"sparse": ["pure"]}}, ["unknown learner 'sparse'", "sparse-vector"]),
        ({"learners": {"sparse-vector": ["fast"]}}, ["unknown variant 'fast'", "zcdp"]),
        ({"best_loss": [1000]}, ["best_loss", "best_loss must lie between 0 and the horizon 64, got 1000"]),
        ({"best_loss": [-1.0]}, ["best_loss[0]", "must be at least 0.0, not -1.0"]),
        ({"best_loss": ["many"]}, ["best_loss[0]", "must be a number"]),
        ({"options": {"kill": 0.5}}, ["options", "stream 'halving' has no option 'kill'"]),
        ({"streams": ["bernoulli"], "options": {"probability": 1.5}}, ["probability must lie in (0, 1], got 1.5"]),
        ({"streams": ["lower-bound"], "options": {"length": 65}}, ["length must", "64", "65"]),
        ({"streams": ["lower-bound"], "epsilon": [0.1]}, ["learners.hedge[0]", "needs a finite epsilon"]),
        ({"streams": ["digits-experts"], "experts": [300], "best_loss": [30]}, ["experts[0]", "between 2 and 256"]),
        ({"streams": ["digits-experts"], "best_loss": [30], "options": {"kill": 0.5}}, ["has no option 'kill'"]),
        (
            {"streams": ["lower-bound"], "options": {"length": [1, 8, 1]}},
            ["options.length: 1 is given twice, not [1, 8, 1]"],
        ),
        ({"streams": ["lower-bound"], "options": {"length": []}}, ["options.length: must not be empty"]),
        ({"options": {"kill": {"half": 1}}}, ["options.kill: must be a number, a word, true or false, not {'half'"]),
        ({"options": {"kill": [[1]]}}, ["options.kill[0]: must be a number, a word, true or false, not [1]"]),
        ({"streams": ["halving"], "options": {"shade": [1, 2]}}, ["options.shade", "may not be a list", "kill"]),
        ({"sweep": "option"}, ["options", "a sweep over an option needs a list of its values"]),
        ({"sweep": "stream"}, ["streams", "a sweep over streams needs at least two of them"]),
        ({"streams": ["digits-experts"]}, ["sparse-vector", "must be told a bound on the loss of the best expert"]),
        ({"learners": {"hedge-batched": ["pure"]}, "epsilon": [1e-4]}, ["hedge-batched", "leaves no switch"]),
        ({"learners": {"private-ftrl": ["gaussian"]}, "experts": [2**22]}, ["experts times 3 runs are more than"]),
        ({"horizon": [2, 128, 256, 512]}, ["horizon must be at least 3, the number of phases, got 2"]),
        ({"horizon": [64]}, ["too few cells for a fit: 1"]),
        ({"sweep": "best-loss"}, ["best_loss", "too few cells for a fit: 0"]),
        ({"sweep": "window"}, ["sweep", "must be one of"]),
        ({"dimension": [4]}, ["dimension", "unknown key, allowed:", "experts"]),
        ({"runs": 1}, ["runs", "must be at least 2"]),
        ({"epsilon": [0.0]}, ["epsilon[0]", "must be greater than 0"]),
        ({"delta": None}, ["delta", "this key is missing"]),
    ],
)
def test_each_mistake_is_refused_in_one_line(write: Write, changes: dict[str, Any], fragments: list[str]) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_config(write(settings(**changes)))
    lines = [line for line in refusal.value.problems if all(fragment in line for fragment in fragments)]
    assert lines, refusal.value
    assert all("mine.yaml:" in line and "papers.asi_et_al_2023.experiments.small" in line for line in lines)


def test_cells_cross_everything_and_learners_without_privacy_have_one_epsilon(write: Write) -> None:
    changes = {"experts": [8, 16], "best_loss": [0, 5], "epsilon": [1.0, 2.0]}
    changes["streams"] = ["halving", "halving-transient"]
    experiment = load_config(write(settings(**changes))).experiment("asi_et_al_2023", "small")
    family = FAMILIES["experts"]
    assert len(list(family.cells(experiment, family.learners["sparse-vector"].card))) == 2 * 2 * 4 * 2 * 2
    free = list(family.cells(experiment, family.learners["hedge"].card))
    assert len(free) == 2 * 2 * 4 * 2
    assert {cell.epsilon for cell in free} == {math.inf}


def test_a_play_has_checked_rows(write: Write) -> None:
    learners = {"sparse-vector": ["pure", "zcdp"], "hedge": ["unit"]}
    config = load_config(write(settings(best_loss=[0, 8], learners=learners)))
    frames = []
    for learner, variant in (("sparse-vector", "pure"), ("sparse-vector", "zcdp"), ("hedge", "unit")):
        frames.append(check_columns(rows_of(config, "asi_et_al_2023", "small", learner, variant), learner))
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


def test_data_and_lower_bound_rows(write: Write, tmp_path: Path) -> None:
    expert_data.prepare("breast-cancer-experts", tmp_path / "breast-cancer-experts.npz")
    changes = {
        "streams": ["breast-cancer-experts"],
        "experts": [16],
        "best_loss": [30],
        "learners": {"hedge": ["horizon"]},
    }
    config = load_config(write(settings(**changes)))
    rows = rows_of(config, "asi_et_al_2023", "small", "hedge", "horizon", tmp_path)
    assert rows["best_loss"].eq(30).all()
    changes = {
        "streams": ["lower-bound"],
        "learners": {"sparse-vector": ["pure", "zcdp"]},
        "options": {"length": [1, 8]},
    }
    config = load_config(write(settings(**changes, epsilon=[0.1])))
    found = [rows_of(config, "asi_et_al_2023", "small", "sparse-vector", variant) for variant in ("pure", "zcdp")]
    assert set(found[0]["length"]) == {1, 8}
    assert found[0]["lower_bound"].to_numpy() == pytest.approx(found[0]["length"] / 4)
    assert found[1]["lower_bound"].isna().all()  # the bound is for delta = 0


def test_a_mistake_is_told_once_at_its_first_cell(write: Write) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_config(write(settings(experts=[12, 24], epsilon=[1.0, 4.0])))
    assert len(refusal.value.problems) == 2  # one for each wrong number of experts, whatever else is crossed with it
    assert all("T = 64, epsilon = 1" in line for line in refusal.value.problems)


@pytest.mark.parametrize(("stream", "option"), [("halving-slow", "kill"), ("bernoulli", "probability")])
def test_options_that_vary_tell_rows_apart(write: Write, stream: str, option: str) -> None:
    learners = {"hedge": ["unit"]}
    changes = {"streams": [stream], "sweep": "option", "options": {option: [0.25, 0.5]}, "learners": learners}
    config = load_config(write(settings(**changes, horizon=[64])))
    rows = check_runs(check_columns(rows_of(config, "asi_et_al_2023", "small", "hedge", "unit"), "test"), "test")
    assert set(rows.groupby(option).size().items()) == {(0.25, 3), (0.5, 3)}

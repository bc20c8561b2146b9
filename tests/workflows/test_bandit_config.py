"""Experiments with bandit feedback: what is refused, and what a play comes to."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plays import rows_of

from dpregret.core.errors import ConfigError
from dpregret.paper_figs.judge.runs import check_columns, check_runs
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.load import load_config

Write = Callable[[Any], Path]
EXPERIMENT: dict[str, Any] = {
    "family": "bandits",
    "title": "Bandits",
    "sweep": "horizon",
    "set": "ball",
    "streams": ["cone"],
    "dimension": [2],
    "horizon": [256, 1024, 4096, 16384],
    "epsilon": [math.inf, 4.0],
    "delta": 1e-6,
    "runs": 2,
    "learners": {"private-bandit-gaussian": ["corrected"]},
}


def settings(**changes: Any) -> dict[str, Any]:
    experiment = {**copy.deepcopy(EXPERIMENT), **changes}
    return {"profile": "mine", "seed": 7, "papers": {"ene_et_al_2021": {"experiments": {"small": experiment}}}}


@pytest.mark.parametrize(
    ("changes", "fragments"),
    [
        ({"family": "bandit"}, ["family", "did you mean 'bandits'?"]),
        ({"family": "coco"}, ["unknown family 'coco', allowed: bandits, erm, experts, lemmas, online"]),
        ({"feedback": "bandit"}, ["feedback", "is called 'family' now"]),
        ({"learners": {"sparse-vector": ["pure"]}}, ["unknown learner 'sparse-vector'", "needs family: experts"]),
        ({"set": "cube"}, ["unknown set 'cube'"]),
        ({"streams": ["ranking"]}, ["streams", "lives on the set permutahedron, not on 'ball'"]),
        ({"streams": ["cones"]}, ["unknown stream 'cones'", "did you mean 'cone'?"]),
        ({"learners": {"fkmm": ["plain"]}}, ["unknown learner 'fkmm'"]),
        ({"learners": {"fkm": ["fast"]}}, ["unknown variant 'fast'"]),
        (
            {"horizon": [256, 1000, 4096, 16384]},
            ["horizon[1]", "perfect square, got 1000; the nearest are 961 and 1024"],
        ),
        ({"dimension": [40]}, ["horizon[0]", "a horizon of at least 1600 is needed, got 256"]),
        ({"dimension": [2], "set": "spanning-trees"}, ["dimension[0]", "an integer, at least 3"]),
        ({"dimension": {"box": [2]}}, ["dimension", "has no dimensions for the set 'ball'"]),
        ({"learners": {"private-linear-bandit": ["corrected"]}}, ["needs linear losses"]),
        ({"set": "simplex", "dimension": [8], "learners": {"fkm": ["plain"]}}, ["not below the inner radius"]),
        ({"options": {"spread": 2.0}}, ["stream 'cone' has no option 'spread'"]),
        ({"window": [4]}, ["window", "unknown key, allowed:", "family"]),
    ],
)
def test_each_mistake_is_refused_in_one_line(write: Write, changes: dict[str, Any], fragments: list[str]) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_config(write(settings(**changes)))
    lines = [line for line in refusal.value.problems if all(fragment in line for fragment in fragments)]
    assert lines, refusal.value


def test_a_play_has_paired_rows(write: Write) -> None:
    config = load_config(write(settings()))
    experiment = config.experiment("ene_et_al_2021", "small")
    card = FAMILIES["bandits"].learners["private-bandit-gaussian"].card
    assert [cell.horizon for cell in FAMILIES["bandits"].cells(experiment, card)] == [256, 1024, 4096, 16384]
    learner = ("ene_et_al_2021", "small", "private-bandit-gaussian", "corrected")
    rows = check_runs(check_columns(rows_of(config, *learner), "a"), "a")
    assert len(rows) == 4 * 2 * 2
    private, free = (rows.loc[rows["epsilon"] == epsilon].sort_values(["horizon", "run"]) for epsilon in (4.0, np.inf))
    assert private["delivered_epsilon"].to_numpy() == pytest.approx(np.full(8, 4.0))
    assert (private["displacement"] > 0).all()
    assert not free["displacement"].any()
    assert (rows["regret"] <= rows["bound"]).all()
    assert not rows["clipped"].any()
    assert (rows["linear_oracles"] > 0).all()
    assert not rows["projections"].any()
    alone = load_config(write(settings(epsilon=[math.inf])))
    again = rows_of(alone, *learner).sort_values(["horizon", "run"])
    assert again["regret"].to_numpy() == pytest.approx(free["regret"].to_numpy(), rel=1e-12)

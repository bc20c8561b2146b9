"""Experiments of empirical risk minimisation: what is read, what is refused before any work starts, what is written."""

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
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.load import load_config

Write = Callable[[Any], Path]
EXPERIMENT: dict[str, Any] = {
    "family": "erm",
    "title": "Excess risk against the number of records",
    "sweep": "samples",
    "set": "ball",
    "risks": ["norm-kink-risk"],
    "dimension": [4],
    "samples": [64, 128, 256, 512],
    "epsilon": [1.0, 4.0],
    "delta": 1e-6,
    "runs": 3,
    "learners": {"noisy-gd": ["corrected"], "stay-at-zero": ["plain"]},
}

MANY_CORNERS: dict[str, Any] = {"set": "sign-polytope", "learners": {"noisy-eg": ["corrected"]}}
CELLS, CARD = FAMILIES["erm"].cells, FAMILIES["erm"].learners["noisy-gd"].card


def settings(**changes: Any) -> dict[str, Any]:
    experiment = copy.deepcopy(EXPERIMENT)
    for key, value in changes.items():
        experiment[key] = value
        if value is None:
            del experiment[key]
    return {"profile": "mine", "seed": 7, "papers": {"talwar_2015": {"experiments": {"gd-samples": experiment}}}}


@pytest.mark.parametrize(
    ("changes", "fragments"),
    [
        ({"risks": ["norm-kink"]}, ("risks[0]", "norm-kink-risk")),
        ({"samples": [64, 64, 128, 256]}, ("samples", "64 is given twice")),
        ({"samples": [0, 1, 2, 3]}, ("samples[0]", "greater than 0")),
        ({"samples": [64, 128]}, ("samples", "too few cells")),
        ({"sample": [64]}, ("unknown key", "did you mean 'samples'")),
        ({"horizon": [64]}, ("unknown key", "samples")),
        ({"family": None}, ("risks", "unknown key", "'risks' is a key of family: erm")),
        ({"window": [4]}, ("unknown key",)),
        ({"dimension": None}, ("dimension",)),
        ({"dimension_growth": {"factor": 1.0, "power": 0.5}}, ("dimension",)),
        ({"dimension": None, "dimension_growth": {"factor": 0.0, "power": 0.5}}, ("factor", "greater than 0")),
        ({"dimension": None, "dimension_growth": {"factr": 1.0, "power": 0.5}}, ("factr", "did you mean 'factor'")),
        ({"delta": 0.0}, ("delta", "greater than 0")),
        ({"epsilon": [-1.0]}, ("epsilon[0]", "greater than 0")),
        ({"learners": {"noisy-eg": ["corrected"]}}, ("learners.noisy-eg", "ball")),
        ({"learners": {"private-fw": ["corrected"]}}, ("learners.private-fw", "ball")),
        ({"learners": {"noisy-gd": ["correct"]}}, ("learners.noisy-gd[0]", "corrected")),
        ({"learners": {"noisy-gb": ["corrected"]}}, ("noisy-gb", "noisy-gd")),
        ({"learners": {"wdp-cocop-gamma": ["corrected"]}}, ("wdp-cocop-gamma",)),
        ({"learners": {"objective-perturbation": ["corrected"]}}, ("objective-perturbation", "norm-kink-risk")),
        ({"learners": {"noisy-gd-strong": ["corrected"]}}, ("noisy-gd-strong",)),
        ({"learners": {"projected-gradient": ["plain"]}}, ("projected-gradient", "smooth")),
        ({"samples": [2, 128, 256, 512]}, ("noisy-gd", "n = 2", "too small")),
        ({"set": "bal"}, ("set[0]", "'ball'")),
        ({"set": "nuclear", "dimension": [5]}, ("dimension[0]", "the set 'nuclear' refuses 5")),
        ({"options": {"majorty": 0.9}}, ("majorty", "majority")),
        ({"options": {"majority": 0.2}}, ("majority",)),
        ({"risks": ["hetero-consensus"], "set": "l1-ball", "samples": [3, 6, 12, 24]}, ("multiple",)),
        ({"risks": ["fingerprint"], "set": "l1-ball", "dimension": [512]}, ("no room",)),
        ({"set_options": {"corners": [4, 8]}}, ("set_options", "option of the set 'ball'")),
        ({**MANY_CORNERS, "set_options": {"corners": [7, 8]}}, ("set_options", "corners of the set", "not 7")),
        ({"sweep": "option", "set_options": {"radius": 2.0}}, ("options", "needs a list")),
    ],
)
def test_each_mistake_is_refused_in_one_line(write: Write, changes: dict[str, Any], fragments: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(settings(**changes)))
    text = "\n".join(caught.value.problems)
    for fragment in fragments:
        assert fragment in text
    assert all("\n" not in line and "mine.yaml" in line for line in caught.value.problems)
    assert "gd-samples" in text


def test_cells_cross_sets_records_dimensions_and_options(write: Write) -> None:
    changes = {"set": ["ball", "l1-ball"], "dimension": [4, 8], "options": {"majority": [0.75, 0.9], "radius": 0.5}}
    experiment = load_config(write(settings(**changes))).experiment("talwar_2015", "gd-samples")
    found = list(CELLS(experiment, CARD))
    assert len(found) == 2 * 4 * 2 * 2
    assert len({cell.label for cell in found}) == len(found)


def test_options_of_a_set_make_cells_on_the_same_data(write: Write) -> None:
    changes = {**MANY_CORNERS, "sweep": "option", "samples": [256], "set_options": {"corners": [4, 6, 10, 16]}}
    config = load_config(write(settings(**changes)))
    found = list(CELLS(config.experiment("talwar_2015", "gd-samples"), CARD))
    assert [dict(cell.set_options) for cell in found] == [{"corners": k} for k in (4, 6, 10, 16)]
    assert len({cell.label for cell in found}) == 1
    rows = rows_of(config, "talwar_2015", "gd-samples", "noisy-eg", "corrected")
    assert set(rows["corners"]) == {4, 6, 10, 16}
    widths = rows.groupby("corners")["width"].first().to_numpy()
    assert (np.diff(widths) > 0).all()


def test_dimension_grows_with_the_records(write: Write) -> None:
    changes = {"dimension": None, "dimension_growth": {"factor": 2.0, "power": 0.5}}
    experiment = load_config(write(settings(**changes))).experiment("talwar_2015", "gd-samples")
    assert [cell.dimension for cell in CELLS(experiment, CARD)] == [16, 23, 32, 45]


def test_rows_of_a_play(write: Write) -> None:
    config = load_config(write(settings()))
    frames = {}
    for learner, variant in (("noisy-gd", "corrected"), ("stay-at-zero", "plain")):
        one, two = (rows_of(config, "talwar_2015", "gd-samples", learner, variant) for _ in range(2))
        timings = [name for name in one.columns if name.startswith("seconds")]
        pd.testing.assert_frame_equal(one.drop(columns=timings), two.drop(columns=timings))
        frames[learner] = one
    private, trivial = frames["noisy-gd"], frames["stay-at-zero"]
    assert len(private) == 4 * 2 * 3
    assert len(trivial) == 4 * 3
    assert (private["regret"] >= -1e-12).all()
    assert np.allclose(trivial["regret"], trivial["trivial_regret"])
    assert np.allclose(private["delivered_epsilon"], private["epsilon"])
    assert (private["horizon"] == private["checkpoint"]).all()
    assert (private["violation"] < 1e-9).all()
    assert not private["capped"].any()
    assert (private["mu_gdp"] > 0).all()
    assert trivial["epsilon"].eq(math.inf).all()
    assert private["width"].iloc[0] == pytest.approx(math.sqrt(2) * math.gamma(2.5) / math.gamma(2))

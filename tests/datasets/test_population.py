"""Population risks: records against their law, gradients and values against each other, passes that repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.datasets.risks import make_risk

RUNS, DIMENSION, SAMPLES = 2, 3, 30_001
MUS = (np.inf, 0.05, 2.0)


def _risk(name: str, samples: int = SAMPLES, **options: Any) -> Any:
    generators = [np.random.default_rng([7, run]) for run in range(RUNS)]
    return make_risk(name, make_set("ball", DIMENSION), samples, generators, **options).facing(MUS)


@pytest.mark.parametrize("name", ["lasso-population", "linear-population", "quadratic-population"])
def test_value_is_the_mean_loss_of_fresh_records(name: str) -> None:
    """Within 5 standard errors; the mean gradient by differences of the value, which is least at the optimum."""
    risk = _risk(name)
    records = risk.stream().take(SAMPLES)
    point = make_set("ball", DIMENSION).project(np.random.default_rng(1).normal(size=(len(MUS), RUNS, DIMENSION)))
    each = risk.gradients(point[..., None, :], records)
    assert np.sqrt(np.square(each).sum(axis=-1)).max() <= risk.lipschitz * (1 + 1e-12)
    error = each.std(axis=2) / np.sqrt(SAMPLES)
    slope, step = each.mean(axis=2), 1e-4
    for axis, unit in enumerate(np.eye(DIMENSION)):
        rise = (risk.value(point + step * unit) - risk.value(point - step * unit)) / (2 * step)
        assert (np.abs(rise - slope[..., axis]) <= 5 * error[..., axis] + 1e-9).all()
    values, best, _ = risk.optimum()
    assert np.allclose(np.broadcast_to(values, risk.value(best).shape), risk.value(best), rtol=0, atol=0)
    assert (risk.value(point) >= values).all()


def test_linear_records_are_signs_whose_mean_is_the_hard_length() -> None:
    risk = _risk("linear-population", strength=3.0)
    hard = 3.0 * np.maximum(SAMPLES**-0.5, DIMENSION**0.5 / (np.array(MUS) * SAMPLES))
    assert risk.lengths == pytest.approx(hard, rel=1e-15)
    records = risk.stream().take(SAMPLES)
    assert np.array_equal(np.abs(records), np.full(records.shape, risk.direction[0]))
    mean = records.mean(axis=2)
    assert np.abs(mean - hard[:, None, None] / np.sqrt(DIMENSION)).max() <= 5 / np.sqrt(SAMPLES * DIMENSION)
    assert (records[1] >= records[2]).all(), "settings share their random numbers"
    values, points, gaps = risk.optimum()
    assert values == pytest.approx(np.repeat(-hard[:, None], RUNS, axis=1))
    assert not gaps.any()
    assert points.shape == (RUNS, DIMENSION)
    assert _risk("linear-population", 9, power=0.5).lengths[1] == pytest.approx(1.0), "never above 1"


def test_a_pass_repeats_and_ends() -> None:
    risk = _risk("linear-population", 700)
    whole, parts = risk.stream().take(700), risk.stream()
    taken = np.concatenate([parts.take(count) for count in (1, 0, 256, 443)], axis=2)
    assert np.array_equal(whole, taken)
    with pytest.raises(ValueError, match="asked for 1 records, 0 are left"):
        parts.take(1)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("linear-population", {"strength": 0.0}),
        ("linear-population", {"power": 1.5}),
        ("quadratic-population", {"spread": -1.0}),
    ],
)
def test_options_are_looked_at(name: str, options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))} must"):
        _risk(name, **options)


def test_the_lasso_keeps_the_average_of_its_records() -> None:
    """Gradient and columns of the stored moments against the records; single ones are not kept."""
    generators = [np.random.default_rng([7, run]) for run in range(RUNS)]
    risk = make_risk("lasso-population", make_set("l1-ball", DIMENSION), 5001, generators)
    point = np.array([[0.2, -0.3, 0.1], [0.0, 0.5, 0.4]])
    records = risk.stream().take(5001)
    each = risk.gradients(point[None, :, None], records)[0]
    assert np.abs(each).max() <= risk.lipschitz_l1
    assert risk.gradient(point) == pytest.approx(each.mean(axis=1), abs=1e-12)
    products = (records[0, ..., :-1] * records[0, ..., 1:2]).mean(axis=1)
    assert risk.gram_columns(np.array([1, 1])) == pytest.approx(products, abs=1e-12)
    with pytest.raises(ValueError, match="keeps no single records"):
        risk.record_gradient(point, np.zeros(RUNS, dtype=int))

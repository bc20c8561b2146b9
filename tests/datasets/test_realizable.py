"""Streams with a point of no loss: values, gradients, the inequality that small-loss bounds rest on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from dpregret.algorithms.geometry import make_set
from dpregret.datasets.losses import DirectionSquare, HalfSpace
from dpregret.datasets.streams import make_stream

NAMES = ("realizable-quadratic", "realizable-direction", "half-space")


def generators(runs: int = 3) -> list[np.random.Generator]:
    return [np.random.default_rng([4, run]) for run in range(runs)]


@pytest.mark.parametrize("name", NAMES)
def test_one_point_has_no_loss_and_none_has_less(name: str) -> None:
    domain = make_set("ball", 3)
    stream = make_stream(name, domain)
    assert (stream.strong_convexity, stream.best_loss) == (0.0, 0.0)  # type: ignore[attr-defined]
    points = np.random.default_rng(0).standard_normal((50, 3, 3)) * 3  # in the set and far outside
    inside = domain.project(points)
    for loss in stream.rounds(generators(), 30):
        assert loss.value(np.tile(domain.target(), (3, 1))) == pytest.approx(np.zeros(3))
        values, gradients = loss.value_and_gradient(points)
        assert (values >= 0).all()
        if np.isfinite(stream.smoothness):
            assert (np.vecdot(gradients, gradients) <= 2 * stream.smoothness * values * (1 + 1e-9)).all()
        assert np.linalg.norm(loss.gradient(inside), axis=-1).max() <= stream.lipschitz * (1 + 1e-12)


@pytest.mark.parametrize("loss", [
    DirectionSquare(np.array([0.6, -0.8]), np.array([0.2, 0.1]), 1.7), HalfSpace(np.array([0.6, -0.8]), np.array([0.2,
0.1])), ])  # fmt: skip
def test_gradients_and_prox_by_brute_force(loss: DirectionSquare | HalfSpace) -> None:
    for point in np.random.default_rng(2).standard_normal((6, 2)):
        value, gradient = loss.value_and_gradient(point)
        assert value == pytest.approx(float(loss.value(point)))
        assert gradient == pytest.approx(approx_fprime(point, lambda x: float(loss.value(x))), abs=1e-6)
        best = minimize(
            lambda x: 0.7 * float(loss.value(x)) + 0.5 * float((x - point) @ (x - point)),  # noqa: B023
            point, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000},
        ).x  # fmt: skip
        assert loss.prox(point, 0.7) == pytest.approx(best, abs=1e-5)


def test_quadratic_form_is_the_loss() -> None:
    directions = np.random.default_rng(3).standard_normal((4, 3))
    loss = DirectionSquare(directions, np.array([0.1, -0.4, 0.3]), 2.0)
    matrix, linear, constant = loss.quadratic_form()
    point = np.array([0.5, 0.2, -0.9])
    assert 0.5 * (matrix @ point) @ point - linear @ point + constant == pytest.approx(
        loss.value(np.tile(point, (4, 1)))
    )


@pytest.mark.parametrize("name", NAMES)
def test_comparator_and_independence_of_runs(name: str) -> None:
    domain = make_set("ball", 3)
    stream = make_stream(name, domain)
    few, many = (stream.comparator(generators(runs), [5, 600]) for runs in (2, 4))
    assert np.array_equal(few.stay, many.stay[:, :2])
    assert not few.losses.any()
    center = np.tile(domain.center(), (2, 1))
    by_hand = sum(loss.value(center) for loss in stream.rounds(generators(2), 600))
    assert few.stay[1] == pytest.approx(np.broadcast_to(by_hand, 2))


def test_bad_smoothness() -> None:
    for name in NAMES[:2]:
        with pytest.raises(ValueError, match="smoothness must be positive and finite, got 0"):
            make_stream(name, make_set("ball", 2), smoothness=0.0)

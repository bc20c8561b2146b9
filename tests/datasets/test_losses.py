"""The losses against their definitions: finite differences, convexity inequalities, optimality of the prox."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

from dpregret.core.losses import Loss
from dpregret.datasets.losses import (
    DirectionKink,
    NormKink,
    Quadratic,
    RidgeLogistic,
    RidgeSquared,
)
from dpregret.numerics.arrays import Array

Builder = Callable[[np.random.Generator, tuple[int, ...], float], Loss]


def _labels(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(generator.choice([-1.0, 1.0], size=shape[:-1]))


BUILDERS: dict[str, Builder] = {
    "quadratic": lambda rng, shape, mu: Quadratic(rng.standard_normal(shape), mu),
    "direction-kink": lambda rng, shape, mu: DirectionKink(
        rng.standard_normal(shape), rng.standard_normal(shape[-1]), mu
    ),
    "norm-kink": lambda rng, shape, mu: NormKink(rng.standard_normal(shape[-1]), float(rng.uniform(0.1, 3.0)), mu),
    "huber-kink": lambda rng, shape, mu: NormKink(
        rng.standard_normal(shape[-1]), float(rng.uniform(0.1, 3.0)), mu, float(rng.uniform(0.5, 2.0))
    ),
    "logistic": lambda rng, shape, mu: RidgeLogistic(2.0 * rng.standard_normal(shape), _labels(rng, shape), mu),
    "squared": lambda rng, shape, mu: RidgeSquared(rng.standard_normal(shape), _labels(rng, shape), mu),
}
SMOOTH = ["quadratic", "huber-kink", "logistic", "squared"]
KINKED = ["direction-kink", "norm-kink", "huber-kink"]

seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(1, 6)
curvatures = st.floats(0.01, 10.0)
steps = st.floats(1e-3, 1e3)
every_loss = pytest.mark.parametrize("name", BUILDERS)


def _dot(left: Array, right: Array) -> Array:
    return np.asarray((left * right).sum(axis=-1))


def _bend(loss: Loss, mu: float) -> Array:
    """Smoothness constant of one smooth loss, per run."""
    if isinstance(loss, NormKink):
        return np.asarray(loss.weight / loss.radius + mu)
    if isinstance(loss, RidgeLogistic | RidgeSquared):
        return loss.bend() * _dot(loss.features, loss.features) + mu
    return np.asarray(mu)


@every_loss
@settings(max_examples=150)
@given(seed=seeds, dimension=dimensions, mu=curvatures)
def test_gradient_is_the_derivative_of_the_value(name: str, seed: int, dimension: int, mu: float) -> None:
    rng = np.random.default_rng(seed)
    loss = BUILDERS[name](rng, (3, dimension), mu)
    points, direction = rng.standard_normal((2, 2, 3, dimension))
    width = 1e-6
    difference = (loss.value(points + width * direction) - loss.value(points - width * direction)) / (2 * width)
    slope = _dot(loss.gradient(points), direction)
    if name == "direction-kink":  # a central difference across the kink is no derivative
        assert isinstance(loss, DirectionKink)
        margin = np.abs(_dot(points - loss.anchor, loss.direction))
        keep = margin > 2 * width * np.abs(_dot(direction, loss.direction))
        difference, slope = difference[keep], slope[keep]
    if name == "norm-kink" and dimension == 1:
        assert isinstance(loss, NormKink)
        keep = np.abs(points - loss.anchor)[..., 0] > 2 * width * np.abs(direction[..., 0])
        difference, slope = difference[keep], slope[keep]
    np.testing.assert_allclose(difference, slope, rtol=1e-5, atol=1e-5 * (1 + mu))


@every_loss
def test_the_three_evaluations_agree_and_leave_the_points_alone(name: str) -> None:
    rng = np.random.default_rng(5)
    loss = BUILDERS[name](rng, (4, 3), 0.7)
    points = rng.standard_normal((2, 4, 3))
    kept = points.copy()
    value, gradient = loss.value_and_gradient(points)
    np.testing.assert_array_equal(value, loss.value(points))
    np.testing.assert_array_equal(gradient, loss.gradient(points))
    assert value.shape == (2, 4)
    assert gradient.shape == loss.prox(points, 0.3).shape == (2, 4, 3)
    np.testing.assert_array_equal(points, kept)


@every_loss
def test_a_batch_is_its_single_problems(name: str) -> None:
    rng = np.random.default_rng(6)
    points = rng.standard_normal((2, 4, 3))
    batch = BUILDERS[name](np.random.default_rng(7), (4, 3), 0.7)
    value, gradient = batch.value_and_gradient(points)
    prox = batch.prox(points, 0.4)
    for run in range(4):
        parts = batch._asdict()
        single = batch._replace(**{name: part[run] for name, part in parts.items() if np.shape(part)[:1] == (4,)})
        for setting in range(2):
            point = points[setting, run]
            one_value, one_gradient = single.value_and_gradient(point)
            np.testing.assert_allclose(value[setting, run], one_value, rtol=1e-14)
            np.testing.assert_allclose(gradient[setting, run], one_gradient, rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(prox[setting, run], single.prox(point, 0.4), rtol=1e-13, atol=1e-14)


@every_loss
def test_one_point_is_shared_by_all_runs(name: str) -> None:
    rng = np.random.default_rng(8)
    loss = BUILDERS[name](rng, (4, 3), 0.7)
    point = rng.standard_normal(3)
    value, gradient = loss.value_and_gradient(point)
    expected_value, expected_gradient = loss.value_and_gradient(np.tile(point, (4, 1)))
    np.testing.assert_allclose(np.broadcast_to(value, (4,)), expected_value, rtol=1e-14)
    np.testing.assert_allclose(np.broadcast_to(gradient, (4, 3)), expected_gradient, rtol=1e-14)


@every_loss
@settings(max_examples=200)
@given(seed=seeds, dimension=dimensions, mu=curvatures, at_kink=st.booleans())
def test_strong_convexity(name: str, seed: int, dimension: int, mu: float, at_kink: bool) -> None:
    rng = np.random.default_rng(seed)
    loss = BUILDERS[name](rng, (3, dimension), mu)
    left, right = rng.standard_normal((2, 3, dimension))
    if at_kink and isinstance(loss, DirectionKink | NormKink):
        left = np.broadcast_to(loss.anchor, (3, dimension))
    value, gradient = loss.value_and_gradient(left)
    shift = right - left
    lower = value + _dot(gradient, shift) + 0.5 * mu * _dot(shift, shift)
    assert (loss.value(right) >= lower - 1e-11 * (1 + np.abs(lower))).all()


@pytest.mark.parametrize("name", SMOOTH)
@settings(max_examples=200)
@given(seed=seeds, dimension=dimensions, mu=curvatures)
def test_smoothness(name: str, seed: int, dimension: int, mu: float) -> None:
    rng = np.random.default_rng(seed)
    loss = BUILDERS[name](rng, (3, dimension), mu)
    left, right = rng.standard_normal((2, 3, dimension))
    value, gradient = loss.value_and_gradient(left)
    shift = right - left
    upper = value + _dot(gradient, shift) + 0.5 * _bend(loss, mu) * _dot(shift, shift)
    assert (loss.value(right) <= upper + 1e-11 * (1 + np.abs(upper))).all()


@pytest.mark.parametrize("name", KINKED)
def test_subgradient_at_the_kink_is_zero(name: str) -> None:
    loss = BUILDERS[name](np.random.default_rng(3), (4, 5), 0.7)
    assert isinstance(loss, DirectionKink | NormKink)
    value, gradient = loss.value_and_gradient(np.tile(loss.anchor, (2, 4, 1)))
    np.testing.assert_array_equal(value, np.zeros((2, 4)))
    np.testing.assert_array_equal(gradient, np.zeros((2, 4, 5)))


@every_loss
@settings(max_examples=200)
@given(seed=seeds, dimension=dimensions, mu=curvatures, step=steps, near=st.booleans())
def test_prox_residual_is_a_subgradient(
    name: str, seed: int, dimension: int, mu: float, step: float, near: bool
) -> None:
    """p = prox(w) if and only if (w - p) / step is a subgradient of f at p, here with its strong convexity."""
    rng = np.random.default_rng(seed)
    loss = BUILDERS[name](rng, (3, dimension), mu)
    points = rng.standard_normal((3, dimension))
    if near and isinstance(loss, DirectionKink | NormKink):  # lands on the kink
        points = loss.anchor + 1e-3 * step * points / (1 + np.abs(points))
    answer = loss.prox(points, step)
    subgradient = (points - answer) / step
    others = answer + rng.standard_normal((50, 3, dimension)) * 10.0 ** rng.uniform(-3, 1, (50, 3, 1))
    shift = others - answer
    lower = loss.value(answer) + _dot(subgradient, shift) + 0.5 * mu * _dot(shift, shift)
    assert (loss.value(others) >= lower - 1e-9 * (1 + np.abs(lower) / min(step, 1.0))).all()


@pytest.mark.parametrize("name", SMOOTH)
@settings(max_examples=200)
@given(seed=seeds, dimension=dimensions, mu=curvatures, step=steps)
def test_smooth_prox_solves_its_equation(name: str, seed: int, dimension: int, mu: float, step: float) -> None:
    rng = np.random.default_rng(seed)
    loss = BUILDERS[name](rng, (3, dimension), mu)
    points = rng.standard_normal((3, dimension))
    answer = loss.prox(points, step)
    scale = 1.0 + step * (10.0 + float(np.max(_bend(loss, mu))))
    np.testing.assert_allclose(answer + step * loss.gradient(answer), points, rtol=0, atol=1e-14 * scale * 10)


@pytest.mark.parametrize("step", [1e-12, 1e-3, 1.0, 1e4, 1e10])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_logistic_prox_matches_a_bracketing_root_finder(step: float, size: float, label: float) -> None:
    feature = np.array([3.0])
    for point in (-size, size):
        answer = RidgeLogistic(feature, np.array(label), 0.5).prox(np.array([point]), step)[0]
        shrink = 1.0 + 0.5 * step

        def excess(x: float, point: float = point, shrink: float = shrink) -> float:
            return float(shrink * x - point - step * label * 3.0 * expit(-label * 3.0 * x))

        bound = (abs(point) + 3.0 * step) / shrink + 1.0
        expected = brentq(excess, -bound, bound, xtol=1e-300, rtol=1e-15, maxiter=500)
        assert answer == pytest.approx(expected, rel=1e-12, abs=1e-15 * bound)


def test_logistic_neither_overflows_nor_loses_small_losses() -> None:
    loss = RidgeLogistic(np.array([1.0]), np.array(1.0), 1e-300)
    value, gradient = loss.value_and_gradient(np.array([[-1e4], [0.0], [40.0], [1e4]]))
    np.testing.assert_allclose(value, [1e4, np.log(2.0), np.exp(-40.0), 0.0], rtol=1e-15, atol=1e-290)
    np.testing.assert_allclose(gradient[:, 0], [-1.0, -0.5, -np.exp(-40.0), 0.0], rtol=1e-15, atol=1e-290)

"""Losses: finite differences, convexity inequalities, optimality of the prox; laid out for loops, they are the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

from dpregret.core.losses import Losses, Rounds, together
from dpregret.datasets.losses import (
    DirectionKink,
    DirectionSquare,
    HalfSpace,
    NormKink,
    Quadratic,
    RidgeLogistic,
    RidgeSquared,
)
from dpregret.numerics.arrays import Array

Builder = Callable[[np.random.Generator, tuple[int, ...], float], Any]


def _labels(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(generator.choice([-1.0, 1.0], size=shape[:-1]))


BUILDERS: dict[str, Builder] = {
    "quadratic": lambda rng, shape, mu: Quadratic(rng.standard_normal(shape), mu),
    "direction-kink": lambda rng, shape, mu: DirectionKink(
        rng.standard_normal(shape), rng.standard_normal(shape[-1]), mu
    ),
    "direction-square": lambda rng, shape, mu: DirectionSquare(
        rng.standard_normal(shape), rng.standard_normal(shape[-1]), mu
    ),
    "half-space": lambda rng, shape, mu: HalfSpace(rng.standard_normal(shape), rng.standard_normal(shape[-1])),
    "norm-kink": lambda rng, shape, mu: NormKink(rng.standard_normal(shape[-1]), float(rng.uniform(0.1, 3.0)), mu),
    "huber-kink": lambda rng, shape, mu: NormKink(
        rng.standard_normal(shape[-1]), float(rng.uniform(0.1, 3.0)), mu, float(rng.uniform(0.5, 2.0))
    ),
    "logistic": lambda rng, shape, mu: RidgeLogistic(2.0 * rng.standard_normal(shape), _labels(rng, shape), mu),
    "squared": lambda rng, shape, mu: RidgeSquared(rng.standard_normal(shape), _labels(rng, shape), mu),
}
SMOOTH = ["quadratic", "direction-square", "huber-kink", "logistic", "squared"]
KINKED = ["direction-kink", "half-space", "norm-kink"]

seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(1, 6)
curvatures = st.floats(0.01, 10.0)
steps = st.floats(1e-3, 1e3)
every_loss = pytest.mark.parametrize("name", BUILDERS)


def _dot(left: Array, right: Array) -> Array:
    return np.asarray((left * right).sum(axis=-1))


def _bend(loss: Any) -> Array:
    """Smoothness constant of one smooth loss, per run."""
    mu = getattr(loss, "strong_convexity", 0.0)
    if isinstance(loss, NormKink):
        return np.asarray(loss.weight / loss.radius + mu)
    if isinstance(loss, RidgeLogistic | RidgeSquared):
        return loss.bend() * _dot(loss.features, loss.features) + mu
    if isinstance(loss, DirectionSquare):
        return loss.smoothness * _dot(loss.direction, loss.direction)
    return np.asarray(mu)


@every_loss
@settings(max_examples=60)
@given(seed=seeds, dimension=dimensions, mu=curvatures)
def test_gradient_is_the_derivative_of_the_value(name: str, seed: int, dimension: int, mu: float) -> None:
    rng = np.random.default_rng(seed)
    loss = BUILDERS[name](rng, (3, dimension), mu)
    points, direction = rng.standard_normal((2, 2, 3, dimension))
    width = 1e-6
    difference = (loss.value(points + width * direction) - loss.value(points - width * direction)) / (2 * width)
    slope = _dot(loss.gradient(points), direction)
    if name in KINKED:  # a central difference across the kink is no derivative
        offset, moved = points - loss.anchor, direction
        if name != "norm-kink":
            offset, moved = (_dot(each, loss.direction)[..., None] for each in (offset, moved))
        keep = np.linalg.norm(offset, axis=-1) > 2 * width * np.linalg.norm(moved, axis=-1)
        difference, slope = difference[keep], slope[keep]
    np.testing.assert_allclose(difference, slope, rtol=1e-5, atol=1e-5 * (1 + mu))


@every_loss
def test_a_batch_is_its_single_problems(name: str) -> None:
    points = np.random.default_rng(6).standard_normal((2, 4, 3))
    before = points.copy()
    batch = BUILDERS[name](np.random.default_rng(7), (4, 3), 0.7)
    value, gradient = batch.value_and_gradient(points)
    prox = batch.prox(points, 0.4)
    assert (value.shape, gradient.shape, prox.shape) == ((2, 4), points.shape, points.shape)
    np.testing.assert_array_equal(value, batch.value(points))
    np.testing.assert_array_equal(gradient, batch.gradient(points))
    np.testing.assert_array_equal(points, before)
    for run in range(4):
        parts = batch._asdict()
        single = batch._replace(**{name: part[run] for name, part in parts.items() if np.shape(part)[:1] == (4,)})
        for setting in range(2):
            point = points[setting, run]
            one_value, one_gradient = single.value_and_gradient(point)
            np.testing.assert_allclose(value[setting, run], one_value, rtol=1e-14)
            np.testing.assert_allclose(gradient[setting, run], one_gradient, rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(prox[setting, run], single.prox(point, 0.4), rtol=1e-13, atol=1e-14)
    shared, spread = batch.value_and_gradient(points[0, 0]), batch.value_and_gradient(np.tile(points[0, 0], (4, 1)))
    for one, other in zip(shared, spread, strict=True):
        np.testing.assert_allclose(np.broadcast_to(one, other.shape), other, rtol=1e-14)


@every_loss
@settings(max_examples=60)
@given(seed=seeds, dimension=dimensions, mu=curvatures, at_kink=st.booleans())
def test_strong_convexity_and_smoothness(name: str, seed: int, dimension: int, mu: float, at_kink: bool) -> None:
    rng = np.random.default_rng(seed)
    loss = BUILDERS[name](rng, (3, dimension), mu)
    left, right = rng.standard_normal((2, 3, dimension))
    if at_kink and hasattr(loss, "anchor"):
        left = np.broadcast_to(loss.anchor, (3, dimension))
    value, gradient = loss.value_and_gradient(left)
    shift = right - left
    lower = value + _dot(gradient, shift) + 0.5 * getattr(loss, "strong_convexity", 0.0) * _dot(shift, shift)
    assert (loss.value(right) >= lower - 1e-11 * (1 + np.abs(lower))).all()
    if name in SMOOTH:
        upper = value + _dot(gradient, shift) + 0.5 * _bend(loss) * _dot(shift, shift)
        assert (loss.value(right) <= upper + 1e-11 * (1 + np.abs(upper))).all()


@pytest.mark.parametrize("name", [*KINKED, "huber-kink"])
def test_subgradient_at_the_kink_is_zero(name: str) -> None:
    loss = BUILDERS[name](np.random.default_rng(3), (4, 5), 0.7)
    value, gradient = loss.value_and_gradient(np.tile(loss.anchor, (2, 4, 1)))
    np.testing.assert_array_equal(value, np.zeros((2, 4)))
    np.testing.assert_array_equal(gradient, np.zeros((2, 4, 5)))


@pytest.mark.parametrize("name", KINKED)
@settings(max_examples=100)
@given(seed=seeds, dimension=dimensions, mu=curvatures, step=steps, near=st.booleans())
def test_prox_residual_is_a_subgradient(
    name: str, seed: int, dimension: int, mu: float, step: float, near: bool
) -> None:
    """p = prox(w) if and only if (w - p) / step is a subgradient of f at p, here with its strong convexity."""
    rng = np.random.default_rng(seed)
    loss = BUILDERS[name](rng, (3, dimension), mu)
    points = rng.standard_normal((3, dimension))
    if near:  # lands on the kink
        points = loss.anchor + 1e-3 * step * points / (1 + np.abs(points))
    answer = loss.prox(points, step)
    subgradient = (points - answer) / step
    others = answer + rng.standard_normal((50, 3, dimension)) * 10.0 ** rng.uniform(-3, 1, (50, 3, 1))
    shift = others - answer
    bend = 0.5 * getattr(loss, "strong_convexity", 0.0)
    lower = loss.value(answer) + _dot(subgradient, shift) + bend * _dot(shift, shift)
    assert (loss.value(others) >= lower - 1e-9 * (1 + np.abs(lower) / min(step, 1.0))).all()


@pytest.mark.parametrize("name", SMOOTH)
@settings(max_examples=100)
@given(seed=seeds, dimension=dimensions, mu=curvatures, step=steps)
def test_smooth_prox_solves_its_equation(name: str, seed: int, dimension: int, mu: float, step: float) -> None:
    rng = np.random.default_rng(seed)
    loss = BUILDERS[name](rng, (3, dimension), mu)
    points = rng.standard_normal((3, dimension))
    answer = loss.prox(points, step)
    scale = 1.0 + step * (10.0 + float(np.max(_bend(loss))))
    np.testing.assert_allclose(answer + step * loss.gradient(answer), points, rtol=0, atol=1e-14 * scale * 10)


@pytest.mark.parametrize("step", [1e-12, 1e-3, 1.0, 1e4, 1e10])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3, 1e8])
def test_logistic_prox_matches_a_bracketing_root_finder(step: float, size: float) -> None:
    shrink = 1.0 + 0.5 * step
    for label in (-1.0, 1.0):
        for point in (-size, size):
            answer = RidgeLogistic(np.array([3.0]), np.array(label), 0.5).prox(np.array([point]), step)[0]
            bound = (abs(point) + 3.0 * step) / shrink + 1.0
            expected = brentq(
                lambda x, y=label, w=point: float(shrink * x - w - step * y * 3.0 * expit(-y * 3.0 * x)),
                -bound,
                bound,
                xtol=1e-300,
                rtol=1e-15,
                maxiter=500,
            )
            assert answer == pytest.approx(expected, rel=1e-12, abs=1e-15 * bound)


def test_logistic_neither_overflows_nor_loses_small_losses() -> None:
    loss: Any = RidgeLogistic(np.array([1.0]), np.array(1.0), 1e-300)
    value, gradient = loss.value_and_gradient(np.array([[-1e4], [0.0], [40.0], [1e4]]))
    np.testing.assert_allclose(value, [1e4, np.log(2.0), np.exp(-40.0), 0.0], rtol=1e-15, atol=1e-290)
    np.testing.assert_allclose(gradient[:, 0], [-1.0, -0.5, -np.exp(-40.0), 0.0], rtol=1e-15, atol=1e-290)


def test_quadratic_form_is_the_loss() -> None:
    loss: Any = DirectionSquare(np.random.default_rng(3).standard_normal((4, 3)), np.array([0.1, -0.4, 0.3]), 2.0)
    matrix, linear, constant = loss.quadratic_form()
    point = np.array([0.5, 0.2, -0.9])
    by_form = 0.5 * (matrix @ point) @ point - linear @ point + constant
    assert by_form == pytest.approx(loss.value(np.tile(point, (4, 1))))


DRAWS = np.random.default_rng(3)
SERIES = {
    "vectors and an anchor": Losses(DirectionKink, [DRAWS.normal(size=(7, 2, 3))], [np.ones(3), 0.5]),
    "vectors and labels": Losses(RidgeSquared, [DRAWS.normal(size=(7, 3)), DRAWS.normal(size=7)], [0.5]),
}


@pytest.mark.parametrize("losses", SERIES.values(), ids=SERIES)
def test_what_is_laid_out_is_what_single_losses_hold(losses: Losses) -> None:
    part = losses[2:5]
    for laid, own in zip(part.laid(), part.kind.per_run, strict=True):
        for now, one in enumerate(part):
            held = np.asarray(getattr(one, own))
            np.testing.assert_array_equal(laid[now].reshape(held.shape), held)


def test_rounds_end_with_a_block_and_at_the_horizon() -> None:
    losses = SERIES["vectors and an anchor"]
    rounds = Rounds([losses, losses], horizon=12)
    taken = [rounds.take(count) for count in (5, 4, 9, 1)]
    assert [len(each) for each in taken] == [5, 2, 5, 0]
    expected = [*losses, *losses][:12]
    for ours, theirs in zip((each for part in taken for each in part), expected, strict=True):
        np.testing.assert_array_equal(ours.gradient(np.zeros(3)), theirs.gradient(np.zeros(3)))


def test_one_loss_in_all_rounds_is_laid_out_once() -> None:
    one = NormKink(np.ones(3), 1.0, 0.5)
    found = together([one] * 4)
    assert found is not None
    assert (len(found), [each.shape for each in found.laid()]) == (4, [(1, 1, 3)])
    two = DirectionKink(np.eye(3), np.ones(3), 0.5)
    alike = together([two] * 4)
    assert alike is not None
    assert [each.shape for each in alike.laid()] == [(1, 3, 3)]
    assert together([one, two]) is None
    assert together([two, two._replace(anchor=np.zeros(3))]) is None
    found = together([two, two._replace(direction=2 * np.eye(3))])
    assert found is not None
    assert [each.direction[0, 0] for each in found] == [1.0, 2.0]
    assert together([two, type("Plain", (), {"value": two.value})()]) is None


def test_points_and_losses_broadcast() -> None:
    """A point for all losses, losses of many rounds, and as many columns as fill no tile."""
    direction, anchor = DRAWS.normal(size=(5, 30, 4)), DRAWS.normal(size=4)
    loss, point = DirectionKink(direction, anchor, 0.5), DRAWS.normal(size=4)
    expected = np.abs(direction @ (point - anchor)) + 0.25 * np.sum((point - anchor) ** 2)
    value, gradient = loss.value_and_gradient(point)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    assert gradient.shape == (5, 30, 4)

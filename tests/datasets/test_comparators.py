"""Comparators against conic solvers, grids and the definition of the cumulative loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpregret.algorithms.geometry import Ball, make_set
from dpregret.core.losses import Loss
from dpregret.datasets.examples import Examples
from dpregret.datasets.losses import Quadratic, RidgeLogistic, RidgeSquared
from dpregret.datasets.pool_streams import PoolStream
from dpregret.datasets.streams import Stream, make_stream

SETS = ["ball", "l1-ball", "simplex", "box"]
CLOSED = ["smooth-quadratic", "drift", "random-kink", "norm-kink", "half-space"]
CLOSED += ["realizable-quadratic", "realizable-direction"]
CHECKPOINTS = [1, 3, 10, 17]


def _stream(name: str, set_name: str, dimension: int, mu: float) -> Stream:
    options = {"ridge-logistic": {"pool_size": 12}, "lasso": {"pool_size": 12}, "drift": {"period": 16}}
    return make_stream(name, make_set(set_name, dimension), strong_convexity=mu, **options.get(name, {}))


def _generators(runs: int) -> list[np.random.Generator]:
    return [np.random.default_rng(np.random.SeedSequence([23, run])) for run in range(runs)]


def _membership(set_name: str, point: cp.Variable) -> list[cp.Constraint]:
    """The set written for a conic solver, its size read off the set's own oracle."""
    dimension = point.shape[0]
    domain = make_set(set_name, dimension)
    corner = -domain.linear_oracle(-np.ones(dimension))
    constraints: dict[str, Callable[[], list[cp.Constraint]]] = {
        "ball": lambda: [cp.norm(point, 2) <= np.linalg.norm(corner)],
        "l1-ball": lambda: [cp.norm(point, 1) <= np.abs(corner).sum()],
        "simplex": lambda: [point >= 0, cp.sum(point) == 1],
        "box": lambda: [
            point >= domain.linear_oracle(np.ones(dimension)),
            point <= domain.linear_oracle(-np.ones(dimension)),
        ],
    }
    return constraints[set_name]()


def _total(losses: list[Loss], run: int, point: cp.Variable) -> cp.Expression:
    terms = []
    for loss in losses:
        if isinstance(loss, Quadratic):
            terms.append(0.5 * loss.strong_convexity * cp.sum_squares(point - loss.center[run]))
            continue
        assert isinstance(loss, (RidgeLogistic, RidgeSquared))
        score = loss.features[run] @ point
        if isinstance(loss, RidgeLogistic):
            scalar = cp.logistic(-loss.labels[run] * score)
        else:
            scalar = 0.5 * cp.square(score - loss.labels[run])
        terms.append(scalar + 0.5 * loss.strong_convexity * cp.sum_squares(point))
    return cp.sum(terms)


@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize(
    ("name", "mu"), [("smooth-quadratic", 1.0), ("drift", 0.5), ("ridge-logistic", 0.05), ("lasso", 0.02)]
)
def test_comparator_equals_a_conic_solver(name: str, mu: float, set_name: str) -> None:
    stream = _stream(name, set_name, 3, mu)
    found = stream.comparator(_generators(2), CHECKPOINTS)
    losses = list(stream.rounds(_generators(2), CHECKPOINTS[-1]))
    assert found.losses.shape == found.gaps.shape == found.stay.shape == (4, 2)
    assert (found.gaps >= 0).all()
    assert (found.gaps <= 1e-8).all()
    stay = np.cumsum([loss.value(np.tile(stream.domain.center(), (2, 1))) for loss in losses], axis=0)
    np.testing.assert_allclose(found.stay, stay[np.array(CHECKPOINTS) - 1], rtol=1e-12)
    for row, checkpoint in enumerate(CHECKPOINTS):
        for run in range(2):
            point = cp.Variable(3)
            problem = cp.Problem(cp.Minimize(_total(losses[:checkpoint], run, point)), _membership(set_name, point))
            problem.solve(solver="CLARABEL")
            assert found.losses[row, run] == pytest.approx(problem.value, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("set_name", ["ball", "l1-ball", "simplex", "flow"])
@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_are_below_every_point_and_stay_is_the_center(name: str, set_name: str) -> None:
    dimension, slack = (12, 1e-7) if set_name == "flow" else (4, 1e-9)
    stream = _stream(name, set_name, dimension, 0.3)
    domain = stream.domain
    found = stream.comparator(_generators(3), CHECKPOINTS)
    vertices = domain.linear_oracle(np.random.default_rng(0).standard_normal((60, 1, dimension)))
    weights = np.random.default_rng(1).random((60, 1, 1))
    points = np.concatenate(
        [(1 - weights) * start + weights * vertices for start in (domain.center(), domain.target())]
    )
    losses = list(stream.rounds(_generators(3), CHECKPOINTS[-1]))
    totals = np.cumsum([loss.value(points) for loss in losses], axis=0)
    stay = np.cumsum([np.broadcast_to(loss.value(domain.center()), 3) for loss in losses], axis=0)
    for row, checkpoint in enumerate(CHECKPOINTS):
        assert (totals[checkpoint - 1] >= found.losses[row] - slack).all()
    np.testing.assert_allclose(found.stay, stay[np.array(CHECKPOINTS) - 1], rtol=1e-12)
    assert (found.stay >= found.losses).all()
    assert (found.gaps == 0).all()


@pytest.mark.parametrize("name", [*CLOSED, "ridge-logistic", "lasso"])
def test_comparator_does_not_depend_on_other_checkpoints_or_runs(name: str) -> None:
    stream = _stream(name, "l1-ball", 5, 0.05)
    checkpoints = [2, 12, 31, 300, 1100]  # the pool has 12 examples, the block 256 rounds
    together = stream.comparator(_generators(3), checkpoints)
    center = stream.domain.center()
    stay = sum(np.broadcast_to(loss.value(center), 3) for loss in stream.rounds(_generators(3), 300))
    np.testing.assert_allclose(together.stay[3], stay, rtol=1e-12)
    for row, checkpoint in enumerate(checkpoints):
        alone = stream.comparator(_generators(3)[2:], [checkpoint])
        np.testing.assert_allclose(alone.losses[0, 0], together.losses[row, 2], rtol=2e-8)
        np.testing.assert_allclose(alone.stay[0, 0], together.stay[row, 2], rtol=1e-12)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    family=st.sampled_from([RidgeLogistic, RidgeSquared]),
    set_name=st.sampled_from(SETS),
    steps=st.integers(0, 12),
    mu=st.sampled_from([0.003, 0.1, 2.0]),
)
def test_the_gap_certifies_the_value(seed: int, family: Any, set_name: str, steps: int, mu: float) -> None:
    """Stopped early, the reported gap still bounds the distance to the optimum."""
    rng = np.random.default_rng(seed)
    domain = make_set(set_name, 4)
    features = rng.standard_normal((20, 4))
    features /= np.linalg.norm(features, axis=1).max()
    labels = rng.choice([-1.0, 1.0], size=20)
    weights = rng.dirichlet(np.full(20, 0.2), size=3)

    stream, start = PoolStream(domain, mu, Examples(features, labels), family), np.tile(domain.center(), (3, 1))
    points, best, _ = stream.minimum(weights, start)
    _, early, gaps = stream.minimum(weights, start, max_steps=steps, allowed=np.inf)
    slack = 1e-9 * early
    assert (early >= best - slack).all()
    assert (early - best <= gaps * early + slack).all()
    assert domain.violation(points).max() <= 1e-12


def test_an_uncertified_comparator_raises_with_its_numbers() -> None:
    stream = PoolStream(_Stuck(2), 1e-6, Examples(np.eye(2), np.ones(2)), RidgeSquared)
    with pytest.raises(FloatingPointError, match=r"gap 1\.0e\+00 is above 1e-08 after 2 steps"):
        stream.minimum(np.array([[1.0, 0.0]]), np.zeros((1, 2)), max_steps=2)


class _Stuck(Ball):
    """A ball whose projection is broken: it always answers the center."""

    def project(self, points: np.ndarray) -> np.ndarray:
        return np.zeros_like(points)

"""The certified minimum of a smooth risk on a set."""

import math
from functools import partial

import cvxpy
import numpy as np
import pytest
from tiny_risks import Linear, Quadratic, generators, logistic_data, make

from dpregret.algorithms.erm import projected_gradient
from dpregret.algorithms.erm.projected_gradient import ProjectedGradient
from dpregret.algorithms.geometry import ConstraintSet, make_set
from dpregret.algorithms.privacy import Budget
from dpregret.core.sets import minimise
from dpregret.numerics.arrays import Array

BUDGET = Budget(1.0, 1e-6)
FREE = Budget(math.inf)
SETS = [make_set("ball", 4), make_set("l1-ball", 4, radius=2.0), make_set("simplex", 4), make_set("box", 4)]
on_sets = pytest.mark.parametrize("domain", SETS, ids=lambda domain: domain.name)


@on_sets
def test_minimum_agrees_with_a_conic_solver(domain: ConstraintSet) -> None:
    risk = logistic_data(2, 30, 4)
    point = make(ProjectedGradient, domain, risk, [FREE], "plain", runs=2).fit(generators(2))[0]
    assert domain.violation(point).max() <= 1e-10
    for run in range(2):
        variable = cvxpy.Variable(4)
        value = cvxpy.sum(cvxpy.logistic(-risk.features[run] @ variable)) / 30
        solved = cvxpy.Problem(cvxpy.Minimize(value), domain.cvxpy_constraints(variable)).solve()
        assert risk.value(point)[run] == pytest.approx(solved, abs=2e-8)


@on_sets
def test_minimum_of_a_quadratic_is_a_projection(domain: ConstraintSet) -> None:
    risk = Quadratic(np.random.default_rng(1).normal(size=(3, 5, 4)), 5.0)
    learner = make(ProjectedGradient, domain, risk, [FREE, BUDGET], "plain", runs=3)
    points = learner.fit(generators(3))
    assert np.allclose(points, domain.project(risk.mean), atol=2e-8)
    assert np.array_equal(points[0], points[1])
    assert learner.delivered_epsilon() == [math.inf, math.inf]
    assert learner.iterations()[0] > 0


def test_minimum_of_a_linear_risk_is_a_vertex() -> None:
    domain, slope = make_set("l1-ball", 3), np.array([0.2, -0.5, 0.1])
    point = make(ProjectedGradient, domain, Linear(slope, 10), [FREE], "plain").fit(generators(1))
    assert np.allclose(point, [[[0, 1, 0]]], atol=1e-7)


def test_badly_conditioned_minima_are_certified_too() -> None:
    domain = make_set("ball", 6, radius=3.0)
    curvatures = np.logspace(-5, 0, 6)

    def gradient(points: Array) -> Array:
        return curvatures * (points - 1.0)

    points, gaps, _ = minimise(domain, gradient, np.zeros((1, 6)), 1.0, goal=1e-10, allowed=1e-10)
    assert gaps.max() <= 1e-10
    slope = gradient(points)
    assert np.vecdot(slope, points - domain.linear_oracle(slope)) == pytest.approx(gaps)
    assert np.allclose(points, domain.project(points), atol=1e-12)


def test_a_minimum_that_cannot_be_certified_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projected_gradient, "minimise", partial(minimise, max_steps=8))
    risk = logistic_data(1, 30, 4)
    with pytest.raises(FloatingPointError, match="no certified minimum"):
        make(ProjectedGradient, make_set("ball", 4, radius=50.0), risk, [FREE], "plain").fit(generators(1))

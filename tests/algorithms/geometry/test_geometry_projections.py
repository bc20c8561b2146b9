import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from dpregret.algorithms.geometry import Ball, make_set
from dpregret.algorithms.geometry.reference import ReferenceProjection

SETTINGS = settings(database=None, deadline=None, max_examples=80)


def points_of(dimension, bound=1e3):
    """Rows with ties, zeros and mixed magnitudes, which is where sorting rules go wrong."""
    ordinary = st.floats(-bound, bound, allow_subnormal=False)
    element = st.one_of(ordinary, st.floats(-2.0, 2.0, allow_subnormal=False), st.sampled_from([0.0, 0.5, 1.0, -1.0]))
    return arrays(np.float64, (3, dimension), elements=element)


def optimality_gap(case, points, projected):
    """max_{v in C} <y - p, v - p> (...,): at most 0 exactly where p in C is the projection of y."""
    residual = points - projected
    return case.support(residual) - np.vecdot(residual, projected)


@SETTINGS
@given(data=st.data())
def test_projection_meets_the_variational_inequality(closed_form_case, data):
    constraint_set = closed_form_case.constraint_set
    points = data.draw(points_of(constraint_set.dimension))
    projected = constraint_set.project(points)
    assert constraint_set.violation(projected).max() <= 1e-13 * (1 + constraint_set.diameter)
    assert optimality_gap(closed_form_case, points, projected).max() <= 1e-9


def test_the_variational_inequality_sees_a_wrong_projection(closed_form_case, generator):
    constraint_set = closed_form_case.constraint_set
    points = 5.0 * generator.normal(size=(20, constraint_set.dimension))
    wrong = 0.999 * constraint_set.project(points) + 0.001 * constraint_set.center()
    assert optimality_gap(closed_form_case, points, wrong).min() > 1e-4


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_projection_agrees_with_the_reference_solver(closed_form_case, scale, generator):
    constraint_set = closed_form_case.constraint_set
    points = constraint_set.center() + scale * generator.normal(size=(2, 4, constraint_set.dimension))
    reference = ReferenceProjection(constraint_set).project(points)
    np.testing.assert_allclose(constraint_set.project(points), reference, rtol=0, atol=1e-6)


def test_reference_takes_another_solver(generator):
    simplex = make_set("simplex", 5)
    points = generator.normal(size=(4, 5))
    reference = ReferenceProjection(simplex, solver="SCS", eps_abs=1e-9, eps_rel=1e-9).project(points)
    np.testing.assert_allclose(simplex.project(points), reference, rtol=0, atol=1e-6)


def test_reference_reports_an_infeasible_set():
    class EmptySet(Ball):
        def cvxpy_constraints(self, variable):
            return [variable >= 1, variable <= 0]

    with pytest.raises(RuntimeError, match="status 'infeasible'"):
        ReferenceProjection(EmptySet(2)).project(np.zeros(2))


@pytest.mark.parametrize("scale", [0.3, 3.0, 1e3, 1e6])
def test_flow_projection_meets_the_variational_inequality(scale, generator):
    flow = make_set("flow", 24)
    points = scale * generator.normal(size=(2, 5, 24))
    projected = flow.project(points)
    assert flow.violation(projected).max() <= 1e-7
    residual = points - projected
    gaps = np.vecdot(residual, flow.linear_oracle(-residual) - projected)
    assert gaps.max() <= 1e-8 * (1 + scale)


@pytest.mark.parametrize("name", ["simplex", "l1-ball", "hypersimplex"])
@pytest.mark.parametrize("scale", [0.05, 1.0, 1e3, 1e7])
def test_sorting_rules_are_accurate_to_rounding(name, scale, generator):
    """Against a bracketed root of the scalar equation, in coordinates relative to a near one."""
    constraint_set = make_set(name, 40)
    for point in scale * generator.normal(size=(15, 40)):
        if name == "l1-ball":
            sizes, total, ceiling = np.abs(point), 1.0, np.inf
        else:
            sizes, total, ceiling = point, getattr(constraint_set, "rank", 1), 1.0 if name == "hypersimplex" else np.inf
        anchor = np.sort(sizes)[::-1][int(total) - 1]

        def excess(shift, sizes=sizes, anchor=anchor, ceiling=ceiling, total=total):
            return np.clip((sizes - anchor) - shift, 0.0, ceiling).sum() - total

        root = brentq(excess, -total - 1.0, 1.0, xtol=1e-15, rtol=8.9e-16)
        if name == "l1-ball" and sizes.sum() <= 1.0:
            expected = point
        else:
            expected = np.copysign(1.0, point) ** (name == "l1-ball") * np.clip((sizes - anchor) - root, 0.0, ceiling)
        np.testing.assert_allclose(constraint_set.project(point), expected, rtol=0, atol=1e-12)


def test_points_inside_stay(case, generator):
    constraint_set = case.constraint_set
    points = case.sample(generator, 12)
    # A duality gap of 1e-12 bounds the squared distance by twice as much.
    accuracy = 1.5e-6 if constraint_set.name == "flow" else 1e-14
    np.testing.assert_allclose(constraint_set.project(points), points, rtol=0, atol=accuracy)


@pytest.mark.parametrize("name", ["ball", "box", "l1-ball"])
def test_interior_points_are_returned_bit_by_bit(name, generator):
    constraint_set = make_set(name, 6)
    points = 0.9 * constraint_set.linear_oracle(generator.normal(size=(50, 6))) * generator.uniform(size=(50, 1))
    assert np.array_equal(constraint_set.project(points), points)


@pytest.mark.parametrize("radius", [0.3, 1.0, 1.7, 3e5])
def test_ball_handles_zero_and_the_sphere(radius):
    ball = make_set("ball", 3, radius=radius)
    points = np.array([[0.0, 0.0, 0.0], [radius, 0.0, 0.0], [0.0, -2 * radius, 0.0], [0.0, 0.0, 1e-300]])
    expected = np.array([[0.0, 0.0, 0.0], [radius, 0.0, 0.0], [0.0, -radius, 0.0], [0.0, 0.0, 1e-300]])
    assert np.array_equal(ball.project(points), expected)


def test_projection_is_idempotent(closed_form_case, generator):
    constraint_set = closed_form_case.constraint_set
    once = constraint_set.project(10.0 * generator.normal(size=(50, constraint_set.dimension)))
    np.testing.assert_allclose(constraint_set.project(once), once, rtol=0, atol=1e-14)


def test_projection_is_nonexpansive(closed_form_case, generator):
    constraint_set = closed_form_case.constraint_set
    first, second = 2.0 * generator.normal(size=(2, 200, constraint_set.dimension))
    after = np.linalg.norm(constraint_set.project(first) - constraint_set.project(second), axis=-1)
    assert np.all(after <= np.linalg.norm(first - second, axis=-1) + 1e-12)


def test_batch_equals_row_by_row(case, generator):
    constraint_set = case.constraint_set
    points = 2.0 * generator.normal(size=(2, 3, constraint_set.dimension))
    accuracy = 1e-9 if constraint_set.name == "flow" else 1e-15
    rows = np.array([[constraint_set.project(row) for row in block] for block in points])
    np.testing.assert_allclose(constraint_set.project(points), rows, rtol=0, atol=accuracy)
    assert constraint_set.violation(points).shape == (2, 3)


def test_violation_is_zero_inside_and_positive_outside(case, generator):
    constraint_set = case.constraint_set
    assert constraint_set.violation(case.sample(generator, 100)).max() <= 1e-14
    outside = constraint_set.center() + 3.0 * constraint_set.diameter * np.eye(constraint_set.dimension)
    assert constraint_set.violation(outside).min() > 0.1

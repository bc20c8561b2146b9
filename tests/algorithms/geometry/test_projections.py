import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from dpregret.algorithms.geometry import Ball, make_set, reference
from dpregret.algorithms.geometry.reference import ReferenceProjection
from dpregret.numerics.orthogonal import symmetric

SETTINGS = settings(database=None, max_examples=40)
EXACT = ("polytope", "sign-polytope")  # by active sets, to rounding


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
def test_projection_meets_the_variational_inequality(exact_case, data):
    constraint_set = exact_case.constraint_set
    points = data.draw(points_of(constraint_set.dimension))
    projected = constraint_set.project(points)
    assert constraint_set.violation(projected).max() <= 1e-13 * (1 + constraint_set.diameter)
    assert optimality_gap(exact_case, points, projected).max() <= 1e-9


def test_the_variational_inequality_sees_a_wrong_projection(exact_case, generator):
    constraint_set = exact_case.constraint_set
    points = 5.0 * generator.normal(size=(20, constraint_set.dimension))
    wrong = 0.999 * constraint_set.project(points) + 0.001 * constraint_set.center()
    assert optimality_gap(exact_case, points, wrong).min() > 1e-4


def test_reference_reports_an_infeasible_set():
    class EmptySet(Ball):
        def cvxpy_constraints(self, variable):
            return [variable >= 1, variable <= 0]

    with pytest.raises(RuntimeError, match="status 'infeasible'"):
        ReferenceProjection(EmptySet(2)).project(np.zeros(2))


@pytest.mark.parametrize(("name", "dimension"), [("flow", 24), ("spanning-trees", 10), ("coverage", 6)])
@pytest.mark.parametrize("scale", [0.3, 1e3, 1e6])
def test_projection_by_a_solver_meets_the_variational_inequality(name, dimension, scale, generator):
    domain = make_set(name, dimension)
    points = domain.center() + scale * generator.normal(size=(2, 3, dimension))
    projected = domain.project(points)
    assert domain.violation(projected).max() <= 1e-7
    residual = points - projected
    gaps = np.vecdot(residual, domain.linear_oracle(-residual) - projected)
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


def test_points_inside_violate_nothing_and_stay(any_case, generator):
    domain = any_case.constraint_set
    points = any_case.sample(generator, 100)
    assert domain.violation(points).max() <= 1e-14
    outside = domain.center() + 3.0 * domain.diameter * np.eye(domain.dimension)
    assert domain.violation(outside).min() > 0.1
    # A duality gap of 1e-12 bounds the squared distance by twice as much.
    accuracy = 1e-14 if domain.closed_form_projection or domain.name in EXACT else 1.5e-6
    np.testing.assert_allclose(domain.project(points[:12]), points[:12], rtol=0, atol=accuracy)


@pytest.mark.parametrize("name", ["ball", "box", "l1-ball"])
def test_interior_points_are_returned_bit_by_bit(name, generator):
    constraint_set = make_set(name, 6)
    points = 0.9 * constraint_set.linear_oracle(generator.normal(size=(50, 6))) * generator.uniform(size=(50, 1))
    assert np.array_equal(constraint_set.project(points), points)


def test_a_batch_is_served_row_by_row(any_case, generator):
    domain = any_case.constraint_set
    points = 2.0 * generator.normal(size=(2, 3, domain.dimension))
    accuracy = 1e-15 if domain.closed_form_projection or domain.name in EXACT else 1e-9
    for oracle, error in ((domain.linear_oracle, 1e-15), (domain.project, accuracy)):
        rows = [[oracle(row) for row in block] for block in points]
        np.testing.assert_allclose(oracle(points), rows, rtol=0, atol=error)
    assert domain.violation(points).shape == (2, 3)


@pytest.mark.parametrize("mixing", [0.0, 1.0])
def test_the_ends_of_the_interpolation_are_the_l1_and_the_l2_ball(mixing, generator):
    mixture = make_set("interpolation", 6, mixing=mixing, radius=1.2)
    end = make_set("ball" if mixing else "l1-ball", 6, radius=1.2)
    points = 2.0 * generator.normal(size=(40, 6))
    np.testing.assert_array_equal(mixture.project(points), end.project(points))
    np.testing.assert_array_equal(mixture.linear_oracle(points), end.linear_oracle(points))
    supports = np.vecdot(points, end.linear_oracle(-points))
    np.testing.assert_allclose(1.2 * mixture.dual_norm(points), supports, rtol=1e-14)
    assert mixture.reach(points[0]) == pytest.approx(end.reach(points[0]), rel=1e-14)


@pytest.mark.parametrize("far", [3.0, 281.0, 2000.0])
def test_far_points_above_vertices_that_tie_are_projected_right(far):
    """At one of these nonnegative least squares stops early, and says nothing."""
    polytope = make_set("sign-polytope", 5, corners=14)
    points = far * np.eye(5)
    nearest = polytope.project(points)
    gap = ((points - nearest) @ polytope.vertices.T).max(axis=-1) - np.vecdot(points - nearest, nearest)
    assert gap.max() <= 1e-14 * far**2


@pytest.mark.parametrize(("name", "dimension"), [("flow", 12), ("spanning-trees", 6), ("coverage", 6)])
def test_the_solver_without_cvxpy_finds_the_same_bits(name, dimension, monkeypatch):
    domain = make_set(name, dimension)
    points = np.random.default_rng(4).normal(size=(12, domain.dimension)) * np.array([[0.1], [1.0], [5.0]] * 4)
    direct = ReferenceProjection(domain)
    found = direct.project(points)
    assert direct._direct is not None
    monkeypatch.setattr(reference._Direct, "made", lambda *parts: None)
    assert np.array_equal(found, ReferenceProjection(domain).project(points))


@pytest.mark.parametrize("side", [1, 3, 8])
def test_a_matrix_is_projected_as_it_is_alone_and_as_by_lapack(side: int) -> None:
    """Eleven matrices of very different size, one of them zero and one of rank one."""
    points = np.random.default_rng(side).standard_normal((11, side, side))
    points *= 10.0 ** np.array([0, 1, 2, -200, 150, 0, -1, 0, 1, 0, 0])[:, None, None]
    points[5], points[7] = 0.0, np.outer(points[7, 0], points[8, 0])
    flat = points.reshape(11, -1)
    ball = make_set("nuclear", side**2, radius=0.5)
    moved = ball.project(flat)
    left, values, right = np.linalg.svd(points)
    for each in range(11):
        np.testing.assert_array_equal(moved[each : each + 1], ball.project(flat[each : each + 1]))
        heights = np.maximum.accumulate((np.cumsum(values[each]) - 0.5) / np.arange(1, side + 1))
        kept = np.maximum(values[each] - heights[-1], 0.0) if values[each].sum() > 0.5 else values[each]
        nearest = (left[each] * kept) @ right[each]
        np.testing.assert_allclose(moved[each], nearest.ravel(), rtol=0, atol=1e-13 + 4e-16 * values[each, 0])


@pytest.mark.parametrize("spread", [1e-6, 1e-9, 1e-12])
def test_values_that_nearly_agree_are_told_apart(spread: float) -> None:
    """Close to a multiple of the identity angles are large while cosines are small."""
    points = np.eye(8) + spread * np.random.default_rng(8).standard_normal((4, 8, 8))
    left, values, right = np.linalg.svd(points)
    nearest = (left * (values - (values.sum(axis=-1, keepdims=True) - 1.0) / 8)[:, None]) @ right
    np.testing.assert_allclose(
        make_set("nuclear", 64).project(points.reshape(4, 64)), nearest.reshape(4, 64), rtol=0, atol=1e-13
    )
    mirrored = points + points.swapaxes(-1, -2)
    np.testing.assert_allclose(symmetric(mirrored)[0], np.linalg.eigvalsh(mirrored), rtol=1e-13)

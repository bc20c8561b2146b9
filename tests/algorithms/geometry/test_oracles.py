"""Projections, hulls, gauges, separation and local linear oracles by brute force; no constant can be halved."""

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from dpregret.algorithms.geometry import Ball, ConstraintSet, make_set, reference
from dpregret.algorithms.geometry.reference import ReferenceProjection
from dpregret.algorithms.online.gauge_descent import corrected
from dpregret.numerics.arrays import Array
from dpregret.numerics.orthogonal import symmetric

SETS = {
    "ball": 5, "l1-ball": 7, "box": 3, "grouped-l1": 9, "interpolation": 7, "nuclear": 9, "spectrahedron": 9,
    "simplex": 5, "hypersimplex": 7, "flow": 12, "partition-matroid": 8, "permutahedron": 5, "spanning-trees": 6,
    "coverage": 5, "polytope": 3,
}  # fmt: skip
ROUNDING = 1e-9


@pytest.fixture(params=list(SETS), scope="module")
def domain(request: pytest.FixtureRequest) -> ConstraintSet:
    return make_set(request.param, SETS[request.param])


def directions(domain: ConstraintSet, count: int, seed: int) -> Array:
    """Within the hull, of lengths from far inside to far outside."""
    generator = np.random.default_rng(seed)
    sizes = domain.diameter * 10.0 ** generator.uniform(-2, 1, size=(count, 1))
    drawn = domain.along_hull(generator.standard_normal((count, domain.dimension)))
    return sizes * drawn / np.linalg.norm(drawn, axis=1)[:, None]


def inside(domain: ConstraintSet, count: int, seed: int) -> Array:
    """Mixtures of three vertices, seen from the center."""
    generator = np.random.default_rng(seed)
    vertices = domain.linear_oracle(generator.standard_normal((count, 3, domain.dimension)))
    weights = generator.dirichlet(np.ones(3), size=count)
    return (weights[..., None] * vertices).sum(axis=1) - domain.center()


def test_hull_holds_all_differences_of_vertices_and_no_more(domain: ConstraintSet) -> None:
    basis = domain.hull_basis()
    assert basis.T @ basis == pytest.approx(np.eye(basis.shape[1]))
    vertices = domain.linear_oracle(np.random.default_rng(0).standard_normal((400, domain.dimension)))
    offsets = vertices - domain.center()
    assert offsets @ basis @ basis.T == pytest.approx(offsets)
    assert np.linalg.matrix_rank(offsets) == basis.shape[1]
    vectors = np.random.default_rng(1).standard_normal((20, domain.dimension))
    assert domain.along_hull(vectors) == pytest.approx(vectors @ basis @ basis.T)


def test_the_inner_ball_is_inside_and_touches(domain: ConstraintSet) -> None:
    radius, basis = domain.inner_radius(), domain.hull_basis()
    sphere = np.random.default_rng(1).standard_normal((4000, basis.shape[1]))
    sphere = sphere / np.linalg.norm(sphere, axis=1)[:, None] @ basis.T
    assert domain.violation(domain.center() + radius * sphere).max() < 1e-9
    assert domain.violation(domain.center() + 2 * radius * sphere).max() > 1e-3


def test_a_gauge_says_where_the_border_is(domain: ConstraintSet) -> None:
    offsets = directions(domain, 60, 2)
    normals = domain.gauge()(offsets)
    size = np.vecdot(normals, offsets)
    border = offsets / size[:, None]
    assert domain.violation(domain.center() + border).max() < ROUNDING
    assert (domain.violation(domain.center() + 1.01 * border) > ROUNDING).all()
    assert domain.along_hull(normals) == pytest.approx(normals)
    assert np.linalg.norm(normals, axis=1).max() <= 1 / domain.inner_radius() + ROUNDING
    assert np.vecdot(normals, inside(domain, 60, 3)).max() <= 1 + ROUNDING
    others = directions(domain, 60, 4)  # a subgradient: no gauge is below its plane
    gauges = np.vecdot(domain.gauge()(others), others)
    assert (gauges + ROUNDING >= np.vecdot(normals, others)).all()


def test_separation_cuts_off_what_lies_outside_and_nothing_else(domain: ConstraintSet) -> None:
    offsets, points = directions(domain, 60, 5), inside(domain, 60, 6)
    normals = domain.separation()(offsets)
    outside = domain.violation(domain.center() + offsets) > ROUNDING
    assert np.array_equal((normals != 0).any(axis=1), outside)
    assert 0 < outside.sum() < len(outside)
    assert (np.vecdot(normals, offsets) > np.vecdot(normals, points))[outside].all()
    assert not domain.separation()(0.999 * points).any()


def reduction_faults(domain: ConstraintSet, count: int, seed: int) -> int:
    """How many random triples break <g, x - z> <= <g', w - z> or |g'| <= (1 + R/r) |g|."""
    gradients = domain.along_hull(np.random.default_rng(seed).standard_normal((count, domain.dimension)))
    outer, points = directions(domain, count, seed + 1), inside(domain, count, seed + 2)
    normals = domain.gauge()(outer)
    played = outer / np.maximum(1.0, np.vecdot(normals, outer))[:, None]
    moved = corrected(gradients, outer, normals)
    lost = np.vecdot(gradients, played - points) - np.vecdot(moved, outer - points)
    steep = 1 + domain.max_distance_from(domain.center()) / domain.inner_radius()
    longer = np.linalg.norm(moved, axis=1) - steep * np.linalg.norm(gradients, axis=1)
    assert (moved != gradients).any(axis=1).mean() > 0.1, "the correction is exercised"
    return int((lost > ROUNDING * domain.diameter).sum() + (longer > ROUNDING * steep).sum())


def test_the_reduction_loses_nothing(domain: ConstraintSet) -> None:
    assert reduction_faults(domain, 20_000 if domain.name == "l1-ball" else 2000, 7) == 0


def test_degenerate_directions() -> None:
    """The origin has gauge 0; a matrix of rank one has a subgradient of rank one."""
    for name, dimension in SETS.items():
        domain = make_set(name, dimension)
        origin = np.zeros((2, dimension))
        assert np.isfinite(domain.gauge()(origin)).all(), name
        assert not domain.separation()(origin).any()
    pair = np.outer([1.0, 0.0, 0.0], [0.0, 2.0, 0.0]).ravel()
    assert make_set("nuclear", 9).gauge()(pair) == pytest.approx(pair / 2)


def test_dependent_rows_are_refused() -> None:
    """A basis of what they leave would have more columns than anybody expects."""

    class Doubled(Ball):
        def equalities(self) -> Array:
            return np.array([[1.0, 2.0, 3.0], [-2.0, -4.0, -6.0]])

    with pytest.raises(ValueError, match="depend on each other"):
        Doubled(3).hull_basis()


class LocalProblem:
    """min <c, y> over y in C, |y - x|_2 <= r, by cvxpy, compiled once."""

    def __init__(self, constraint_set):
        variable = cvxpy.Variable(constraint_set.dimension)
        self.cost, self.point = (cvxpy.Parameter(constraint_set.dimension) for _ in range(2))
        self.radius = cvxpy.Parameter(nonneg=True)
        near = cvxpy.norm(variable - self.point, 2) <= self.radius
        constraints = [*constraint_set.cvxpy_constraints(variable), near]
        self.problem = cvxpy.Problem(cvxpy.Minimize(self.cost @ variable), constraints)

    def minimum(self, point, radius, cost):
        self.point.value, self.radius.value, self.cost.value = point, radius, cost
        self.problem.solve(solver="CLARABEL")
        assert self.problem.status == "optimal"
        return self.problem.value


def random_weights(case, oracle, generator, rows):
    """Weights of random points; where a decomposition is kept, random ones, not only those that lift gives."""
    count = oracle.lift(case.constraint_set.center()).shape[-1]
    if count == case.constraint_set.dimension and case.constraint_set.name != "flow":
        return case.sample(generator, rows)
    weights = generator.gamma(generator.choice([0.05, 0.3, 1.0], size=(rows, 1)), size=(rows, count)) + 1e-300
    return weights / weights.sum(axis=-1, keepdims=True)


def random_costs(generator, rows, dimension):
    smooth = generator.normal(size=(rows, dimension))
    with_ties = generator.integers(-1, 2, size=(rows, dimension)).astype(float)
    return np.where(generator.random((rows, 1)) < 0.5, smooth, with_ties)


def test_answer_is_no_worse_than_any_point_within_the_radius(case, generator):
    constraint_set, oracle = case.constraint_set, case.constraint_set.local_oracle()
    local_problem = LocalProblem(constraint_set)
    rows = 40
    weights = random_weights(case, oracle, generator, rows)
    costs = random_costs(generator, rows, constraint_set.dimension)
    radii = constraint_set.diameter * generator.choice([0.02, 0.1, 0.3, 1.1], size=rows)
    points = oracle.point(weights)
    answers = oracle.point(oracle.answer(weights, radii, costs))
    assert constraint_set.violation(answers).max() <= 1e-13
    minima = [local_problem.minimum(*row) for row in zip(points, radii, costs, strict=True)]
    assert np.all(np.vecdot(answers, costs) <= np.array(minima) + 1e-6)


def test_answer_stays_within_ratio_times_radius(case, generator):
    constraint_set, oracle = case.constraint_set, case.constraint_set.local_oracle()
    rows = 4000
    weights = random_weights(case, oracle, generator, rows)
    if case.vertices is not None:
        vertices = case.vertices[generator.integers(len(case.vertices), size=rows // 2)]
        weights[: rows // 2] = oracle.lift(vertices)
    costs = random_costs(generator, rows, constraint_set.dimension)
    radii = constraint_set.diameter * generator.choice([0.001, 0.03, 0.3, 2.0], size=rows)
    answers = oracle.point(oracle.answer(weights, radii, costs))
    ratios = np.linalg.norm(answers - oracle.point(weights), axis=-1) / radii
    assert ratios.max() <= oracle.ratio * (1 + 1e-9)
    assert ratios.max() >= 0.99 * oracle.ratio  # the ratio is attained: no smaller one would do


@pytest.mark.parametrize(("name", "options"), [("simplex", {}), ("hypersimplex", {"rank": 3})])
def test_smaller_mass_is_not_enough_for_even_dimensions(name, options):
    """From the barycentre, r (1, 1, 1, -1, -1, -1) / sqrt(6) needs all of sqrt(6) r / 2."""
    constraint_set = make_set(name, 6, **options)
    cost, radius = np.repeat([-1.0, 1.0], 3), 0.1
    best_within_radius = cost @ constraint_set.center() - np.sqrt(6.0) * radius
    oracle = constraint_set.local_oracle()
    assert cost @ oracle.answer(constraint_set.center(), radius, cost) <= best_within_radius + 1e-14
    assert cost @ oracle.answer(constraint_set.center(), 0.99 * radius, cost) > best_within_radius + 1e-3


def test_lift_then_point_is_the_identity(case, generator):
    oracle = case.constraint_set.local_oracle()
    points = np.vstack([case.sample(generator, 30), case.constraint_set.center(), case.constraint_set.target()])
    weights = oracle.lift(points)
    np.testing.assert_allclose(oracle.point(weights), points, rtol=0, atol=1e-14)
    if weights.shape != points.shape or case.constraint_set.name == "simplex":
        assert weights.min() >= 0.0
        np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-14)


def test_batch_and_broadcast_equal_row_by_row(case, generator):
    """Weights (settings, runs, k), costs (runs, d) and a radius per setting."""
    constraint_set, oracle = case.constraint_set, case.constraint_set.local_oracle()
    weights = random_weights(case, oracle, generator, 6).reshape(2, 3, -1)
    costs = generator.normal(size=(3, constraint_set.dimension))
    radii = constraint_set.diameter * np.array([[0.05], [0.4]])
    answers = oracle.answer(weights, radii, costs)
    for setting, run in np.ndindex(2, 3):
        single = oracle.answer(weights[setting, run], float(radii[setting, 0]), costs[run])
        np.testing.assert_allclose(answers[setting, run], single, rtol=0, atol=1e-14)


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
    assert projected.flags.c_contiguous  # else sums of NumPy depend on how many points there are
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
    assert mixture.max_distance_from(points[0]) == pytest.approx(end.max_distance_from(points[0]), rel=1e-14)


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
    monkeypatch.setattr(reference._Direct, "checked", lambda *parts: None)
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

"""Hulls, inner balls, gauges, separation and local linear oracles by brute force; no constant can be halved."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from dpregret.algorithms.geometry import Ball, ConstraintSet, make_set
from dpregret.algorithms.online.gauge_descent import corrected
from dpregret.numerics.arrays import Array

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


def test_the_inner_ball_is_inside_and_touches(domain: ConstraintSet) -> None:
    radius, basis = domain.inner_radius(), domain.hull_basis()
    sphere = np.random.default_rng(1).standard_normal((4000, basis.shape[1]))
    sphere = sphere / np.linalg.norm(sphere, axis=1)[:, None] @ basis.T
    assert domain.violation(domain.center() + radius * sphere).max() < 1e-9
    assert domain.violation(domain.center() + 2 * radius * sphere).max() > 1e-3


def test_the_part_within_the_hull_is_that_of_its_basis(domain: ConstraintSet) -> None:
    vectors, basis = np.random.default_rng(1).standard_normal((20, domain.dimension)), domain.hull_basis()
    assert domain.along_hull(vectors) == pytest.approx(vectors @ basis @ basis.T)


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
    steep = 1 + domain.reach(domain.center()) / domain.inner_radius()
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

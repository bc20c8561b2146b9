"""The two properties of a local linear oracle, by brute force, and that its constants cannot be halved."""

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.geometry.simplex import exchange_mass, move_mass


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


@settings(database=None, max_examples=100)
@given(
    length=st.floats(0.0, 1.0),
    angle=st.floats(0.0, np.pi),
    radius=st.floats(0.0, 3.0),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_ball_answer_is_a_minimiser_in_the_plane(length, angle, radius, scale):
    """Against a fine listing of the boundary of the intersection of two discs."""
    point, cost = np.array([length, 0.0]), scale * np.array([np.cos(angle), np.sin(angle)])
    turns = np.linspace(0.0, 2.0 * np.pi, 2001)
    circle = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    candidates = np.vstack([circle, point + radius * circle, point])
    inside = np.linalg.norm(candidates, axis=-1) <= 1.0 + 1e-12
    near = np.linalg.norm(candidates - point, axis=-1) <= radius + 1e-12
    answer = make_set("ball", 2).local_oracle().answer(point, radius, cost)
    assert np.linalg.norm(answer) <= 1.0 + 1e-12
    assert np.linalg.norm(answer - point) <= radius + 1e-7
    assert cost @ answer <= (candidates[inside & near] @ cost).min() + 1e-9 * scale


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


@settings(database=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), mass=st.floats(0.0, 1.0), rank=st.integers(1, 4))
def test_mass_moves_are_optimal(seed, mass, rank):
    """Against the linear programme over total variation `mass`."""
    from scipy.optimize import linprog

    generator = np.random.default_rng(seed)
    scores = generator.integers(-3, 4, size=5).astype(float)
    subsets = np.array([generator.permutation(np.repeat([1.0, 0.0], [rank, 5 - rank])) for _ in range(4)])
    weights = generator.dirichlet(np.ones(4)) @ subsets
    moved = exchange_mass(weights, scores, mass, rank)
    # Variables: weight added and weight removed.
    programme = linprog(
        np.concatenate([scores, -scores]),
        A_ub=[np.repeat([1.0, 0.0], 5)],
        b_ub=[mass],
        A_eq=[np.repeat([1.0, -1.0], 5)],
        b_eq=[0.0],
        bounds=[(0.0, 1.0 - weight) for weight in weights] + [(0.0, weight) for weight in weights],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert scores @ (moved - weights) == pytest.approx(programme.fun, abs=1e-9)
    assert moved.min() >= -1e-15
    assert moved.max() <= 1 + 1e-15
    assert moved.sum() == pytest.approx(rank, abs=1e-14)
    if rank == 1:
        np.testing.assert_allclose(move_mass(weights, scores, mass) @ scores, moved @ scores, rtol=0, atol=1e-14)

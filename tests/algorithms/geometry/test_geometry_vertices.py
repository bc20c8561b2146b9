"""Linear oracle, reach, diameter, center and target against the listed vertices or the support function."""

import numpy as np
import pytest

from dpregret.algorithms.geometry import layered_edges, make_set


def test_linear_oracle_finds_the_best_vertex(polytope_case, generator):
    costs = generator.normal(size=(5, 40, polytope_case.constraint_set.dimension))
    answers = polytope_case.constraint_set.linear_oracle(costs)
    np.testing.assert_allclose(np.vecdot(costs, answers), -polytope_case.support(-costs), rtol=0, atol=1e-12)
    distances = np.abs(answers[..., None, :] - polytope_case.vertices).max(axis=-1).min(axis=-1)
    assert distances.max() <= 1e-15


def test_linear_oracle_answers_ties_and_zero_costs_with_a_vertex(polytope_case, generator):
    constraint_set = polytope_case.constraint_set
    costs = generator.integers(-1, 2, size=(200, constraint_set.dimension)).astype(float)
    costs[0] = 0.0
    answers = constraint_set.linear_oracle(costs)
    np.testing.assert_allclose(np.vecdot(costs, answers), -polytope_case.support(-costs), rtol=0, atol=1e-14)
    distances = np.abs(answers[:, None, :] - polytope_case.vertices).max(axis=-1).min(axis=-1)
    assert distances.max() <= 1e-15


def test_linear_oracle_in_a_batch_equals_row_by_row(any_case, generator):
    costs = generator.normal(size=(2, 3, any_case.constraint_set.dimension))
    rows = [[any_case.constraint_set.linear_oracle(row) for row in block] for block in costs]
    np.testing.assert_allclose(any_case.constraint_set.linear_oracle(costs), rows, rtol=0, atol=1e-15)


def test_linear_oracle_of_curved_sets_attains_the_support_function(curved_case, generator):
    constraint_set = curved_case.constraint_set
    costs = generator.normal(size=(5, 30, constraint_set.dimension))
    costs[0] = generator.integers(-1, 2, size=costs[0].shape)
    costs[0, 0] = 0.0
    answers = constraint_set.linear_oracle(costs)
    np.testing.assert_allclose(np.vecdot(costs, answers), -curved_case.support(-costs), rtol=1e-12, atol=1e-14)
    assert constraint_set.violation(answers).max() <= 1e-14
    # Extreme, also for the zero cost: on the boundary, at distance of at least half the reach from the center.
    assert np.linalg.norm(answers - constraint_set.center(), axis=-1).min() >= 0.45 * constraint_set.diameter / 2


def test_reach_of_curved_sets_bounds_all_distances(curved_case, generator):
    constraint_set = curved_case.constraint_set
    points = curved_case.sample(generator, 2000)
    for point in [constraint_set.center(), *points[:5], *generator.normal(size=(5, constraint_set.dimension))]:
        assert np.linalg.norm(points - point, axis=-1).max() <= constraint_set.reach(point) + 1e-12
        # Climbing along the distance to the point, from many starts, comes close.
        climbers = points[:300]
        for _ in range(50):
            climbers = constraint_set.linear_oracle(point - climbers)
        attained = np.linalg.norm(climbers - point, axis=-1).max()
        slack = 0.05 if constraint_set.name == "interpolation" else 1e-6
        assert attained >= (1 - slack) * constraint_set.reach(point)


def test_diameter_of_curved_sets_is_attained(curved_case, generator):
    constraint_set = curved_case.constraint_set
    first = np.zeros(constraint_set.dimension)
    first[0] = 1.0
    costs = np.vstack([first, generator.normal(size=(300, constraint_set.dimension))])
    distances = np.linalg.norm(constraint_set.linear_oracle(costs) - constraint_set.linear_oracle(-costs), axis=-1)
    assert distances.max() == pytest.approx(constraint_set.diameter, rel=1e-12)
    assert constraint_set.vertex_count == float("inf")


def test_vertex_count(polytope_case):
    assert polytope_case.constraint_set.vertex_count == len(np.unique(polytope_case.vertices, axis=0))


def test_diameter_is_the_largest_distance_of_vertices(polytope_case):
    vertices = polytope_case.vertices
    distances = np.linalg.norm(vertices[:, None] - vertices, axis=-1)
    assert polytope_case.constraint_set.diameter == pytest.approx(distances.max(), rel=1e-14)


def test_reach_is_the_distance_to_the_farthest_vertex(polytope_case, generator):
    constraint_set = polytope_case.constraint_set
    inside = polytope_case.sample(generator, 20)
    outside = 2.0 * generator.normal(size=(20, constraint_set.dimension))
    for point in [constraint_set.center(), constraint_set.target(), *inside, *outside]:
        farthest = np.linalg.norm(polytope_case.vertices - point, axis=-1).max()
        assert constraint_set.reach(point) == pytest.approx(farthest, rel=1e-13)


def test_center_is_the_mean_of_the_vertices(polytope_case):
    mean = polytope_case.vertices.mean(axis=0)
    np.testing.assert_allclose(polytope_case.constraint_set.center(), mean, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [
        ("ball", [1, 2, 10, 100]),
        ("l1-ball", [1, 2, 10, 100]),
        ("box", [1, 2, 10, 100]),
        ("simplex", [2, 3, 4, 8, 32]),
        ("hypersimplex", [2, 3, 4, 7, 8, 16, 128]),
        ("flow", [4, 12, 24, 40, 84]),
        ("grouped-l1", [1, 2, 10, 100]),
        ("interpolation", [1, 2, 10, 100]),
        ("nuclear", [1, 4, 9, 100]),
        ("spectrahedron", [4, 9, 16, 100]),
        ("polytope", [1, 2, 10, 100]),
    ],
)
def test_target_is_in_the_set_away_from_the_center_and_no_vertex(name, dimensions):
    for dimension in dimensions:
        constraint_set = make_set(name, dimension)
        target = constraint_set.target()
        assert constraint_set.violation(np.array([target, constraint_set.center()])).max() <= 1e-14
        assert np.linalg.norm(target - constraint_set.center()) >= 0.3 * constraint_set.diameter / 2
        assert np.linalg.norm(target - constraint_set.linear_oracle(-target)) > 0.1 * constraint_set.diameter / 2


@pytest.mark.parametrize("rank", range(1, 9))
def test_target_of_every_rank(rank):
    hypersimplex = make_set("hypersimplex", 9, rank=rank)
    assert hypersimplex.violation(hypersimplex.target()) == 0.0
    assert np.linalg.norm(hypersimplex.target() - hypersimplex.center()) >= 0.3 * hypersimplex.diameter / 2


def test_layered_flow():
    flow = make_set("flow", 3 + 3 * 2 + 2, edges=layered_edges([3, 2]))
    assert flow.vertex_count == 6
    assert flow.diameter == pytest.approx(np.sqrt(6.0), rel=1e-15)
    np.testing.assert_allclose(flow.center(), np.repeat([1 / 3, 1 / 6, 1 / 2], [3, 6, 2]), rtol=1e-15)
    with pytest.raises(ValueError, match="widths of at least 1"):
        layered_edges([2, 0])


def test_diameter_does_not_count_edges_that_all_paths_share():
    bridge_then_parallel_edges = [("source", "middle"), ("middle", "sink"), ("middle", "sink")]
    flow = make_set("flow", 3, edges=bridge_then_parallel_edges)
    assert flow.vertex_count == 2
    assert flow.diameter == pytest.approx(np.sqrt(2.0), rel=1e-15)
    np.testing.assert_array_equal(flow.center(), [1.0, 0.5, 0.5])
    np.testing.assert_array_equal(flow.target(), [1.0, 0.75, 0.25])


def test_large_grid_has_an_exact_center_and_oracle_without_listing_paths(generator):
    flow = make_set("flow", 2 * 20 * 19)
    assert flow.vertex_count == 35_345_263_800
    assert flow.violation(flow.center()) <= 1e-14
    assert flow.violation(flow.target()) <= 1e-14
    answers = flow.linear_oracle(generator.normal(size=(4, 760)))
    assert flow.violation(answers).max() == 0.0
    np.testing.assert_array_equal(answers.sum(axis=-1), 38.0)

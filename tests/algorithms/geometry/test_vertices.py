"""Sets by name: oracles, reach, diameter, center, target and width against listed vertices, SciPy and supports."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import chi, norm

from dpregret.algorithms.geometry import (
    SETS,
    Ball,
    ConstraintSet,
    CountedSet,
    Simplex,
    UnsupportedSet,
    gaussian_width,
    grid_edges,
    make_set,
)
from dpregret.algorithms.geometry.set_kinds import data_of
from dpregret.algorithms.geometry.width import mean_largest_norm, mean_largest_normal
from dpregret.core.oracles import SCRATCH, vertex
from dpregret.numerics.arrays import Array


def least_cost(domain: Any, cost: Array) -> float:
    """Of a tree or a path, by SciPy; of a permutation, which gives the largest number to the smallest cost."""
    if domain.name == "permutahedron":
        return float(np.sort(cost) @ np.arange(len(cost), 0.0, -1.0))
    if domain.name == "flow":
        rows = domain.equalities()
        return float(linprog(cost, A_eq=rows, b_eq=rows @ domain.center()).fun)
    table = np.zeros((domain.nodes, domain.nodes))
    table[tuple(np.transpose(domain.edges))] = cost + 10.0  # zeros are no edges
    return float(minimum_spanning_tree(table).sum() - 10.0 * (domain.nodes - 1))


@pytest.mark.parametrize(
    ("name", "dimension"), [("permutahedron", 65), ("permutahedron", 200), ("spanning-trees", 36), ("flow", 40)]
)
def test_vertices_of_large_sets_cost_least(name: str, dimension: int) -> None:
    """Without and with many ties."""
    domain, generator = make_set(name, dimension), np.random.default_rng(1)
    tied = generator.integers(-1, 2, (20, dimension))
    costs = np.concatenate([generator.standard_normal((20, dimension)), tied, np.zeros((1, dimension))])
    found = domain.linear_oracle(costs)
    assert domain.violation(found).max() == 0.0
    np.testing.assert_allclose(np.vecdot(costs, found), [least_cost(domain, cost) for cost in costs], atol=1e-12)


def test_linear_oracle_finds_the_best_vertex(any_case, generator):
    """Ties, the zero cost, multiples of the identity and matrices of rank one too."""
    domain, dimension = any_case.constraint_set, any_case.constraint_set.dimension
    costs = generator.normal(size=(2, 100, dimension))
    costs[1] = generator.integers(-1, 2, size=costs[1].shape)
    costs[1, 0], costs[1, 1] = 0.0, 1.0
    side = math.isqrt(dimension)
    if side**2 == dimension:
        costs[1, 2], costs[1, 3] = np.eye(side).ravel(), -np.eye(side).ravel()
    answers = domain.linear_oracle(costs)
    np.testing.assert_allclose(np.vecdot(costs, answers), -any_case.support(-costs), rtol=1e-12, atol=1e-14)
    assert domain.violation(answers).max() <= 1e-14
    if any_case.vertices is None:  # extreme, whatever is asked: on the boundary, half the reach away from the center
        assert np.linalg.norm(answers - domain.center(), axis=-1).min() >= 0.45 * domain.diameter / 2
    else:
        distances = np.abs(answers[..., None, :] - any_case.vertices).max(axis=-1).min(axis=-1)
        assert distances.max() <= 1e-15
    if domain.name in ("l1-ball", "simplex", "hypersimplex", "partition-matroid", "permutahedron", "coverage"):
        later = 1e-9 * np.arange(dimension)  # the first of equal costs counts as the smaller
        nudged = costs[1] - np.sign(costs[1]) * later if domain.name == "l1-ball" else costs[1] + later
        np.testing.assert_array_equal(domain.linear_oracle(nudged), answers[1])


DAILY = [("flow", 12), ("permutahedron", 65)]
NIGHTLY = [
    ("ball", 1), ("ball", 5), ("ball", 21), ("nuclear", 1), ("nuclear", 9), ("nuclear", 64), ("spectrahedron", 4),
    ("spectrahedron", 25), ("box", 4), ("l1-ball", 1), ("l1-ball", 7), ("simplex", 2), ("simplex", 9),
    ("hypersimplex", 2), ("hypersimplex", 13), ("partition-matroid", 12), ("permutahedron", 2), ("permutahedron", 33),
    ("permutahedron", 200), ("coverage", 4), ("coverage", 12), ("spanning-trees", 3), ("spanning-trees", 36),
    ("flow", 4), ("flow", 40),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dimension"), [*DAILY, *(pytest.param(*each, marks=pytest.mark.nightly) for each in NIGHTLY)]
)
def test_python_and_any_batch_have_the_bits_of_compiled_columns(name: str, dimension: int, compiled: None) -> None:
    """The same text, one column or nineteen."""
    domain = make_set(name, dimension)
    costs = np.random.default_rng(4).standard_normal((19, dimension))
    found = domain.linear_oracle(costs)
    np.testing.assert_array_equal(domain.linear_oracle(costs[7]), found[7])
    columns, plain = costs.T.copy(), np.empty(costs.shape[::-1])
    vertex(domain.data, columns, plain, np.empty((SCRATCH, len(costs))))
    np.testing.assert_array_equal(plain.T, found)


def test_diameter_and_reach_of_curved_sets_bound_all_distances_and_are_attained(curved_case, generator):
    constraint_set = curved_case.constraint_set
    costs = np.vstack([np.eye(constraint_set.dimension)[0], generator.normal(size=(300, constraint_set.dimension))])
    distances = np.linalg.norm(constraint_set.linear_oracle(costs) - constraint_set.linear_oracle(-costs), axis=-1)
    assert distances.max() == pytest.approx(constraint_set.diameter, rel=1e-12)
    points = curved_case.sample(generator, 2000)
    for point in [constraint_set.center(), *points[:3], *generator.normal(size=(3, constraint_set.dimension))]:
        assert np.linalg.norm(points - point, axis=-1).max() <= constraint_set.max_distance_from(point) + 1e-12
        # Climbing along the distance to the point, from many starts, comes close.
        climbers = points[:300]
        for _ in range(50):
            climbers = constraint_set.linear_oracle(point - climbers)
        attained = np.linalg.norm(climbers - point, axis=-1).max()
        slack = 0.05 if constraint_set.name == "interpolation" else 1e-6
        assert attained >= (1 - slack) * constraint_set.max_distance_from(point)


def test_diameter_reach_and_center_are_those_of_the_vertices(polytope_case, generator):
    """Upper bounds for the coverage polytope, whose center is the mean over all orders, and for reaches of trees."""
    domain, vertices = polytope_case.constraint_set, polytope_case.vertices
    largest = np.linalg.norm(vertices[:, None] - vertices, axis=-1).max()
    assert largest <= domain.diameter * (1 + 1e-14)
    assert largest >= domain.diameter * (1 - 1e-14) or domain.name == "coverage"
    inside, outside = polytope_case.sample(generator, 20), 2.0 * generator.normal(size=(20, domain.dimension))
    for point in [domain.center(), domain.target(), *inside, *outside]:
        farthest = np.linalg.norm(vertices - point, axis=-1).max()
        assert farthest <= domain.max_distance_from(point) * (1 + 1e-13)
        assert farthest >= domain.max_distance_from(point) * (1 - 1e-13) or domain.name in (
            "coverage",
            "spanning-trees",
        )
    if domain.name == "coverage":  # the Shapley value
        costs = np.array(list(itertools.permutations(range(5))), dtype=float)
        np.testing.assert_allclose(domain.center(), domain.linear_oracle(costs).mean(axis=0), rtol=0, atol=1e-14)
    else:
        np.testing.assert_allclose(domain.center(), vertices.mean(axis=0), rtol=0, atol=1e-14)


def test_diameter_does_not_count_edges_that_all_paths_share():
    bridge_then_parallel_edges = [("source", "middle"), ("middle", "sink"), ("middle", "sink")]
    flow = make_set("flow", 3, edges=bridge_then_parallel_edges)
    assert flow.diameter == pytest.approx(np.sqrt(2.0), rel=1e-15)
    np.testing.assert_array_equal(flow.center(), [1.0, 0.5, 0.5])
    np.testing.assert_array_equal(flow.target(), [1.0, 0.75, 0.25])


def test_large_grid_has_an_exact_center_and_oracle_without_listing_paths(generator):
    flow = make_set("flow", 2 * 20 * 19)
    assert flow.graph.path_count == 35_345_263_800
    assert flow.violation(np.array([flow.center(), flow.target()])).max() <= 1e-14
    answers = flow.linear_oracle(generator.normal(size=(4, 760)))
    assert flow.violation(answers).max() == 0.0
    np.testing.assert_array_equal(answers.sum(axis=-1), 38.0)


@pytest.mark.parametrize(("dimension", "corners"), [(3, 8), (5, 2), (7, 30), (33, 500)])
def test_sign_vectors_are_different_of_length_one_and_with_their_opposites(dimension: int, corners: int) -> None:
    vertices = make_set("sign-polytope", dimension, corners=corners).vertices
    assert vertices.shape == (corners, dimension)
    np.testing.assert_allclose(np.abs(vertices), 1 / np.sqrt(dimension), rtol=1e-15)
    assert len(np.unique(vertices, axis=0)) == corners
    assert {row.tobytes() for row in -vertices} == {row.tobytes() for row in vertices}
    if corners > 2:  # those of a smaller one are among them
        few = make_set("sign-polytope", dimension, corners=corners - 2).vertices
        assert {row.tobytes() for row in few} < {row.tobytes() for row in vertices}


def test_default_polytope_is_a_regular_simplex_on_the_unit_sphere():
    for dimension in (1, 2, 5, 40):
        gram = make_set("polytope", dimension).vertices @ make_set("polytope", dimension).vertices.T
        expected = np.full_like(gram, -1.0 / dimension)
        np.fill_diagonal(expected, 1.0)
        np.testing.assert_allclose(gram, expected, rtol=0, atol=1e-14)


def test_small_cases_in_closed_form():
    half_normal = np.sqrt(2 / np.pi)
    assert gaussian_width(make_set("ball", 1, radius=3.0))[0] == pytest.approx(3 * half_normal, rel=1e-12)
    assert gaussian_width(make_set("l1-ball", 1))[0] == pytest.approx(half_normal, rel=1e-12)
    assert gaussian_width(make_set("l1-ball", 2, radius=0.5))[0] == pytest.approx(1 / np.sqrt(np.pi), rel=1e-12)
    assert gaussian_width(make_set("simplex", 2))[0] == pytest.approx(1 / np.sqrt(np.pi), rel=1e-12)
    assert gaussian_width(make_set("simplex", 3))[0] == pytest.approx(1.5 / np.sqrt(np.pi), rel=1e-12)
    assert gaussian_width(make_set("box", 7, lower=2.0, upper=5.0))[0] == pytest.approx(21 / np.sqrt(2 * np.pi))


@pytest.mark.parametrize("dimension", [1, 2, 17, 1000, 10**6])
def test_the_width_of_the_ball_is_a_ratio_of_gamma_functions(dimension):
    assert gaussian_width(make_set("ball", dimension))[0] == pytest.approx(chi.mean(dimension), rel=1e-9)


@pytest.mark.parametrize(
    ("found", "law", "count"),
    [
        *((mean_largest_norm(size, k), chi(size), k) for size, k in ((1, 10), (3, 50), (40, 2), (7, 10**7))),
        *((mean_largest_normal(k), norm, k) for k in (2, 10, 10**4, 10**8)),
    ],
)
def test_means_of_the_largest_agree_with_its_density(found: float, law: Any, count: int) -> None:
    def integrand(size: float) -> float:
        return size * count * law.pdf(size) * law.cdf(size) ** (count - 1)

    expected = quad(integrand, -8, 20, points=[0, 2, 3, 4, 5, 6, 7, 9], epsabs=1e-11, limit=500)[0]
    assert found == pytest.approx(expected, rel=1e-8)


def test_sampled_widths_agree_with_brute_force(any_case, generator):
    """Every set, whatever way its width is computed, against its own support function."""
    value, error = gaussian_width(any_case.constraint_set, np.random.default_rng(1), samples=4000)
    maxima = any_case.support(generator.normal(size=(4000, any_case.constraint_set.dimension)))
    assert abs(value - maxima.mean()) <= 5 * np.hypot(error, maxima.std() / np.sqrt(4000))


SMALLEST = {"ball": 1, "l1-ball": 1, "simplex": 2, "box": 1, "hypersimplex": 2, "flow": 4, "grouped-l1": 1}
SMALLEST |= {"interpolation": 1, "nuclear": 1, "spectrahedron": 4, "polytope": 1, "sign-polytope": 1}
SMALLEST |= {"permutahedron": 2, "partition-matroid": 4, "spanning-trees": 3, "coverage": 4}
LARGER = dict.fromkeys(SMALLEST, 12) | {"nuclear": 16, "spectrahedron": 16, "spanning-trees": 15}


@pytest.mark.parametrize("name", list(SETS))
def test_every_name_is_built_or_says_what_is_the_smallest(name):
    for dimension in (SMALLEST[name], np.int64(LARGER[name])):
        constraint_set = make_set(name, dimension)
        assert constraint_set.name == name
        assert constraint_set.dimension == dimension
        assert type(constraint_set.dimension) is int
        center, target = constraint_set.center(), constraint_set.target()
        assert center.shape == target.shape == (dimension,)
        assert constraint_set.violation(np.array([target, center])).max() <= 1e-14
        least = 0.2 if name == "coverage" else 0.3  # whose diameter is an upper bound
        assert np.linalg.norm(target - center) >= least * constraint_set.diameter / 2
        apart = target - constraint_set.linear_oracle(-target)
        assert np.linalg.norm(apart) > 0.1 * constraint_set.diameter / 2, "the target is no vertex"
    for dimension in (0, -3, 2.5, "8", True):
        with pytest.raises(ValueError, match=f"'{name}'.*{SMALLEST[name]}"):
            make_set(name, dimension)


@pytest.mark.parametrize(
    ("name", "dimension", "options", "named"),
    [
        ("l1ball", 3, {}, "'l1-ball'"),
        ("ball", 3, {"radus": 2.0}, "'radius'"),
        ("flow", 5, {}, "4 and 12"),
        ("flow", 24, {"edges": grid_edges(3)}, "12"),
        ("flow", 4, {"edges": [(0, 1), (1, 2), (2, 1), (2, 3)]}, "cycle"),
        ("flow", 2, {"edges": [(0, 2), (1, 2)]}, r"\[0, 1\]"),
        ("flow", 2, {"edges": [(0, 1), (0, 2)]}, r"\[1, 2\]"),
        ("flow", 2, {"edges": [(0, 1), (1, 2)]}, "single path"),
        ("spanning-trees", 7, {}, "6 and 10"),
        ("nuclear", 5, {}, "4 and 9"),
        ("hypersimplex", 4, {"rank": 4}, "rank"),
        ("ball", 4, {"radius": 0.0}, "radius"),
        ("l1-ball", 4, {"radius": float("nan")}, "radius"),
        ("grouped-l1", 4, {"block_size": 3}, "block_size"),
        ("interpolation", 4, {"mixing": 1.5}, "mixing"),
        ("polytope", 4, {"vertices": [[0.0, 1.0], [1.0, 0.0]]}, "vertices"),
        ("polytope", 4, {"vertices": [1.0, 2.0]}, "shape"),
        ("polytope", 4, {"vertices": np.full((2, 4), np.inf)}, "finite"),
        ("sign-polytope", 4, {"corners": 7}, "even number"),
        ("box", 4, {"lower": 1.0, "upper": 1.0}, "lower < upper"),
        ("partition-matroid", 4, {"block_size": 1}, "block_size"),
        ("coverage", 4, {"width": 4}, "at least 5"),
    ],
)
def test_what_is_impossible_is_named_with_what_is_allowed(name, dimension, options, named):
    with pytest.raises(ValueError, match=named):
        make_set(name, dimension, **options)


@pytest.mark.parametrize(
    ("made", "oracles"),
    [
        *(
            (make_set(name, 16), ["local_oracle"])
            for name in ("grouped-l1", "interpolation", "nuclear", "spectrahedron", "polytope")
        ),
        (make_set("flow", 144), ["local_oracle"]),  # 12870 paths
        (make_set("sign-polytope", 3), ["gauge", "separation", "inner_radius", "local_oracle"]),
        (make_set("polytope", 2, vertices=[[0, 0], [1, 0], [0, 1]]), ["gauge", "separation", "inner_radius"]),
    ],
)
def test_sets_without_an_oracle_refuse_in_one_line(made, oracles):
    for oracle in oracles:
        with pytest.raises(UnsupportedSet, match=f"the set '{made.name}'") as caught:
            getattr(made, oracle)()
        assert isinstance(caught.value, ValueError)
        assert "\n" not in str(caught.value)


def test_calls_are_counted_and_answers_are_those_of_the_set_inside(generator):
    inner = make_set("l1-ball", 4)
    counted = CountedSet(inner)
    one, many = generator.normal(size=4), generator.normal(size=(2, 3, 4))
    for oracle, tally in (("project", counted.projections), ("linear_oracle", counted.linear_oracles)):
        for points in (one, many):
            np.testing.assert_array_equal(getattr(counted, oracle)(points), getattr(inner, oracle)(points))
        assert (tally.calls, tally.rows) == (2, 7)
        assert tally.seconds > 0.0
    for oracle, tally in (("gauge", counted.gauges), ("separation", counted.separations)):
        np.testing.assert_array_equal(getattr(counted, oracle)()(many), getattr(inner, oracle)()(many))
        assert (tally.calls, tally.rows) == (1, 6)
    local, counted_local = inner.local_oracle(), counted.local_oracle()
    weights = counted_local.lift(many)
    answers = counted_local.answer(weights, 0.1, many)
    np.testing.assert_array_equal(answers, local.answer(local.lift(many), 0.1, many))
    np.testing.assert_array_equal(counted_local.point(answers), local.point(answers))
    assert counted_local.ratio == local.ratio
    assert (counted.local_oracles.calls, counted.local_oracles.rows) == (1, 6)
    counted.linear_oracles.add(7, 0.5)  # a loop that serves its own oracles says how many
    assert (counted.linear_oracles.calls, counted.linear_oracles.rows) == (3, 14)
    flow = CountedSet(make_set("flow", 12))  # which calls its linear oracle within
    flow.max_distance_from(flow.center())
    assert flow.linear_oracles.calls == 0


def test_what_is_not_counted_is_of_the_set_inside():
    """Nothing public of a set is answered by the proxy's own defaults, but for its data, which serve uncounted."""
    counted = {"project", "linear_oracle", "local_oracle", "gauge", "separation", "data"}
    inner = make_set("simplex", 5)
    proxy = CountedSet(inner)
    for name in {each for each in vars(ConstraintSet) if not each.startswith("_")} - counted:
        mine, its = getattr(proxy, name), getattr(inner, name)
        assert mine == its, name
    assert counted <= vars(CountedSet).keys() | {"data"}
    assert proxy.data is None


def test_an_oracle_of_ones_own_is_asked() -> None:
    """Or else a compiled loop would go on with the parent's oracle."""

    class Opposite(Ball):
        def linear_oracle(self, cost: np.ndarray) -> np.ndarray:
            return super().linear_oracle(-cost)

    class Without(Simplex):
        local_oracle = ConstraintSet.local_oracle

    assert data_of(CountedSet(Ball(3))) == data_of(Ball(3)) == Ball(3).data
    assert data_of(Opposite(3)) is None
    assert data_of(Without(3)) is None
    assert data_of(make_set("hypersimplex", 5)) is not None

"""Affine hulls, inner radii, and base polytopes of submodular functions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpregret.algorithms.geometry import Ball, ConstraintSet, make_set
from dpregret.algorithms.geometry.reference import ReferenceProjection
from dpregret.algorithms.geometry.submodular import CoveragePolytope, SpanningTrees
from dpregret.core.sets import UnsupportedSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.orthogonal import orthogonal_to

SETS = {
    "ball": 4, "l1-ball": 5, "box": 3, "simplex": 5, "hypersimplex": 8, "flow": 12, "spectrahedron": 9, "nuclear": 9,
    "permutahedron": 5, "partition-matroid": 8, "spanning-trees": 10, "coverage": 6,
}  # fmt: skip
BASES = ("permutahedron", "partition-matroid", "spanning-trees", "coverage")


@pytest.fixture(params=list(SETS))
def domain(request: pytest.FixtureRequest) -> ConstraintSet:
    return make_set(request.param, SETS[request.param])


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


def test_sets_without_a_known_ball_say_so() -> None:
    with pytest.raises(UnsupportedSet, match="no ball inside the set 'sign-polytope' is known"):
        make_set("sign-polytope", 3).inner_radius()


def orders_of(domain: ConstraintSet) -> Array:
    """All greedy vertices, by trying every order of costs."""
    costs = np.array(list(itertools.permutations(range(domain.dimension))), dtype=float)
    return np.unique(domain.linear_oracle(costs), axis=0)


@pytest.mark.parametrize(("name", "dimension"), [("permutahedron", 4), ("spanning-trees", 6), ("coverage", 5)])
def test_linear_oracles_by_brute_force(name: str, dimension: int) -> None:
    domain = make_set(name, dimension)
    vertices = orders_of(domain)
    costs = np.random.default_rng(2).standard_normal((50, dimension))
    best = np.vecdot(costs, domain.linear_oracle(costs))
    assert best == pytest.approx((costs @ vertices.T).min(axis=1))
    assert domain.violation(vertices).max() < 1e-12
    if name != "coverage":
        assert len(vertices) == domain.vertex_count
    farthest = np.linalg.norm(vertices[:, None] - vertices[None], axis=2).max()
    assert farthest <= domain.diameter + 1e-12
    if name != "coverage":  # an upper bound there
        assert farthest == pytest.approx(domain.diameter)
    assert vertices.mean(axis=0) == pytest.approx(domain.center()) or name == "coverage"
    point = np.random.default_rng(3).standard_normal(dimension)
    assert np.linalg.norm(vertices - point, axis=1).max() <= domain.reach(point) + 1e-12


def test_spanning_trees_are_trees() -> None:
    domain = make_set("spanning-trees", 10)
    assert isinstance(domain, SpanningTrees)
    for tree in domain.linear_oracle(np.random.default_rng(4).standard_normal((40, 10))):
        reached, edges = {0}, domain.edges[tree > 0]
        assert len(edges) == 4
        for _ in range(4):
            reached |= {int(b) for a, b in edges if a in reached} | {int(a) for a, b in edges if b in reached}
        assert reached == {0, 1, 2, 3, 4}


def test_coverage_is_submodular_and_its_center_is_the_shapley_value() -> None:
    domain = make_set("coverage", 5)
    assert isinstance(domain, CoveragePolytope)
    indicators, values = domain.subsets()
    table = {tuple(row.astype(int)): value for row, value in zip(indicators, values, strict=True)}
    table |= {(0,) * 5: 0.0, (1,) * 5: domain.total}
    for one, other in itertools.product(table, repeat=2):
        union = tuple(np.maximum(one, other))
        common = tuple(np.minimum(one, other))
        assert table[one] + table[other] >= table[union] + table[common]
    costs = np.array(list(itertools.permutations(range(5))), dtype=float)
    assert domain.linear_oracle(costs).mean(axis=0) == pytest.approx(domain.center())


@pytest.mark.parametrize("name", BASES)
def test_projections_are_those_of_the_solver(name: str) -> None:
    domain = make_set(name, SETS[name])
    points = domain.center() + 2 * np.random.default_rng(5).standard_normal((6, domain.dimension))
    found = domain.project(points)
    assert found == pytest.approx(ReferenceProjection(domain).project(points), abs=1e-6)
    assert domain.violation(found).max() < 1e-7
    assert domain.project(found) == pytest.approx(found, abs=1e-5)  # what the solver reaches on the boundary
    vertices = domain.linear_oracle(np.random.default_rng(6).standard_normal((200, domain.dimension)))
    beyond = np.einsum("rd,rvd->rv", points - found, vertices - found[:, None])
    assert beyond.max() < 1e-5  # the variational inequality of a projection


@pytest.mark.parametrize(("count", "dimension"), [(1, 2), (3, 7), (6, 7), (8, 40)])
def test_orthogonal_columns_span_what_rows_leave(count: int, dimension: int) -> None:
    """Rows with leading zeros among them, where the first entry of a mirror decides nothing but its sign."""
    rows = np.random.default_rng(2).standard_normal((count, dimension))
    for given in (rows, np.triu(rows, 1), rows * 1e9, np.ones((1, dimension))):
        basis = orthogonal_to(given)
        assert basis.shape == (dimension, dimension - len(given))
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-14)
        np.testing.assert_allclose(given @ basis, 0.0, atol=1e-14 * np.abs(given).max() * dimension)


def test_dependent_rows_are_refused() -> None:
    """A basis of what they leave would have more columns than anybody expects."""

    class Doubled(Ball):
        def equalities(self) -> Array:
            return np.array([[1.0, 2.0, 3.0], [-2.0, -4.0, -6.0]])

    with pytest.raises(ValueError, match="depend on each other"):
        Doubled(3).hull_basis()

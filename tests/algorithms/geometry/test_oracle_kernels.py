"""Compiled oracles find what the plain ones find, ties included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_oracles import plain_vertex

from dpregret.algorithms.geometry import Ball, CountedSet, make_set
from dpregret.algorithms.geometry.dag import layered_edges
from dpregret.algorithms.geometry.flow import FlowPolytope
from dpregret.algorithms.geometry.oracle_kernels import vertices
from dpregret.algorithms.geometry.submodular import CoveragePolytope

COMPILED: list[Any] = [
    *(make_set("coverage", dimension) for dimension in (4, 7, 12)),
    CoveragePolytope(11, width=5),
    *(make_set("spanning-trees", dimension) for dimension in (3, 6, 15, 36)),
    *(make_set("flow", dimension) for dimension in (4, 12, 40)),
    FlowPolytope(16, edges=layered_edges([3, 1, 5])),
    FlowPolytope(5, edges=[("a", "b"), ("a", "c"), ("c", "b"), ("b", "d"), ("a", "d")]),
]
OTHERS = [
    ("ball", 1), ("ball", 5), ("l1-ball", 1), ("l1-ball", 7), ("simplex", 2), ("simplex", 9), ("hypersimplex", 2),
    ("hypersimplex", 13), ("partition-matroid", 12), ("permutahedron", 2), ("permutahedron", 33), ("nuclear", 1),
    ("nuclear", 9), ("nuclear", 64), ("spectrahedron", 4), ("spectrahedron", 25),
]  # fmt: skip


@pytest.mark.parametrize("domain", COMPILED, ids=lambda domain: f"{domain.name}-{domain.dimension}")
def test_compiled_oracles_are_the_plain_ones(domain: Any) -> None:
    """Bit by bit, for costs without and with many ties, signed zeros among them."""
    generator = np.random.default_rng(1)
    tied = generator.integers(-1, 2, (150, domain.dimension)) * generator.choice([-1.0, 1.0], (150, 1))
    for costs in (generator.standard_normal((50, domain.dimension)), tied, np.zeros((1, domain.dimension))):
        plain = np.array([plain_vertex(domain, cost) for cost in costs])
        np.testing.assert_array_equal(domain.linear_oracle(costs), plain)


@pytest.mark.parametrize(("name", "dimension"), OTHERS)
def test_rules_are_the_linear_oracles(name: str, dimension: int) -> None:
    """Of generic costs the vertices are the same, those of curved sets but for rounding; leading axes are kept."""
    domain = make_set(name, dimension)
    assert domain.vertex_rule is not None
    costs = np.random.default_rng(2).standard_normal((3, 20, dimension))
    np.testing.assert_allclose(vertices(domain.vertex_rule, costs), domain.linear_oracle(costs), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["ball", "nuclear", "spectrahedron"])
def test_rules_of_curved_sets_at_degenerate_costs(name: str) -> None:
    """A zero cost, a multiple of the identity, a cost of rank one: some vertex of least cost."""
    domain = make_set(name, 9)
    assert domain.vertex_rule is not None
    costs = np.array([np.zeros(9), np.eye(3).ravel(), -np.eye(3).ravel(), np.ones(9), np.eye(9)[4]])
    found = vertices(domain.vertex_rule, costs)
    assert domain.violation(found).max() <= 1e-14
    np.testing.assert_allclose(
        (found * costs).sum(axis=1), (domain.linear_oracle(costs) * costs).sum(axis=1), atol=1e-14
    )


def test_rules_of_large_permutahedra_are_left_to_sorting() -> None:
    """Insertion is quadratic."""
    assert make_set("permutahedron", 65).vertex_rule is None


def test_counted_sets_hand_their_rule_through_and_count_on_request() -> None:
    """A loop that serves its own oracles says how many."""
    counted = CountedSet(make_set("ball", 3))
    assert counted.vertex_rule == counted.inner.vertex_rule
    counted.linear_oracles.add(7, 0.5)
    assert (counted.linear_oracles.calls, counted.linear_oracles.rows, counted.linear_oracles.seconds) == (1, 7, 0.5)


def test_an_oracle_of_ones_own_loses_the_parents_rule() -> None:
    """Or else a compiled loop would go on with the parent's oracle."""

    class Opposite(Ball):
        def linear_oracle(self, cost: np.ndarray) -> np.ndarray:
            return super().linear_oracle(-cost)

    assert Ball(3).vertex_rule is not None
    assert Opposite(3).vertex_rule is None

"""Oracles that are written for columns find what the textbook finds, ties included, compiled and in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_oracles import plain_vertex

from dpregret.algorithms.geometry import Ball, CountedSet, make_set
from dpregret.algorithms.geometry.dag import layered_edges
from dpregret.algorithms.geometry.flow import FlowPolytope
from dpregret.algorithms.geometry.submodular import CoveragePolytope
from dpregret.algorithms.play.rounds import text_of
from dpregret.core.oracles import SCRATCH, vertex

COMPILED: list[Any] = [
    *(make_set("coverage", dimension) for dimension in (4, 7, 12)),
    CoveragePolytope(11, width=5),
    *(make_set("spanning-trees", dimension) for dimension in (3, 6, 15, 36)),
    *(make_set("flow", dimension) for dimension in (4, 12, 40)),
    FlowPolytope(16, edges=layered_edges([3, 1, 5])),
    FlowPolytope(5, edges=[("a", "b"), ("a", "c"), ("c", "b"), ("b", "d"), ("a", "d")]),
]
OTHERS = [
    ("ball", 1), ("ball", 5), ("ball", 21), ("box", 4), ("l1-ball", 1), ("l1-ball", 7), ("simplex", 2), ("simplex", 9),
    ("hypersimplex", 2), ("hypersimplex", 13), ("partition-matroid", 12), ("permutahedron", 2), ("permutahedron", 33),
    ("permutahedron", 65), ("permutahedron", 200), ("nuclear", 1), ("nuclear", 9), ("nuclear", 64),
    ("spectrahedron", 4), ("spectrahedron", 25),
]  # fmt: skip


def textbook(domain: Any, cost: np.ndarray) -> np.ndarray:
    """A vertex (d,) of least cost."""
    match domain.name:
        case "ball":
            return -domain.radius * cost / np.linalg.norm(cost)
        case "box":
            return np.where(cost > 0.0, domain.lower, domain.upper)
        case "l1-ball":
            return -domain.radius * np.sign(cost) * (np.arange(len(cost)) == np.abs(cost).argmax())
        case "permutahedron":
            return len(cost) - np.argsort(np.argsort(cost, kind="stable"), kind="stable").astype(float)
        case "nuclear":
            left, _, right = np.linalg.svd(cost.reshape(domain.side, -1))
            return (-domain.radius * np.outer(left[:, 0], right[0])).ravel()
        case "spectrahedron":
            matrix = cost.reshape(domain.side, -1)
            bottom = np.linalg.eigh(matrix + matrix.T)[1][:, 0]
            return np.outer(bottom, bottom).ravel()
        case _:
            rank, block = domain.data if domain.name != "simplex" else (1, len(cost))
            found = np.zeros((len(cost) // block, block))
            np.put_along_axis(found, np.argsort(cost.reshape(-1, block), kind="stable")[:, :rank], 1.0, axis=1)
            return found.ravel()


@pytest.mark.parametrize("domain", COMPILED, ids=lambda domain: f"{domain.name}-{domain.dimension}")
def test_compiled_oracles_are_the_plain_ones(domain: Any) -> None:
    """Bit by bit, for costs without and with many ties, signed zeros among them."""
    generator = np.random.default_rng(1)
    tied = generator.integers(-1, 2, (150, domain.dimension)) * generator.choice([-1.0, 1.0], (150, 1))
    for costs in (generator.standard_normal((50, domain.dimension)), tied, np.zeros((1, domain.dimension))):
        plain = np.array([plain_vertex(domain, cost) for cost in costs])
        np.testing.assert_array_equal(domain.linear_oracle(costs), plain)


@pytest.mark.parametrize(("name", "dimension"), OTHERS)
def test_other_oracles_are_those_of_the_textbook(name: str, dimension: int) -> None:
    """Of generic costs, those of curved sets but for rounding; leading axes are kept."""
    domain = make_set(name, dimension)
    costs = np.random.default_rng(2).standard_normal((3, 5, dimension))
    wanted = [[textbook(domain, cost) for cost in row] for row in costs]
    np.testing.assert_allclose(domain.linear_oracle(costs), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "dimension"), [("simplex", 9), ("hypersimplex", 13), ("permutahedron", 70)])
def test_of_equal_costs_the_first_is_the_smaller(name: str, dimension: int) -> None:
    domain = make_set(name, dimension)
    costs = np.random.default_rng(3).integers(-1, 2, (50, dimension)).astype(float)
    np.testing.assert_array_equal(domain.linear_oracle(costs), [textbook(domain, cost) for cost in costs])


@pytest.mark.parametrize("name", ["ball", "nuclear", "spectrahedron"])
def test_curved_sets_at_degenerate_costs(name: str) -> None:
    """A zero cost, a multiple of the identity, a cost of rank one: some vertex of least cost."""
    domain = make_set(name, 9)
    costs = np.array([np.zeros(9), np.eye(3).ravel(), -np.eye(3).ravel(), np.ones(9), np.eye(9)[4]])
    found = domain.linear_oracle(costs)
    assert domain.violation(found).max() <= 1e-14
    least = {
        "ball": [0, -(3**0.5), -(3**0.5), -3, -1],
        "nuclear": [0, -1, -1, -3, -1],
        "spectrahedron": [0, 1, -1, 0, 0],
    }
    np.testing.assert_allclose((found * costs).sum(axis=1), least[name], atol=1e-14)


EVERY = [*COMPILED[::3], *(make_set(*each) for each in OTHERS)]
DAILY = {"ball", "flow", "permutahedron", "nuclear"}


@pytest.mark.parametrize(
    "domain",
    [pytest.param(each, marks=[] if each.name in DAILY else [pytest.mark.nightly]) for each in EVERY],
    ids=lambda each: each.name,
)
def test_python_and_any_batch_have_the_bits_of_compiled_columns(domain: Any, compiled: None) -> None:
    """The same text, one column or nineteen."""
    costs = np.random.default_rng(4).standard_normal((19, domain.dimension))
    found = domain.linear_oracle(costs)
    np.testing.assert_array_equal(domain.linear_oracle(costs[7]), found[7])
    columns, plain = costs.T.copy(), np.empty(costs.shape[::-1])
    vertex(domain.data, columns, plain, np.empty((SCRATCH, len(costs))))
    np.testing.assert_array_equal(plain.T, found)


def test_counted_sets_count_on_request() -> None:
    """A loop that serves its own oracles says how many."""
    counted = CountedSet(make_set("ball", 3))
    counted.linear_oracles.add(7, 0.5)
    assert (counted.linear_oracles.calls, counted.linear_oracles.rows, counted.linear_oracles.seconds) == (1, 7, 0.5)


def test_an_oracle_of_ones_own_is_asked() -> None:
    """Or else a compiled loop would go on with the parent's oracle."""

    class Opposite(Ball):
        def linear_oracle(self, cost: np.ndarray) -> np.ndarray:
            return super().linear_oracle(-cost)

    assert text_of(CountedSet(Ball(3)), "vertex") == Ball(3).data
    assert text_of(Opposite(3), "vertex") is None
    assert text_of(make_set("hypersimplex", 5), "vertex") is not None
    assert text_of(make_set("hypersimplex", 5), "project") is None

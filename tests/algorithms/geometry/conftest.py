"""The sets under test, each with all its vertices listed by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from dpregret.algorithms.geometry import Array, ConstraintSet, grid_edges, make_set

SKIPPING_EDGES = [(0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 3), (3, 4), (2, 4), (0, 4)]
"""A graph whose paths have one to four edges."""


def unit_vectors(dimension: int) -> Array:
    return np.eye(dimension)


def signed_unit_vectors(dimension: int) -> Array:
    return np.vstack([np.eye(dimension), -np.eye(dimension)])


def corners(lower: float, upper: float, dimension: int) -> Array:
    return np.array(list(itertools.product([lower, upper], repeat=dimension)))


def subsets(rank: int, dimension: int) -> Array:
    chosen = itertools.combinations(range(dimension), rank)
    return np.array([np.isin(np.arange(dimension), subset).astype(float) for subset in chosen])


def paths(edges: list[tuple[object, object]], source: object, sink: object) -> Array:
    """All edge subsets that form a path, by depth-first search on node labels."""
    found: list[Array] = []

    def walk(node: object, used: list[int]) -> None:
        if node == sink:
            found.append(np.isin(np.arange(len(edges)), used).astype(float))
        for edge, (tail, head) in enumerate(edges):
            if tail == node:
                walk(head, [*used, edge])

    walk(source, [])
    return np.array(found)


@dataclass(frozen=True)
class Case:
    """A set and its vertices (vertices, d); None for the ball."""

    constraint_set: ConstraintSet
    vertices: Array | None

    def support(self, directions: Array) -> Array:
        """max_{v in C} <direction, v>, by brute force: (..., d) -> (...,)."""
        if self.vertices is None:
            return self.constraint_set.diameter / 2 * np.linalg.norm(directions, axis=-1)
        return (directions @ self.vertices.T).max(axis=-1)

    def sample(self, generator: np.random.Generator, rows: int) -> Array:
        """Points (rows, d) of the set: vertices, boundary and interior points."""
        if self.vertices is None:
            directions = generator.normal(size=(rows, self.constraint_set.dimension))
            directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
            radii = self.constraint_set.diameter / 2 * generator.choice([0.0, 0.3, 0.9, 1.0], size=(rows, 1))
            return directions * radii
        concentration = generator.choice([0.02, 0.3, 1.0], size=(rows, 1))
        weights = generator.gamma(concentration, size=(rows, len(self.vertices))) + 1e-300
        return weights / weights.sum(axis=-1, keepdims=True) @ self.vertices


GRID = grid_edges(3)
CASES: dict[str, Callable[[], Case]] = {
    "ball": lambda: Case(make_set("ball", 4, radius=1.5), None),
    "l1-ball": lambda: Case(make_set("l1-ball", 4, radius=0.7), 0.7 * signed_unit_vectors(4)),
    "simplex": lambda: Case(make_set("simplex", 5), unit_vectors(5)),
    "box": lambda: Case(make_set("box", 4), corners(-0.5, 0.5, 4)),
    "shifted-box": lambda: Case(make_set("box", 3, lower=0.0, upper=2.0), corners(0.0, 2.0, 3)),
    "hypersimplex": lambda: Case(make_set("hypersimplex", 8), subsets(2, 8)),
    "dense-hypersimplex": lambda: Case(make_set("hypersimplex", 6, rank=4), subsets(4, 6)),
    "grid-flow": lambda: Case(make_set("flow", 12), paths(GRID, (0, 0), (2, 2))),
    "skipping-flow": lambda: Case(make_set("flow", 9, edges=SKIPPING_EDGES), paths(SKIPPING_EDGES, 0, 4)),
}


@pytest.fixture(scope="session", params=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]()


@pytest.fixture(scope="session", params=[name for name in CASES if "flow" not in name])
def closed_form_case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]()


@pytest.fixture(scope="session", params=[name for name in CASES if name != "ball"])
def polytope_case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]()


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(20260)

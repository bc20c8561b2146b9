"""The sets under test, each with its vertices listed by brute force, or its support function and its points."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial import ConvexHull

from dpregret.algorithms.geometry import ConstraintSet, grid_edges, make_set
from dpregret.numerics.arrays import Array

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


def spanning_trees(nodes: int) -> Array:
    """All sets of nodes - 1 edges of the complete graph that connect its nodes."""
    edges = list(itertools.combinations(range(nodes), 2))

    def connected(tree: Array) -> bool:
        reached = {0}
        for _ in range(nodes):
            reached |= {node for edge in itertools.compress(edges, tree) if reached & {*edge} for node in edge}
        return len(reached) == nodes

    return np.array([tree for tree in subsets(nodes - 1, len(edges)) if connected(tree)])


def coverings(covers: Array) -> Array:
    """How many topics each item adds, for every order of the items."""
    found = set()
    for order in itertools.permutations(range(len(covers))):
        done = np.maximum.accumulate(covers[list(order)], axis=0).sum(axis=1)
        added = np.diff(done, prepend=0)
        found.add(tuple(added[np.argsort(order)].tolist()))
    return np.array(sorted(found), dtype=float)


@dataclass(frozen=True)
class Case:
    """A set and its vertices (vertices, d); for a curved set its support function and a source of points."""

    constraint_set: ConstraintSet
    vertices: Array | None = None
    support_function: Callable[[Array], Array] | None = None
    draw: Callable[[np.random.Generator, int], Array] | None = None

    def support(self, directions: Array) -> Array:
        """max_{v in C} <direction, v>, by brute force: (..., d) -> (...,)."""
        if self.support_function is not None:
            return self.support_function(directions)
        return (directions @ self.vertices.T).max(axis=-1)

    def sample(self, generator: np.random.Generator, rows: int) -> Array:
        """Points (rows, d) of the set: vertices, boundary and interior points."""
        if self.draw is not None:
            return self.draw(generator, rows)
        concentration = generator.choice([0.02, 0.3, 1.0], size=(rows, 1))
        weights = generator.gamma(concentration, size=(rows, len(self.vertices))) + 1e-300
        return weights / weights.sum(axis=-1, keepdims=True) @ self.vertices


def norm_ball(
    name: str, dimension: int, norm: Callable[[Array], Array], dual: Callable[[Array], Array], **options: float
) -> Case:
    """A ball of the norm; half of the directions drawn have zeros."""
    constraint_set = make_set(name, dimension, **options)
    radius = constraint_set.diameter / 2

    def draw(generator: np.random.Generator, rows: int) -> Array:
        directions = generator.normal(size=(rows, dimension))
        directions[::2] *= generator.integers(0, 2, size=directions[::2].shape)
        directions[:, -1] += 1e-3
        directions /= norm(directions)[:, None]
        return directions * radius * generator.choice([0.0, 0.3, 0.9, 1.0], size=(rows, 1))

    return Case(constraint_set, None, lambda directions: radius * dual(directions), draw)


def l2(points: Array) -> Array:
    return np.linalg.norm(points, axis=-1)


def block_norms(points: Array, size: int) -> Array:
    return np.stack([l2(points[..., start : start + size]) for start in range(0, points.shape[-1], size)], axis=-1)


def matrices(points: Array, side: int) -> Array:
    return points.reshape(*points.shape[:-1], side, side)


def dual_of_mixture(costs: Array, mixing: float) -> Array:
    """max <c, x> over (1 - a) |x|_1 + a |x|_2 <= 1, row by row, by a bracketed root."""

    def of_row(cost: Array) -> float:
        sizes, top = np.abs(cost), np.abs(cost).max()

        def excess(size: float) -> float:
            return float(l2(np.maximum(sizes - (1 - mixing) * size, 0.0)) - mixing * size)

        return brentq(excess, top, 2 * l2(cost), xtol=1e-15 * top, rtol=8.9e-16) if excess(top) > 0 else top

    return np.apply_along_axis(of_row, -1, costs)


def mixture(dimension: int, mixing: float, radius: float) -> Case:
    return norm_ball(
        "interpolation",
        dimension,
        lambda points: (1 - mixing) * np.abs(points).sum(axis=-1) + mixing * l2(points),
        lambda costs: dual_of_mixture(costs, mixing),
        mixing=mixing,
        radius=radius,
    )


def spectrahedron(side: int) -> Case:
    def largest_eigenvalue(directions: Array) -> Array:
        squares = matrices(directions, side)
        return np.linalg.eigvalsh((squares + np.swapaxes(squares, -1, -2)) / 2)[..., -1]

    def draw(generator: np.random.Generator, rows: int) -> Array:
        factors = generator.normal(size=(rows, side, side)) * generator.choice([0.0, 1.0, 3.0], size=(rows, 1, side))
        factors[:, 0, 0] += 1e-3
        grams = factors @ np.swapaxes(factors, -1, -2)
        return (grams / np.trace(grams, axis1=-2, axis2=-1)[:, None, None]).reshape(rows, -1)

    return Case(make_set("spectrahedron", side**2), None, largest_eigenvalue, draw)


ROUND_TABLE = np.random.default_rng(7).normal(size=(9, 3)) * [1.0, 2.0, 0.5]
"""Vertices of a polytope; those inside the hull of the others are removed below."""
HULL = ROUND_TABLE[np.sort(ConvexHull(ROUND_TABLE).vertices)]

GRID = grid_edges(3)
CASES: dict[str, Callable[[], Case]] = {
    "ball": lambda: norm_ball("ball", 4, l2, l2, radius=1.5),
    "l1-ball": lambda: Case(make_set("l1-ball", 4, radius=0.7), 0.7 * signed_unit_vectors(4)),
    "simplex": lambda: Case(make_set("simplex", 5), unit_vectors(5)),
    "box": lambda: Case(make_set("box", 4), corners(-0.5, 0.5, 4)),
    "shifted-box": lambda: Case(make_set("box", 3, lower=0.0, upper=2.0), corners(0.0, 2.0, 3)),
    "hypersimplex": lambda: Case(make_set("hypersimplex", 8), subsets(2, 8)),
    "dense-hypersimplex": lambda: Case(make_set("hypersimplex", 6, rank=4), subsets(4, 6)),
    "grid-flow": lambda: Case(make_set("flow", 12), paths(GRID, (0, 0), (2, 2))),
    "skipping-flow": lambda: Case(make_set("flow", 9, edges=SKIPPING_EDGES), paths(SKIPPING_EDGES, 0, 4)),
}


WITHOUT_LOCAL_ORACLE: dict[str, Callable[[], Case]] = {
    "grouped-l1": lambda: norm_ball(
        "grouped-l1",
        6,
        lambda points: block_norms(points, 2).sum(axis=-1),
        lambda costs: block_norms(costs, 2).max(axis=-1),
        block_size=2,
        radius=1.3,
    ),
    "interpolation": lambda: mixture(5, 0.5, 1.0),
    "nearly-l1": lambda: mixture(4, 0.02, 0.7),
    "nearly-l2": lambda: mixture(4, 0.98, 2.0),
    "nuclear": lambda: norm_ball(
        "nuclear",
        9,
        lambda points: np.linalg.norm(matrices(points, 3), ord="nuc", axis=(-2, -1)),
        lambda costs: np.linalg.norm(matrices(costs, 3), ord=2, axis=(-2, -1)),
        radius=1.4,
    ),
    "spectrahedron": lambda: spectrahedron(3),
    "polytope": lambda: Case(make_set("polytope", 3, vertices=HULL), HULL),
    "sign-polytope": lambda: Case(
        make_set("sign-polytope", 5, corners=14), make_set("sign-polytope", 5, corners=14).vertices
    ),
    "regular-simplex": lambda: Case(make_set("polytope", 4), make_set("polytope", 4).vertices),
    "permutahedron": lambda: Case(
        make_set("permutahedron", 4), np.array(list(itertools.permutations(range(1, 5))), dtype=float)
    ),
    "partition-matroid": lambda: Case(
        make_set("partition-matroid", 8),
        np.array([np.concatenate(both) for both in itertools.product(subsets(2, 4), repeat=2)]),
    ),
    "spanning-trees": lambda: Case(make_set("spanning-trees", 6), spanning_trees(4)),
    "coverage": lambda: Case(make_set("coverage", 5), coverings(make_set("coverage", 5).covers)),
}
ALL_CASES = CASES | WITHOUT_LOCAL_ORACLE
SOLVED = {"grid-flow", "skipping-flow", "spanning-trees", "coverage"}
CURVED = {"ball", "grouped-l1", "interpolation", "nearly-l1", "nearly-l2", "nuclear", "spectrahedron"}


def fixture_of(names: Iterable[str]) -> Any:
    """A fixture that is each of these cases in turn."""

    @pytest.fixture(scope="session", params=list(names))
    def made(request: pytest.FixtureRequest) -> Case:
        return ALL_CASES[request.param]()

    return made


case, any_case, curved_case = fixture_of(CASES), fixture_of(ALL_CASES), fixture_of(sorted(CURVED))
exact_case = fixture_of(name for name in ALL_CASES if name not in SOLVED)
polytope_case = fixture_of(name for name in ALL_CASES if name not in CURVED)
"""case: with a local oracle; exact_case: projections are exact to rounding."""


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(20260)

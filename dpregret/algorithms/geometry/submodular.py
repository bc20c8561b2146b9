"""Base polytopes of submodular functions: vertices by the greedy algorithm, whatever the function."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.geometry.hypersimplex import Cheapest, Choices, Hypersimplex
from dpregret.algorithms.geometry.set_kinds import (
    FacetGauge,
    FixedSum,
    SolvedProjection,
    checked_dimension,
    data_from,
    reject_dimension,
)
from dpregret.algorithms.geometry.simplex import sift
from dpregret.core.oracles import by_corners, corner, vertex
from dpregret.core.sets import ConstraintSet, Oracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined
from dpregret.numerics.sums import product

LONGEST = 64  # entries up to which insertion sort is fastest


@inlined
def sort(cost, order, scores):
    """The order of costs (d,), of equal ones the first one first: by insertion, or by a heap. scores: scratch."""
    size = len(cost)
    if size <= LONGEST:
        for j in range(size):
            slot = j
            while slot > 0 and cost[order[slot - 1]] > cost[j]:
                order[slot] = order[slot - 1]
                slot -= 1
            order[slot] = j
        return
    for j in range(size):
        order[j], scores[j] = j, -cost[j]
    for top in range(size // 2 - 1, -1, -1):
        sift(scores, order, top, size)
    for last in range(size - 1, 0, -1):  # the cheapest of the rest goes behind it
        order[0], order[last] = order[last], order[0]
        sift(scores, order, 0, last)
    for j in range(size // 2):
        order[j], order[size - 1 - j] = order[size - 1 - j], order[j]


class Permutations(NamedTuple):
    """The permutations of (1, ..., dimension), for compiled rounds."""

    dimension: int


@corner.add
def _corner_permutations(permutations: Permutations, cost, out, whole, real):
    """The smallest cost gets n, the largest 1."""
    sort(cost, whole, real)
    for index in range(permutations.dimension):
        out[whole[index]] = permutations.dimension - index


vertex.kinds[Permutations] = by_corners


class Trees(NamedTuple):
    """The spanning trees of the complete graph on some nodes, for compiled rounds."""

    nodes: int


@corner.add
def _corner_trees(trees: Trees, cost, out, whole, real):
    """Prim on pairs (cost, number of the edge): no two edges are alike, so it finds Kruskal's tree."""
    nodes = trees.nodes
    out[:] = 0.0
    for node in range(1, nodes):
        whole[node], real[node] = node - 1, cost[node - 1]  # cheapest edge into the tree, which is node 0
    whole[0] = -1
    for _ in range(nodes - 1):
        best = -1
        for node in range(1, nodes):
            if whole[node] >= 0 and (best < 0 or before(real[node], whole[node], real[best], whole[best])):
                best = node
        out[whole[best]] = 1.0
        whole[best] = -1
        for node in range(1, nodes):
            if whole[node] >= 0:
                low, high = min(node, best), max(node, best)
                edge = low * (2 * nodes - low - 1) // 2 + high - low - 1
                if before(cost[edge], edge, real[node], whole[node]):
                    whole[node], real[node] = edge, cost[edge]


@inlined
def before(cost, edge, other_cost, other_edge):
    """Whether an edge comes before another: cheaper, or as cheap and listed before."""
    return cost < other_cost or (cost == other_cost and edge < other_edge)


vertex.kinds[Trees] = by_corners


class Topics(NamedTuple):
    """The topics of every item as a bit mask, (d,), for compiled rounds."""

    masks: NDArray[np.int64]


@corner.add
def _corner_topics(topics: Topics, cost, out, whole, real):
    """Edmonds' greedy: every item in turn gets the number of topics that it adds."""
    sort(cost, whole, real)
    done = 0
    for index in range(len(cost)):
        item = whole[index]
        fresh = topics.masks[item] & ~done
        done |= fresh
        added = 0
        while fresh:
            fresh &= fresh - 1
            added += 1
        out[item] = added


vertex.kinds[Topics] = by_corners


class BasePolytope(ConstraintSet):
    """{x : x(S) <= F(S) for all S, x(all) = F(all)} of a submodular F with F(empty) = 0.

    Edmonds' greedy: in order of increasing cost each coordinate gets its marginal value, the cheapest first.
    """

    def target(self) -> Array:
        """Half-way from the center to the vertex of increasing costs."""
        vertex = self.linear_oracle(np.arange(self.dimension, dtype=np.float64))
        return 0.5 * (self.center() + vertex)

    def max_distance_from(self, point: Array) -> float:
        """The diameter plus the distance to the center: an upper bound."""
        return self.diameter + float(np.linalg.norm(point - self.center()))


class Permutahedron(FixedSum, BasePolytope):
    """Hull of the permutations of (1, ..., n): F(S) = n + (n - 1) + ... over |S| terms."""

    name = "permutahedron"
    reference_limit = 64
    data = data_from(Permutations)

    def __init__(self, dimension: int):
        self.dimension = checked_dimension(self.name, dimension, minimum=2)
        self.weights = np.arange(self.dimension, 0.0, -1.0)
        self.diameter = math.sqrt(self.dimension * (self.dimension**2 - 1) / 3)

    def center(self) -> Array:
        """(n + 1)/2 in every coordinate."""
        return np.full(self.dimension, (self.dimension + 1) / 2)

    def max_distance_from(self, point: Array) -> float:
        """Distance to the farthest permutation, exact: |v| is the same for all, so the least <point, v> decides."""
        least = float(np.sort(point) @ self.weights)
        square = float(self.weights @ self.weights + point @ point - 2 * least)
        return math.sqrt(max(square, 0.0))

    def project(self, points: Array) -> Array:
        """y - (isotonic regression of sorted y - w): pooled blocks share what is beyond w (Lim & Wright 2016)."""
        from scipy.optimize import isotonic_regression  # late: other sets need a fifth of a second less

        order = np.argsort(-points, axis=-1, kind="stable")
        excess = np.take_along_axis(points, order, axis=-1) - self.weights
        rows = excess.reshape(-1, self.dimension)
        fitted = np.array([isotonic_regression(row, increasing=False).x for row in rows]).reshape(points.shape)
        nearest = np.empty_like(points)
        np.put_along_axis(nearest, order, np.take_along_axis(points, order, axis=-1) - fitted, axis=-1)
        return nearest

    def violation(self, points: Array) -> Array:
        """max over k of (sum of the k largest) - (n + ... + (n - k + 1)), and the defect of the sum."""
        tops = np.cumsum(-np.sort(-points, axis=-1), axis=-1) - np.cumsum(self.weights)
        residual: Array = np.maximum(tops[..., :-1].max(axis=-1), np.abs(tops[..., -1]))
        return np.maximum(residual, 0.0)

    def gauge(self) -> Oracle:
        """Facets of the k largest: their sum over k (n - k)/2, the largest over k, by sorting."""
        sizes = np.arange(1.0, self.dimension)
        rooms = sizes * (self.dimension - sizes) / 2

        def normals(offsets: Array) -> Array:
            order = np.argsort(-offsets, axis=-1, kind="stable")
            sums = np.cumsum(np.take_along_axis(offsets, order, axis=-1), axis=-1)[..., :-1]
            best = np.argmax(sums / rooms, axis=-1)[..., None]
            taken = (np.arange(self.dimension) <= best) / rooms[best]
            chosen = np.empty_like(offsets)
            np.put_along_axis(chosen, order, taken, axis=-1)
            return self.along_hull(chosen)

        return normals

    def inner_radius(self) -> float:
        """sqrt(n (n - 1))/2, exact: the nearest facets bound a single coordinate."""
        return math.sqrt(self.dimension * (self.dimension - 1)) / 2

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """Sums of the k largest."""
        import cvxpy

        bounds = np.cumsum(self.weights)
        constraints = [cvxpy.sum_largest(variable, k) <= bounds[k - 1] for k in range(1, self.dimension)]
        return [*constraints, cvxpy.sum(variable) == bounds[-1]]


class PartitionMatroid(Choices, BasePolytope):
    """Blocks of `block_size` coordinates, half of each (rounded down) are taken: a product of hypersimplices."""

    name = "partition-matroid"
    data = data_from(Cheapest)

    def __init__(self, dimension: int, *, block_size: int = 4):
        if block_size < 2:
            raise ValueError(f"block_size {block_size} of the set {self.name!r} is impossible; allowed: at least 2")
        self.dimension = checked_dimension(self.name, dimension, minimum=block_size)
        if self.dimension % block_size:
            reject_dimension(self.name, dimension, f"a multiple of the block size {block_size}")
        self.block, self.rank = block_size, block_size // 2
        self._block = Hypersimplex(self.block, rank=self.rank)
        self.diameter = self._block.diameter * math.sqrt(self.dimension // self.block)

    def max_distance_from(self, point: Array) -> float:
        """Farthest choice of every block, exact."""
        return math.sqrt(sum(self._block.max_distance_from(part) ** 2 for part in self._parts(point)))


class SolvedPolytope(SolvedProjection, FixedSum, BasePolytope):
    """Base polytopes whose projection needs a solver, on the inequalities that `subsets` lists."""

    total: float
    """F(all)."""

    @abstractmethod
    def subsets(self) -> tuple[Array, Array]:
        """Indicators (k, d) of the sets whose inequalities are needed, and F of them (k,)."""

    def violation(self, points: Array) -> Array:
        """Largest of x(S) - F(S), and the defect of the sum."""
        indicators, bounds = self.subsets()
        beyond = np.maximum((points @ indicators.T - bounds).max(axis=-1), 0.0)
        return np.maximum(beyond, np.abs(points.sum(axis=-1) - self.total))

    def gauge(self) -> Oracle:
        """All listed inequalities, by enumeration."""
        indicators, bounds = self.subsets()
        return FacetGauge(self.along_hull(indicators), bounds - product(indicators, self.center()))

    def inner_radius(self) -> float:
        """Smallest distance from the center to a facet, within the hull; exact."""
        indicators, bounds = self.subsets()
        sizes = np.square(indicators).sum(axis=1) - indicators.sum(axis=1) ** 2 / self.dimension
        return float(((bounds - indicators @ self.center()) / np.sqrt(sizes)).min())

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """All inequalities at once."""
        import cvxpy

        indicators, bounds = self.subsets()
        return [indicators @ variable <= bounds, cvxpy.sum(variable) == self.total]


class SpanningTrees(SolvedPolytope):
    """Hull of the spanning trees of the complete graph on m nodes: the graphic matroid, n = m (m - 1)/2, m >= 3."""

    name = "spanning-trees"
    title = "spanning-tree polytope"
    data = data_from(Trees)

    def __init__(self, dimension: int):
        size = checked_dimension(self.name, dimension, minimum=3)
        self.nodes = (1 + math.isqrt(1 + 8 * size)) // 2
        if self.nodes * (self.nodes - 1) // 2 != size:
            smaller, larger = (m * (m - 1) // 2 for m in (self.nodes, self.nodes + 1))
            allowed = f"m (m - 1)/2 edges of m nodes; the nearest are {smaller} and {larger}"
            reject_dimension(self.name, dimension, allowed)
        self.dimension, self.total = size, self.nodes - 1.0
        self.edges = np.array(list(itertools.combinations(range(self.nodes), 2)))
        self.diameter = math.sqrt(2.0) if self.nodes == 3 else math.sqrt(2 * (self.nodes - 1))

    def center(self) -> Array:
        """2/m in every coordinate: the mean of all trees."""
        return np.full(self.dimension, 2 / self.nodes)

    def subsets(self) -> tuple[Array, Array]:
        """x >= 0, written as x(all but e) <= m - 1, and x(edges within S) <= |S| - 1 for sets S of nodes."""
        indicators, bounds = [*(1.0 - np.eye(self.dimension))], [self.total] * self.dimension
        for size in range(2, self.nodes):
            for members in itertools.combinations(range(self.nodes), size):
                indicators.append(np.isin(self.edges, members).all(axis=1).astype(np.float64))
                bounds.append(size - 1.0)
        return np.array(indicators), np.array(bounds)


class CoveragePolytope(SolvedPolytope):
    """Base polytope of a coverage function: F(S) = number of topics that the items of S cover, n <= 12.

    Item i covers the topics i, i + 1, ..., i + `width` - 1 around a circle of n topics.
    """

    name = "coverage"
    title = "coverage polytope"
    LARGEST = 12
    data = data_from(Topics)

    def __init__(self, dimension: int, *, width: int = 3):
        if not 2 <= width < self.LARGEST:
            allowed = f"2 to {self.LARGEST - 1}, less than the dimension"
            raise ValueError(f"width {width} of the set {self.name!r} is impossible; allowed: {allowed}")
        self.dimension = checked_dimension(self.name, dimension, minimum=width + 1)
        if self.dimension > self.LARGEST:
            allowed = f"{width + 1} to {self.LARGEST}: all 2^n subsets are listed"
            reject_dimension(self.name, dimension, allowed)
        self.total = float(self.dimension)  # every topic is covered
        items = np.arange(self.dimension)
        self.covers = np.zeros((self.dimension, self.dimension), dtype=bool)  # item, topic
        for step in range(width):
            self.covers[items, (items + step) % self.dimension] = True
        self.masks = self.covers @ (1 << items)
        # a coordinate lies between what an item adds last and what it covers alone
        self.diameter = math.sqrt(self.dimension) * width

    def center(self) -> Array:
        """Each topic is shared by the items that cover it: the Shapley value, the mean of all greedy vertices."""
        return (self.covers / self.covers.sum(axis=0)).sum(axis=1)

    @cached_property
    def _listed(self) -> tuple[Array, Array]:
        numbers = np.arange(1, 2**self.dimension - 1)
        members = (numbers[:, None] >> np.arange(self.dimension)) & 1
        covered = (members @ self.covers.astype(np.int64)) > 0
        return members.astype(np.float64), covered.sum(axis=1).astype(np.float64)

    def subsets(self) -> tuple[Array, Array]:
        """All proper subsets."""
        return self._listed

"""Base polytopes of submodular functions: vertices are found by greedy, whatever the function."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import isotonic_regression

from dpregret.algorithms.geometry.base import FixedSum, checked_dimension, reject_dimension
from dpregret.algorithms.geometry.corners import Permutations, Topics, Trees
from dpregret.algorithms.geometry.gauges import CoordinateGauge, FacetGauge
from dpregret.algorithms.geometry.hypersimplex import Cheapest, Hypersimplex
from dpregret.core.oracles import vertices
from dpregret.core.sets import Oracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import product

if TYPE_CHECKING:
    from dpregret.algorithms.geometry.reference import ReferenceProjection

PROJECTION_TOLERANCES: dict[str, Any] = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-10}
"""Of CLARABEL: as tight as a quadratic programme over a polytope bears."""


class BasePolytope(FixedSum):
    """{x : x(S) <= F(S) for all S, x(all) = F(all)} of a submodular F with F(empty) = 0.

    Edmonds' greedy: in order of increasing cost each coordinate gets its marginal value; the cheapest the first one.
    """

    def target(self) -> Array:
        """Half-way from the center to the vertex of increasing costs."""
        vertex = self.linear_oracle(np.arange(self.dimension, dtype=np.float64))
        return 0.5 * (self.center() + vertex)

    def reach(self, point: Array) -> float:
        """The diameter plus the distance to the center: an upper bound."""
        return self.diameter + float(np.linalg.norm(point - self.center()))


class Permutahedron(BasePolytope):
    """Hull of the permutations of (1, ..., n): F(S) = n + (n - 1) + ... over |S| terms."""

    name = "permutahedron"
    reference_limit = 64

    def __init__(self, dimension: int):
        self.dimension = checked_dimension(self.name, dimension, minimum=2)
        self.weights = np.arange(self.dimension, 0.0, -1.0)
        self.diameter = math.sqrt(self.dimension * (self.dimension**2 - 1) / 3)

    @property
    def data(self) -> Permutations:
        """n."""
        return Permutations(self.dimension)

    @property
    def vertex_count(self) -> int | float:
        """n!."""
        return math.factorial(self.dimension)

    def center(self) -> Array:
        """(n + 1)/2 in every coordinate."""
        return np.full(self.dimension, (self.dimension + 1) / 2)

    def reach(self, point: Array) -> float:
        """Distance to the farthest permutation, exact: |v| is the same for all, so the least <point, v> decides."""
        least = float(np.sort(point) @ self.weights)
        square = float(self.weights @ self.weights + point @ point - 2 * least)
        return math.sqrt(max(square, 0.0))

    def linear_oracle(self, cost: Array) -> Array:
        """The smallest cost gets n, the largest 1."""
        return vertices(self.data, cost)

    def project(self, points: Array) -> Array:
        """y - (isotonic regression of sorted y - w): pooled blocks share what is beyond w (Lim & Wright 2016)."""
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


class PartitionMatroid(BasePolytope):
    """Blocks of `block_size` coordinates, half of each (rounded down) are taken: a product of hypersimplices."""

    name = "partition-matroid"

    def __init__(self, dimension: int, *, block_size: int = 4):
        if block_size < 2:
            raise ValueError(f"block_size {block_size} of the set {self.name!r} is impossible; allowed: at least 2")
        self.dimension = checked_dimension(self.name, dimension, minimum=block_size)
        if self.dimension % block_size:
            reject_dimension(self.name, dimension, f"a multiple of the block size {block_size}")
        self.block = Hypersimplex(block_size, rank=block_size // 2)
        self.blocks = self.dimension // block_size
        self.diameter = self.block.diameter * math.sqrt(self.blocks)

    @property
    def data(self) -> Cheapest:
        """As many of every block."""
        return Cheapest(self.block.rank, self.block.dimension)

    @property
    def vertex_count(self) -> int | float:
        """One choice a block."""
        count: int = int(self.block.vertex_count) ** self.blocks
        return count

    def center(self) -> Array:
        """rank / block size in every coordinate."""
        return np.tile(self.block.center(), self.blocks)

    def reach(self, point: Array) -> float:
        """Farthest choice of every block, exact."""
        return math.sqrt(sum(self.block.reach(part) ** 2 for part in self._parts(point)))

    def linear_oracle(self, cost: Array) -> Array:
        """The cheapest of every block."""
        return vertices(self.data, cost)

    def project(self, points: Array) -> Array:
        """Block by block."""
        return self.block.project(self._parts(points)).reshape(points.shape)

    def violation(self, points: Array) -> Array:
        """That of the worst block."""
        worst: Array = self.block.violation(self._parts(points)).max(axis=-1)
        return worst

    def equalities(self) -> Array:
        """The sum of every block."""
        return np.repeat(np.eye(self.blocks), self.block.dimension, axis=1)

    def along_hull(self, vectors: Array) -> Array:
        """Without the mean of every block."""
        return self.block.along_hull(self._parts(vectors)).reshape(vectors.shape)

    def gauge(self) -> Oracle:
        """Facets x_i >= 0 and x_i <= 1."""
        return CoordinateGauge(self.center(), 1.0 - self.center(), self.along_hull)

    def inner_radius(self) -> float:
        """That of a block, exact."""
        return self.block.inner_radius()

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """Those of the blocks."""
        size = self.block.dimension
        return [
            each
            for start in range(0, self.dimension, size)
            for each in self.block.cvxpy_constraints(variable[start : start + size])
        ]

    def _parts(self, points: Array) -> Array:
        return points.reshape(*points.shape[:-1], self.blocks, self.block.dimension)


class SolvedPolytope(BasePolytope):
    """Base polytopes whose projection needs a solver, on the inequalities that `subsets` lists."""

    closed_form_projection = False

    @abstractmethod
    def subsets(self) -> tuple[Array, Array]:
        """Indicators (k, d) of the sets whose inequalities are needed, and F of them (k,)."""

    @property
    @abstractmethod
    def total(self) -> float:
        """F(all)."""

    @cached_property
    def _reference(self) -> ReferenceProjection:
        from dpregret.algorithms.geometry.reference import ReferenceProjection

        return ReferenceProjection(self, **PROJECTION_TOLERANCES)

    def project(self, points: Array) -> Array:
        """One quadratic programme a row through cvxpy, about a millisecond; accurate to about 1e-9, on facets 1e-5."""
        return self._reference.project(points)

    def violation(self, points: Array) -> Array:
        """Largest of x(S) - F(S), and the defect of the sum."""
        indicators, bounds = self.subsets()
        beyond = np.maximum((points @ indicators.T - bounds).max(axis=-1), 0.0)
        residual: Array = np.maximum(beyond, np.abs(points.sum(axis=-1) - self.total))
        return residual

    def gauge(self) -> Oracle:
        """All listed inequalities, a look at each."""
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

    def __init__(self, dimension: int):
        size = checked_dimension(self.name, dimension, minimum=3)
        self.nodes = (1 + math.isqrt(1 + 8 * size)) // 2
        if self.nodes * (self.nodes - 1) // 2 != size:
            smaller, larger = (m * (m - 1) // 2 for m in (self.nodes, self.nodes + 1))
            allowed = f"m (m - 1)/2 edges of m nodes; the nearest are {smaller} and {larger}"
            reject_dimension(self.name, dimension, allowed)
        self.dimension = size
        self.edges = np.array(list(itertools.combinations(range(self.nodes), 2)))
        self.diameter = math.sqrt(2.0) if self.nodes == 3 else math.sqrt(2 * (self.nodes - 1))

    @property
    def data(self) -> Trees:
        """The number of nodes."""
        return Trees(self.nodes)

    @property
    def total(self) -> float:
        """m - 1 edges."""
        return self.nodes - 1.0

    @property
    def vertex_count(self) -> int | float:
        """m^(m - 2) (Cayley)."""
        return int(self.nodes ** (self.nodes - 2))

    def center(self) -> Array:
        """2/m in every coordinate: the mean of all trees."""
        return np.full(self.dimension, 2 / self.nodes)

    def linear_oracle(self, cost: Array) -> Array:
        """The tree that Kruskal finds when of two equal edges the first one is taken; compiled."""
        return vertices(self.data, cost)

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

    def __init__(self, dimension: int, *, width: int = 3):
        if not 2 <= width < self.LARGEST:
            allowed = f"2 to {self.LARGEST - 1}, less than the dimension"
            raise ValueError(f"width {width} of the set {self.name!r} is impossible; allowed: {allowed}")
        self.dimension = checked_dimension(self.name, dimension, minimum=width + 1)
        if self.dimension > self.LARGEST:
            allowed = f"{width + 1} to {self.LARGEST}: all 2^n subsets are listed"
            reject_dimension(self.name, dimension, allowed)
        items = np.arange(self.dimension)
        self.covers = np.zeros((self.dimension, self.dimension), dtype=bool)  # item, topic
        for step in range(width):
            self.covers[items, (items + step) % self.dimension] = True
        # a coordinate lies between what an item adds last and what it covers alone
        self.diameter = math.sqrt(self.dimension) * width

    @property
    def total(self) -> float:
        """Every topic is covered."""
        return float(self.dimension)

    @property
    def vertex_count(self) -> int | float:
        """At most n!."""
        return math.factorial(self.dimension)

    def center(self) -> Array:
        """Each topic is shared by the items that cover it: the Shapley value, the mean of all greedy vertices."""
        value: Array = (self.covers / self.covers.sum(axis=0)).sum(axis=1)
        return value

    def linear_oracle(self, cost: Array) -> Array:
        """Edmonds' greedy, of two equal costs the first one; compiled."""
        return vertices(self.data, cost)

    @cached_property
    def data(self) -> Topics:
        """The bit mask of every item's topics."""
        return Topics(self.covers @ (1 << np.arange(self.dimension)))

    @cached_property
    def _listed(self) -> tuple[Array, Array]:
        numbers = np.arange(1, 2**self.dimension - 1)
        members = (numbers[:, None] >> np.arange(self.dimension)) & 1
        covered = (members @ self.covers.astype(np.int64)) > 0
        return members.astype(np.float64), covered.sum(axis=1).astype(np.float64)

    def subsets(self) -> tuple[Array, Array]:
        """All proper subsets."""
        return self._listed

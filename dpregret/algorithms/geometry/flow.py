"""Flow polytope: unit flows from source to sink of a directed acyclic graph."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.geometry.base import checked_dimension, reach_of_binary, reject_dimension
from dpregret.algorithms.geometry.dag import Dag, Edge, grid_edges
from dpregret.algorithms.geometry.gauges import CoordinateGauge
from dpregret.algorithms.geometry.mass import move_mass
from dpregret.core.oracles import by_corners, corner, vertex, vertices
from dpregret.core.sets import ConstraintSet, LocalOracle, Oracle, UnsupportedSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import product

if TYPE_CHECKING:
    from dpregret.algorithms.geometry.reference import ReferenceProjection

MOST_PATHS = 4096
"""Largest number of paths over which the local oracle keeps weights."""

PROJECTION_TOLERANCES: dict[str, Any] = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-10}
"""Of CLARABEL: as tight as a quadratic programme over a polytope bears."""


class Paths(NamedTuple):
    """The paths of a `Dag` from source to sink, as its `flattened` writes it, for compiled rounds."""

    graph: NDArray[np.int64]


@corner.add
def _(paths: Paths, cost, out, whole, real):
    """Costs to the sink, then a walk from the source."""
    graph = paths.graph
    nodes, source, sink, edges = graph[0], graph[1], graph[2], graph[3]
    order, first = 4, 4 + nodes
    listed = first + nodes + 1
    heads = listed + edges
    for index in range(nodes):
        node = graph[order + index]
        if node == sink:
            real[node] = 0.0
            continue
        for slot in range(graph[first + node], graph[first + node + 1]):
            edge = graph[listed + slot]
            through = cost[edge] + real[graph[heads + edge]]
            if slot == graph[first + node] or through < real[node]:
                real[node], whole[node] = through, edge
    out[:] = 0.0
    node = source
    while node != sink:
        out[whole[node]] = 1.0
        node = graph[heads + whole[node]]


vertex.kinds[Paths] = by_corners


class FlowPolytope(ConstraintSet):
    """{x >= 0, outflow - inflow = 1 at the source, -1 at the sink, 0 elsewhere}; one coordinate an edge.

    By default the side x side grid of 2 side (side - 1) = dimension edges that point right or down. `edges`
    gives any other acyclic graph as pairs (tail, head). The vertices are the paths, so 0/1 vectors; conservation
    implies x <= 1.
    """

    name = "flow"
    title = "flow polytope"
    closed_form_projection = False

    def __init__(self, dimension: int, *, edges: Sequence[Edge] | None = None):
        if edges is None:
            edges = grid_edges(_grid_side(dimension))
        elif dimension != len(edges):
            reject_dimension(self.name, dimension, f"the number of edges given, {len(edges)}")
        self.graph = Dag(edges)
        self.dimension = len(edges)
        if self.graph.path_count < 2:
            raise ValueError("the flow polytope of a graph with a single path is one point; give a second path")
        self.diameter = _flow_diameter(self.graph)

    @cached_property
    def data(self) -> Paths:
        """The graph, flattened."""
        return Paths(np.array(self.graph.flattened))

    @property
    def vertex_count(self) -> int | float:
        """The number of paths."""
        return self.graph.path_count

    def center(self) -> Array:
        """The mean of all paths (d,)."""
        return self.graph.uniform_flow()

    def target(self) -> Array:
        """Mean of the lexicographically first paths, a quarter of them (2 to 64); 3/4, 1/4 if there are two.

        On a grid these paths share their first edge, so the target lies on a proper face.
        """
        count = min(max(2, self.graph.path_count // 4), 64)
        weights = [0.75, 0.25] if self.graph.path_count == 2 else [1.0 / count] * count
        point = np.zeros(self.dimension)
        for weight, path in zip(weights, itertools.islice(self.graph.paths(), count), strict=True):
            point[path] += weight
        return point

    def reach(self, point: Array) -> float:
        """Distance to the farthest path, exact."""
        cost, path = 2.0 * point - 1.0, np.empty_like(point)
        size = 1 + self.dimension
        corner(self.data, cost, path, np.empty(size, np.int64), np.empty(size))  # one is not worth compiling for
        return reach_of_binary(float(cost @ path), point)

    def linear_oracle(self, cost: Array) -> Array:
        """Shortest paths, costs of any sign, by dynamic programming; of equal ones the edge listed first; compiled."""
        return vertices(self.data, cost)

    def project(self, points: Array) -> Array:
        """Slow: one quadratic programme a row through cvxpy, about a millisecond (10 microseconds in closed form).

        There is no closed form. The accuracy is the solver's: about 1e-9 in a coordinate, up to 1e-6 for points
        on the boundary. This call is what projection-free methods avoid.
        """
        return self._reference.project(points)

    @cached_property
    def _reference(self) -> ReferenceProjection:
        from dpregret.algorithms.geometry.reference import ReferenceProjection

        return ReferenceProjection(self, **PROJECTION_TOLERANCES)

    def violation(self, points: Array) -> Array:
        """max(0, -min_e x_e, largest absolute conservation residual of a node)."""
        unbalanced = np.abs(points @ self.graph.incidence.T - self.graph.supply).max(axis=-1)
        residual: Array = np.maximum(np.maximum(-points.min(axis=-1), 0.0), unbalanced)
        return residual

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """x >= 0 and conservation (the redundant row of the sink left out)."""
        kept = np.arange(self.graph.node_count) != self.graph.sink
        return [variable >= 0, self.graph.incidence[kept] @ variable == self.graph.supply[kept]]

    def equalities(self) -> Array:
        """Conservation at every node but the sink."""
        rows: Array = self.graph.incidence[np.arange(self.graph.node_count) != self.graph.sink]
        return rows

    def gauge(self) -> Oracle:
        """Facets x_e >= 0, a look at each edge."""
        return CoordinateGauge(self.center(), np.full(self.dimension, np.inf), self.along_hull)

    def inner_radius(self) -> float:
        """Distance from the center to the nearest facet x_e = 0 within the hull, exact."""
        basis = self.hull_basis()
        lengths = np.linalg.norm(basis, axis=1)  # of the projected unit vectors
        moving = lengths > 1e-12  # an edge of every path never moves
        return float((self.center()[moving] / lengths[moving]).min())

    def local_oracle(self) -> LocalOracle:
        """Moves weight between paths; UnsupportedSet beyond 4096 paths."""
        if self.graph.path_count > MOST_PATHS:
            raise UnsupportedSet(
                f"the local linear oracle of the set 'flow' keeps a weight a path: {self.graph.path_count} paths "
                f"are more than {MOST_PATHS} (grids up to 8 x 8 are fine)"
            )
        return FlowLocalOracle(self)


class FlowLocalOracle(LocalOracle):
    """Weights (..., paths); M = min(1, sqrt(E) r) moves from the costliest paths to the cheapest.

    (i): let y be a flow with |y - x|_2 <= r. Take weight x_e - y_e from paths through each edge e with
    x_e > y_e, in all at most |y - x|_1 <= sqrt(E) r. What is left is below y on every edge, so y minus it is a
    flow, a sum of paths: y is reached by that move. (ii): mass M moves over at most the diameter, so the ratio
    is sqrt(E) diameter (Garber & Hazan 2016, whose psi and xi are one here).
    """

    def __init__(self, flow: FlowPolytope):
        graph = flow.graph
        self._graph = graph
        self._mass_per_radius = float(np.sqrt(flow.dimension))
        self.ratio = self._mass_per_radius * flow.diameter
        # Short paths are padded with the edge number `edge_count`, of probability one.
        self._path_edges = np.full((graph.path_count, graph.longest_path), flow.dimension, dtype=np.intp)
        self._paths = np.zeros((graph.path_count, flow.dimension))
        for row, path in enumerate(graph.paths()):
            self._path_edges[row, : len(path)] = path
            self._paths[row, path] = 1.0

    def lift(self, points: Array) -> Array:
        """Weights of the random walk that leaves each node in proportion to the flow on its edges; exact."""
        flows = np.maximum(points, 0.0)
        outflows = flows @ np.maximum(self._graph.incidence, 0.0).T
        outflows = outflows[..., self._graph.tails]
        shares = np.ones((*points.shape[:-1], self._graph.edge_count + 1))
        shares[..., :-1] = flows / np.where(outflows > 0.0, outflows, 1.0)
        weights: Array = shares[..., self._path_edges].prod(axis=-1)
        return weights

    def point(self, weights: Array) -> Array:
        """Edge flows (..., d)."""
        flows = product(weights, self._paths)
        return flows

    def answer(self, weights: Array, radius: float | Array, cost: Array) -> Array:
        """Weights (..., paths) after the move."""
        scores = product(cost, self._paths.T)
        return move_mass(weights, scores, np.minimum(self._mass_per_radius * radius, 1.0))


def _grid_side(dimension: int) -> int:
    """Side k of the grid with 2 k (k - 1) edges; raises ValueError naming the nearest possible dimensions."""
    size = checked_dimension(FlowPolytope.name, dimension, minimum=4)
    side = round((1.0 + float(np.sqrt(1.0 + 2.0 * size))) / 2.0)
    if 2 * side * (side - 1) == size:
        return side
    lower = side if 2 * side * (side - 1) < size else side - 1
    below, above = 2 * lower * (lower - 1), 2 * (lower + 1) * lower
    reject_dimension(
        FlowPolytope.name,
        dimension,
        f"2 k (k - 1) edges of a k x k grid, k >= 2; the nearest are {below} and {above} (or give edges=...)",
    )


def _flow_diameter(graph: Dag) -> float:
    """Largest distance of two paths, exact: sqrt of the largest number of edges on exactly one of two paths.

    Two paths are a flow of value two; its first unit on an edge gains one, the second loses it again. The gain
    is concave, so the linear programme over both units has an integral optimum.
    """
    from scipy.optimize import linprog

    gains = np.repeat([1.0, -1.0], graph.edge_count)
    solution = linprog(
        -gains,
        A_eq=np.hstack([graph.incidence, graph.incidence]),
        b_eq=2.0 * graph.supply,
        bounds=(0.0, 1.0),
        method="highs",
    )
    if not solution.success or solution.fun is None:
        raise RuntimeError(f"the diameter of the flow polytope was not found: {solution.message}")
    return float(np.sqrt(round(-solution.fun)))

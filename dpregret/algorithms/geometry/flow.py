"""Flow polytope: unit flows from source to sink of a directed acyclic graph."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.geometry.set_kinds import (
    CoordinateGauge,
    SolvedProjection,
    checked_dimension,
    reach_of_binary,
    reject_dimension,
)
from dpregret.algorithms.geometry.simplex import move_mass
from dpregret.core.oracles import by_corners, corner, vertex
from dpregret.core.sets import LocalOracle, Oracle, UnsupportedSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import product

MOST_PATHS = 4096
"""Largest number of paths over which the local oracle keeps weights."""


class Paths(NamedTuple):
    """The paths of a `Dag` from source to sink, for compiled rounds.

    order: the nodes, sink first; edges[first[v] : first[v + 1]] leave node v; heads (edges,).
    """

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    edges: NDArray[np.int64]
    heads: NDArray[np.int64]
    source: int
    sink: int


@corner.add
def _corner_paths(paths: Paths, cost, out, whole, real):
    """Costs to the sink, of any sign, then a walk from the source; of equal ones the edge listed first."""
    first, edges, heads = paths.first, paths.edges, paths.heads
    for node in paths.order:
        real[node] = 0.0  # and stays so at the sink
        for slot in range(first[node], first[node + 1]):
            edge = edges[slot]
            length = cost[edge] + real[heads[edge]]
            if slot == first[node] or length < real[node]:
                real[node], whole[node] = length, edge
    out[:] = 0.0
    node = paths.source
    while node != paths.sink:
        out[whole[node]] = 1.0
        node = heads[whole[node]]


vertex.kinds[Paths] = by_corners


Edge = tuple[Hashable, Hashable]


def grid_edges(side: int) -> list[Edge]:
    """2 side (side - 1) edges of the side x side grid, right before down, nodes (row, column) row by row."""
    edges: list[Edge] = []
    for row, column in itertools.product(range(side), repeat=2):
        neighbours = [(row, column + 1), (row + 1, column)]
        edges += [((row, column), node) for node in neighbours if max(node) < side]
    return edges


def layered_edges(widths: Sequence[int]) -> list[Edge]:
    """Edges of a layered graph: a source, fully connected layers of the given widths, a sink."""
    if not widths or min(widths) < 1:
        raise ValueError(f"layers need widths of at least 1, not {list(widths)}")
    layers = [[(depth, index) for index in range(width)] for depth, width in enumerate([1, *widths, 1])]
    return [edge for tails, heads in itertools.pairwise(layers) for edge in itertools.product(tails, heads)]


class Dag:
    """Directed acyclic graph given by its edges (tail, head); nodes are any hashable labels.

    With a single source and a single sink, every edge lies on a path between them. order: nodes, sink first, every node
    after all heads of its edges. incidence (nodes, edges): +1 at the tail, -1 at the head; a unit flow x has incidence
    @ x = supply. paths_to_sink: the number of paths from every node, exact integers.
    Raises ValueError for a cycle, or where source or sink is not unique.
    """

    def __init__(self, edges: Sequence[Edge]):
        labels = list(dict.fromkeys(itertools.chain.from_iterable(edges)))
        index = {label: node for node, label in enumerate(labels)}
        self.tails = np.array([index[tail] for tail, _ in edges], dtype=np.intp)
        self.heads = np.array([index[head] for _, head in edges], dtype=np.intp)
        self.outgoing: list[list[int]] = [[] for _ in labels]
        for edge, tail in enumerate(self.tails):
            self.outgoing[tail].append(edge)
        after = {node: {int(self.heads[edge]) for edge in edges} for node, edges in enumerate(self.outgoing)}
        try:
            self.order = list(TopologicalSorter(after).static_order())
        except CycleError as error:
            raise ValueError("the edges of a flow contain a directed cycle; an acyclic graph is needed") from error
        sources = [labels[node] for node in sorted(set(range(len(labels))) - set(self.heads.tolist()))]
        sinks = [labels[node] for node, edges_out in enumerate(self.outgoing) if not edges_out]
        if len(sources) != 1 or len(sinks) != 1:
            raise ValueError(
                f"a flow needs one node without incoming and one without outgoing edges, not {sources} and {sinks}"
            )
        self.source, self.sink = index[sources[0]], index[sinks[0]]
        numbers, self.supply = np.arange(len(edges)), np.zeros(len(labels))
        self.incidence = np.zeros((len(labels), len(edges)))
        self.incidence[self.tails, numbers], self.incidence[self.heads, numbers] = 1.0, -1.0
        self.supply[self.source], self.supply[self.sink] = 1.0, -1.0
        self.paths_to_sink = [int(node == self.sink) for node in range(len(labels))]
        for node in self.order:
            self.paths_to_sink[node] += sum(self.paths_to_sink[self.heads[edge]] for edge in self.outgoing[node])
        self.path_count = self.paths_to_sink[self.source]

    def uniform_flow(self) -> Array:
        """Mean (edges,) of all paths, without listing them."""
        reached = [0.0] * len(self.order)
        reached[self.source] = 1.0
        flow = np.zeros(len(self.tails))
        for node in reversed(self.order):
            for edge in self.outgoing[node]:
                head = self.heads[edge]
                flow[edge] = reached[node] * (self.paths_to_sink[head] / self.paths_to_sink[node])
                reached[head] += flow[edge]
        return flow

    def paths(self) -> Iterator[list[int]]:
        """Paths as lists of edges, in lexicographic order of the choices at each node; lazily."""

        def extend(node: int) -> Iterator[list[int]]:
            if node == self.sink:
                yield []
            for edge in self.outgoing[node]:
                for rest in extend(int(self.heads[edge])):
                    yield [edge, *rest]

        return extend(self.source)


class FlowPolytope(SolvedProjection):
    """{x >= 0, outflow - inflow = 1 at the source, -1 at the sink, 0 elsewhere}; one coordinate an edge.

    By default the side x side grid of 2 side (side - 1) = dimension edges that point right or down. `edges`
    gives any other acyclic graph as pairs (tail, head). The vertices are the paths, so 0/1 vectors; conservation
    implies x <= 1.
    """

    name = "flow"
    title = "flow polytope"

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
        """The graph."""
        graph = self.graph
        first = np.cumsum([0, *map(len, graph.outgoing)])
        edges = np.array([*itertools.chain(*graph.outgoing)])
        return Paths(np.array(graph.order), first, edges, graph.heads, graph.source, graph.sink)

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

    def max_distance_from(self, point: Array) -> float:
        """Distance to the farthest path, exact."""
        cost, path = 2.0 * point - 1.0, np.empty_like(point)
        size = 1 + self.dimension
        corner(self.data, cost, path, np.empty(size, np.int64), np.empty(size))  # a single call is not worth compiling
        return reach_of_binary(float(cost @ path), point)

    def violation(self, points: Array) -> Array:
        """max(0, -min_e x_e, largest absolute conservation residual of a node)."""
        unbalanced = np.abs(points @ self.graph.incidence.T - self.graph.supply).max(axis=-1)
        return np.maximum(np.maximum(-points.min(axis=-1), 0.0), unbalanced)

    def cvxpy_constraints(self, variable: Any) -> list[Any]:
        """x >= 0 and conservation (the redundant row of the sink left out)."""
        return [variable >= 0, self.equalities() @ variable == np.delete(self.graph.supply, self.graph.sink)]

    def equalities(self) -> Array:
        """Conservation at every node but the sink."""
        return np.delete(self.graph.incidence, self.graph.sink, axis=0)

    def gauge(self) -> Oracle:
        """Facets x_e >= 0, over all edges."""
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
    x_e > y_e, in all at most |y - x|_1 <= sqrt(E) r. The rest is below y on every edge, so y minus it is a
    flow, a sum of paths: y is reached by that move. (ii): mass M moves over at most the diameter, so the ratio
    is sqrt(E) diameter (Garber & Hazan 2016, whose psi and xi are one here).
    """

    def __init__(self, flow: FlowPolytope):
        graph = flow.graph
        self._graph = graph
        self._mass_per_radius = float(np.sqrt(flow.dimension))
        self.ratio = self._mass_per_radius * flow.diameter
        paths = list(graph.paths())
        # Short paths are padded with the edge number `dimension`, of probability one.
        self._path_edges = np.full((len(paths), max(map(len, paths))), flow.dimension, dtype=np.intp)
        self._paths = np.zeros((len(paths), flow.dimension))
        for row, path in enumerate(paths):
            self._path_edges[row, : len(path)] = path
            self._paths[row, path] = 1.0

    def lift(self, points: Array) -> Array:
        """Weights of the random walk that leaves each node in proportion to the flow on its edges; exact."""
        flows = np.maximum(points, 0.0)
        outflows = flows @ np.maximum(self._graph.incidence, 0.0).T
        outflows = outflows[..., self._graph.tails]
        shares = np.ones((*points.shape[:-1], len(self._graph.tails) + 1))
        shares[..., :-1] = flows / np.where(outflows > 0.0, outflows, 1.0)
        return shares[..., self._path_edges].prod(axis=-1)

    def point(self, weights: Array) -> Array:
        """Edge flows (..., d)."""
        return product(weights, self._paths)

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

    gains = np.repeat([1.0, -1.0], len(graph.tails))
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

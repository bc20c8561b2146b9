"""Directed acyclic graphs with one source and one sink: paths, path counts, and all of it in one list of integers."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np

from dpregret.numerics.arrays import Array

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

    With a single source and a single sink, every edge lies on a path between them.
    Raises ValueError for a cycle, or where source or sink is not unique.
    """

    def __init__(self, edges: Sequence[Edge]):
        self.edge_count = len(edges)
        labels = list(dict.fromkeys(itertools.chain.from_iterable(edges)))
        index = {label: node for node, label in enumerate(labels)}
        self.node_count = len(labels)
        self.tails = np.array([index[tail] for tail, _ in edges], dtype=np.intp)
        self.heads = np.array([index[head] for _, head in edges], dtype=np.intp)
        self.outgoing: list[list[int]] = [[] for _ in labels]
        for edge, tail in enumerate(self.tails):
            self.outgoing[tail].append(edge)
        sources = [labels[node] for node in sorted(set(range(self.node_count)) - set(self.heads.tolist()))]
        sinks = [labels[node] for node, edges_out in enumerate(self.outgoing) if not edges_out]
        self.order = self._topological_order()
        if len(sources) != 1 or len(sinks) != 1:
            raise ValueError(
                f"a flow needs one node without incoming and one without outgoing edges, not {sources} and {sinks}"
            )
        self.source, self.sink = index[sources[0]], index[sinks[0]]

    def _topological_order(self) -> list[int]:
        """Nodes, sink first: every node after all heads of its edges."""
        sorter = TopologicalSorter(
            {node: {int(self.heads[edge]) for edge in edges} for node, edges in enumerate(self.outgoing)}
        )
        try:
            return list(sorter.static_order())
        except CycleError as error:
            raise ValueError("the edges of a flow contain a directed cycle; an acyclic graph is needed") from error

    @cached_property
    def incidence(self) -> Array:
        """Matrix (nodes, edges): +1 at the tail, -1 at the head; a unit flow x has incidence @ x = supply."""
        matrix = np.zeros((self.node_count, self.edge_count))
        edges = np.arange(self.edge_count)
        matrix[self.tails, edges] = 1.0
        matrix[self.heads, edges] = -1.0
        return matrix

    @cached_property
    def supply(self) -> Array:
        """Vector (nodes,): +1 at the source, -1 at the sink."""
        vector = np.zeros(self.node_count)
        vector[self.source], vector[self.sink] = 1.0, -1.0
        return vector

    @cached_property
    def paths_to_sink(self) -> list[int]:
        """Number of paths from every node to the sink, exact integers."""
        counts = [0] * self.node_count
        counts[self.sink] = 1
        for node in self.order:
            counts[node] += sum(counts[self.heads[edge]] for edge in self.outgoing[node])
        return counts

    @property
    def path_count(self) -> int:
        """Number of paths from source to sink."""
        return self.paths_to_sink[self.source]

    def uniform_flow(self) -> Array:
        """Mean (edges,) of all paths, without listing them."""
        reached = [0.0] * self.node_count
        reached[self.source] = 1.0
        flow = np.zeros(self.edge_count)
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

    @cached_property
    def flattened(self) -> list[int]:
        """Four counts and places, all nodes sink first, where each node's outgoing edges begin, these, all heads."""
        begins = np.cumsum([0, *map(len, self.outgoing)])
        numbers = [self.node_count, self.source, self.sink, self.edge_count]
        return [*numbers, *self.order, *begins.tolist(), *itertools.chain(*self.outgoing), *self.heads.tolist()]

    @cached_property
    def longest_path(self) -> int:
        """Number of edges of a longest path."""
        depth = [0] * self.node_count
        for node in self.order:
            depth[node] = max((depth[self.heads[edge]] + 1 for edge in self.outgoing[node]), default=0)
        return depth[self.source]

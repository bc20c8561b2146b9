"""The compiled oracles in plain Python, row by row, written as textbooks have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpregret.algorithms.geometry.flow import FlowPolytope
from dpregret.algorithms.geometry.submodular import CoveragePolytope, SpanningTrees
from dpregret.numerics.arrays import Array


def plain_vertex(domain: Any, cost: Array) -> Array:
    """A vertex (d,) of least cost (d,); of equal costs the first one is the smaller."""
    match domain:
        case CoveragePolytope():
            return _greedy(domain, cost)
        case SpanningTrees():
            return _kruskal(domain, cost)
        case FlowPolytope():
            return _shortest_path(domain, cost)
        case _:
            raise TypeError(f"no plain oracle of {domain}")


def _greedy(domain: CoveragePolytope, cost: Array) -> Array:
    """Each item gets the number of topics that it adds to those of the cheaper ones."""
    covered: set[int] = set()
    vertex = np.zeros(domain.dimension)
    for item in np.argsort(cost, kind="stable"):
        topics = set(np.flatnonzero(domain.covers[item]).tolist())
        vertex[item] = len(topics - covered)
        covered |= topics
    return vertex


def _kruskal(domain: SpanningTrees, cost: Array) -> Array:
    """Edges in order of cost join two components or are left out."""
    component = list(range(domain.nodes))
    tree = np.zeros(domain.dimension)
    for edge in np.argsort(cost, kind="stable"):
        one, other = (component[node] for node in domain.edges[edge])
        if one != other:
            tree[edge] = 1.0
            component = [one if each == other else each for each in component]
    return tree


def _shortest_path(domain: FlowPolytope, cost: Array) -> Array:
    """Dynamic programming from the sink."""
    graph = domain.graph
    left = {graph.sink: 0.0}
    after: dict[int, int] = {}
    for node in graph.order:
        if node != graph.sink:
            through = [cost[edge] + left[int(graph.heads[edge])] for edge in graph.outgoing[node]]
            after[node] = graph.outgoing[node][int(np.argmin(through))]
            left[node] = min(through)
    path, node = np.zeros(domain.dimension), graph.source
    while node != graph.sink:
        path[after[node]] = 1.0
        node = int(graph.heads[after[node]])
    return path

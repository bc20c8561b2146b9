"""Compiled linear oracles: a vertex for every cost, so that loops over oracles need no Python.

A set says which of them is its own, and with which numbers, in `ConstraintSet.vertex_rule`. Every sum runs in the order
written. Of equal costs the coordinate, edge or item listed first counts as the smaller one.
"""

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.jacobi import orthogonalise

Whole = NDArray[np.int64]
BALL, L1_BALL, CHEAPEST, PERMUTATION, COVERAGE, TREE, PATH, SPECTRAHEDRON, NUCLEAR = range(9)
LONGEST_SORT = 64  # entries that insertion sorts as fast as anything else


class VertexRule(NamedTuple):
    """Which rule finds the vertices of a set, and its integers and real numbers; see `fill_vertices`."""

    kind: int
    whole: Whole
    real: Array


def rule(kind: int, whole: object = (), real: object = ()) -> VertexRule:
    """A rule from any sequences of numbers."""
    return VertexRule(kind, np.array(whole, dtype=np.int64), np.array(real, dtype=np.float64))


def vertices(chosen: VertexRule, costs: Array) -> Array:
    """Vertices of least cost, (..., d) -> (..., d)."""
    rows = np.ascontiguousarray(costs, dtype=np.float64).reshape(-1, costs.shape[-1])
    return _vertices(*chosen, rows).reshape(costs.shape)


def shortest_path(graph: Whole, cost: Array) -> Array:
    """A vertex of the rule PATH for one cost (d,), interpreted: a single one is not worth compiling for."""
    out, plain = np.empty_like(cost), (cast(Any, room).py_func, cast(Any, _path).py_func)
    plain[1](graph, cost, out, *plain[0](graph, len(cost)))
    return out


@compiled
def room(whole: Whole, dimension: int) -> tuple[Whole, Array]:
    """Scratch of `fill_vertices`: integers and real numbers, to be used again and again."""
    size = 4 * dimension + len(whole)
    return np.empty(size, np.int64), np.empty(size)


@compiled
def _vertices(kind: int, whole: Whole, real: Array, costs: Array) -> Array:
    places, work = room(whole, costs.shape[1])
    found = np.empty_like(costs)
    fill_vertices(kind, whole, real, costs, found, places, work)
    return found


@compiled
def fill_vertices(kind: int, whole: Whole, real: Array, costs: Array, out: Array, places: Whole, work: Array) -> None:
    """Put vertices of least cost (rows, d) into `out` (rows, d). places, work: from `room`."""
    if kind == BALL:
        for row in range(len(costs)):
            _ball(real[0], costs[row], out[row])
    elif kind == L1_BALL:
        for row in range(len(costs)):
            _l1_ball(real[0], costs[row], out[row])
    elif kind == CHEAPEST:
        for row in range(len(costs)):
            _cheapest(whole[0], whole[1], costs[row], out[row])
    elif kind == PERMUTATION:
        for row in range(len(costs)):
            _permutation(costs[row], out[row], places)
    elif kind == COVERAGE:
        for row in range(len(costs)):
            _coverage(whole, costs[row], out[row], places)
    elif kind == TREE:
        for row in range(len(costs)):
            _tree(whole[0], costs[row], out[row], places, work)
    elif kind == PATH:
        for row in range(len(costs)):
            _path(whole, costs[row], out[row], places, work)
    elif kind == SPECTRAHEDRON:
        for row in range(len(costs)):
            _bottom_projector(whole[0], costs[row], out[row], work)
    else:
        for row in range(len(costs)):
            _top_pair(whole[0], real[0], costs[row], out[row], work)


@inlined
def _ball(radius: float, cost: Array, out: Array) -> None:
    square = 0.0
    for each in cost:
        square += each * each
    if square == 0.0:
        out[:] = 0.0
        out[0] = radius
    else:
        scale = -radius / np.sqrt(square)
        for j in range(len(cost)):
            out[j] = cost[j] * scale


@inlined
def _l1_ball(radius: float, cost: Array, out: Array) -> None:
    best = 0
    for j in range(1, len(cost)):
        if abs(cost[j]) > abs(cost[best]):
            best = j
    out[:] = 0.0
    out[best] = np.copysign(radius, -cost[best])


@inlined
def _cheapest(rank: int, block: int, cost: Array, out: Array) -> None:
    """Ones on the `rank` cheapest of every `block` coordinates: counts who is cheaper, without a branch to foresee."""
    for first in range(0, len(cost), block):
        for j in range(first, first + block):
            own, cheaper = cost[j], 0
            for i in range(first, j):
                cheaper += cost[i] <= own
            for i in range(j + 1, first + block):
                cheaper += cost[i] < own
            out[j] = 1.0 if cheaper < rank else 0.0


@inlined
def _sort(cost: Array, order: Whole) -> None:
    """Stable, by insertion."""
    for j in range(len(cost)):
        place = j
        while place > 0 and cost[order[place - 1]] > cost[j]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = j


@inlined
def _permutation(cost: Array, out: Array, places: Whole) -> None:
    size = len(cost)
    _sort(cost, places)
    for place in range(size):
        out[places[place]] = size - place


@inlined
def _coverage(masks: Whole, cost: Array, out: Array, places: Whole) -> None:
    """Edmonds' greedy on bit masks of topics: every item in turn gets the number of topics that it adds."""
    _sort(cost, places)
    done = 0
    for place in range(len(cost)):
        item = places[place]
        fresh = masks[item] & ~done
        done |= fresh
        added = 0
        while fresh:
            fresh &= fresh - 1
            added += 1
        out[item] = added


@inlined
def _tree(nodes: int, cost: Array, out: Array, places: Whole, work: Array) -> None:
    """Prim on pairs (cost, number of the edge): no two edges are alike, so it finds Kruskal's tree."""
    out[:] = 0.0
    for node in range(1, nodes):
        places[node], work[node] = node - 1, cost[node - 1]  # cheapest edge into the tree, which is node 0
    places[0] = -1
    for _ in range(nodes - 1):
        best = -1
        for node in range(1, nodes):
            if places[node] >= 0 and (best < 0 or _before(work[node], places[node], work[best], places[best])):
                best = node
        out[places[best]] = 1.0
        places[best] = -1
        for node in range(1, nodes):
            if places[node] >= 0:
                low, high = min(node, best), max(node, best)
                edge = low * (2 * nodes - low - 1) // 2 + high - low - 1
                if _before(cost[edge], edge, work[node], places[node]):
                    places[node], work[node] = edge, cost[edge]


@inlined
def _before(cost: float, edge: int, other_cost: float, other_edge: int) -> bool:
    return cost < other_cost or (cost == other_cost and edge < other_edge)


@inlined
def _path(graph: Whole, cost: Array, out: Array, places: Whole, work: Array) -> None:
    """Shortest path of a `Dag`, written as `Dag.flattened` does: costs to the sink, then a walk from the source."""
    nodes, source, sink, edges = graph[0], graph[1], graph[2], graph[3]
    order, first = 4, 4 + nodes
    listed = first + nodes + 1
    heads = listed + edges
    for place in range(nodes):
        node = graph[order + place]
        if node == sink:
            work[node] = 0.0
            continue
        for slot in range(graph[first + node], graph[first + node + 1]):
            edge = graph[listed + slot]
            through = cost[edge] + work[graph[heads + edge]]
            if slot == graph[first + node] or through < work[node]:
                work[node], places[node] = through, edge
    out[:] = 0.0
    node = source
    while node != sink:
        out[places[node]] = 1.0
        node = graph[heads + places[node]]


@inlined
def _rows_and_values(side: int, work: Array) -> tuple[Array, Array]:
    """Room (1, m, 2 m) for a matrix with the identity at its right, and (1, m)."""
    room = 2 * side * side
    rows, values = work[:room].reshape(1, side, 2 * side), work[room : room + side].reshape(1, side)
    for i in range(side):
        for j in range(side):
            rows[0, i, side + j] = 1.0 if i == j else 0.0
    return rows, values


@compiled
def _bottom_projector(side: int, cost: Array, out: Array, work: Array) -> None:
    """v v^T, v the bottom eigenvector of the symmetric part; work: rows and values of `orthogonalise`."""
    rows, values = _rows_and_values(side, work)
    for i in range(side):
        for j in range(side):
            rows[0, i, j] = 0.5 * (cost[i * side + j] + cost[j * side + i])
    orthogonalise(rows, values, True)
    best = np.argmin(values[0])
    basis = rows[0, best, side:]
    for i in range(side):
        for j in range(side):
            out[i * side + j] = basis[i] * basis[j]


@compiled
def _top_pair(side: int, radius: float, cost: Array, out: Array, work: Array) -> None:
    """-radius u v^T of the top singular pair; work: rows and values of `orthogonalise`.

    A zero matrix has u = v = e_1.
    """
    rows, squares = _rows_and_values(side, work)
    for i in range(side):
        for j in range(side):
            rows[0, i, j] = cost[i * side + j]
    orthogonalise(rows, squares, False)
    best = np.argmax(squares[0])
    if squares[0, best] <= 0.0:
        out[:] = 0.0
        out[0] = -radius
        return
    scale = -radius / np.sqrt(squares[0, best])
    top = rows[0, best]
    for i in range(side):
        for j in range(side):
            out[i * side + j] = scale * top[side + i] * top[j]

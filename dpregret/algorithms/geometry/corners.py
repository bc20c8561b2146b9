"""Vertices of base polytopes for compiled rounds (core/oracles.py): greedy, whatever the function."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.geometry.mass import sift
from dpregret.core.oracles import by_corners, corner, vertex
from dpregret.numerics.compiled import inlined

LONGEST = 64  # entries that insertion sorts as fast as anything else


@inlined
def sort(cost, order, scores):
    """The order of costs (d,), of equal ones the first one first: by insertion, or by a heap. scores: scratch."""
    size = len(cost)
    if size <= LONGEST:
        for j in range(size):
            place = j
            while place > 0 and cost[order[place - 1]] > cost[j]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = j
        return
    for j in range(size):
        order[j], scores[j] = j, -cost[j]
    for top in range(size // 2 - 1, -1, -1):
        sift(scores, order, top, size)
    for last in range(size - 1, 0, -1):  # the cheapest of what is left goes behind it
        order[0], order[last] = order[last], order[0]
        sift(scores, order, 0, last)
    for j in range(size // 2):
        order[j], order[size - 1 - j] = order[size - 1 - j], order[j]


class Permutations(NamedTuple):
    """The permutations of (1, ..., size), for compiled rounds."""

    size: int


@corner.add
def _(permutations: Permutations, cost, out, whole, real):
    """The smallest cost gets n, the largest 1."""
    sort(cost, whole, real)
    for index in range(permutations.size):
        out[whole[index]] = permutations.size - index


vertex.kinds[Permutations] = by_corners


class Trees(NamedTuple):
    """The spanning trees of the complete graph on some nodes, for compiled rounds."""

    nodes: int


@corner.add
def _(trees: Trees, cost, out, whole, real):
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
def _(topics: Topics, cost, out, whole, real):
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

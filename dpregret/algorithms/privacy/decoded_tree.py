"""The window tree with the best linear decoder: the fairest tree to compare with.

Nodes and their noises are those of `WindowTree`; what changes is how sums are read off them. A node of height h has its
own noisy value (variance 1) and the sum of its children's estimates. At position j of a block two sums are needed.

  The prefix of this block: only finished nodes exist, so estimates from below, variance V_h = 1 / (2 - 2^-h) a node
  (Honaker 2015).
  The suffix of the block before: its items up to j have expired and are known exactly, so that every node which holds
  some of them measures the rest of itself. With s the estimate of a node's rest and E that of a whole node,
      s(node) = best of { own value, s(left) + E(right) } where j lies in the left child,
                best of { own value, s(right) }           where it lies in the right one;
  "best of" weights by inverse variances, as all noises are independent.

This is generalised least squares on all finished nodes of both blocks, for the privacy of the plain tree. It keeps
all nodes of a block: O(W) vectors, O(log W) additions a round.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from dpregret.algorithms.privacy.prefix_sums import Fresh, WindowTree, by_run
from dpregret.algorithms.privacy.prefix_tree import Tree
from dpregret.algorithms.privacy.trees import estimated, node_variance
from dpregret.numerics.arrays import Array


@dataclass(frozen=True)
class DecodedWindowTree(WindowTree):
    """`noisy_nodes` is a variance in units of a node's. Any distribution: decoding costs no privacy."""

    def noisy_nodes(self, rounds: int) -> Array:
        """Sum of V_h over the set bits of the position, and from the second block on the suffix's variance."""
        position = np.arange(rounds) % self.window + 1
        heights = np.arange(self.window.bit_length())
        found: Array = ((position[:, None] >> heights & 1) * node_variance(heights)).sum(axis=1)
        rest = np.append(rest_variances(self.window)[-1][1:], 0.0)
        found[self.window :] += rest[position - 1][self.window :]
        return found

    def init(self, rounds: int, runs: int, dimension: int) -> "DecodedState":
        """All nodes of a tree, or of those that lie in a block, and what is left of the tree before."""
        shapes = [(max(rounds, self.window) >> height, runs, dimension) for height in range(self.window.bit_length())]
        nodes, estimates = ([np.zeros(shape) for shape in shapes] for _ in range(2))
        tree, rest = Tree.begun(self.window, runs, dimension), np.zeros((self.window + 1, runs, dimension))
        return DecodedState(tree, nodes, estimates, rest)

    def next(self, state: "DecodedState", units: Array, fresh: Fresh) -> Array:
        """Prefixes of estimates, and what is left of the tree before."""
        noise, rounds, done = by_run(units), len(units), state.tree.done % max(self.window, len(units))
        for height, (nodes, estimates) in enumerate(zip(state.nodes, state.estimates, strict=True)):
            first, end = done >> height, (done + rounds) >> height  # those that end in this block
            if first == end:
                break
            nodes[first:end] = fresh(end - first) if height else units
            below = state.estimates[height - 1][2 * first : 2 * end] if height else None
            estimates[first:end] = nodes[first:end] if below is None else estimated(nodes[first:end], below, height)
            noise[:, min(1 << height, rounds) - 1 :: 1 << height] = estimates[first:end].swapaxes(0, 1)
        state.tree.next(noise)
        rests = self._rests(state) if (done + rounds) % self.window == 0 else []
        tree = min(self.window, rounds)
        for index in range(0, rounds, tree):
            position = (done + index) % self.window + 1
            noise[:, index : index + tree] += state.rest[position : position + tree].swapaxes(0, 1)
            if rests:
                state.rest[:-1] = rests[index // tree]
        return noise.swapaxes(0, 1)

    def _rests(self, state: "DecodedState") -> list[Array]:
        """Noise of what is left of each whole tree after 0..W-1 of its items have expired, (W, ...).

        The best of own value (variance 1) and another one (variance v) gives the own one the weight v / (1 + v).
        """
        rest, shares = state.nodes[0], rest_variances(self.window)
        for height in range(1, len(shares)):
            size = 1 << height
            parts = rest.reshape(-1, size, *rest.shape[1:]).copy()
            parts[:, : size // 2] += state.estimates[height - 1][1::2][:, None]
            share = shares[height].reshape(-1, *[1] * (rest.ndim - 1))
            rest = (share * state.nodes[height][:, None] + (1 - share) * parts).reshape(rest.shape)
        return list(rest.reshape(-1, self.window, *rest.shape[1:]))


@dataclass
class DecodedState:
    """The tree of estimates, whose nodes' own values and estimates are kept by height, (nodes, runs, d).

    rest: noise of what is left of the last whole tree after 0..W items, (W + 1, runs, d).
    """

    tree: Tree
    nodes: list[Array]
    estimates: list[Array]
    rest: Array


@cache
def rest_variances(window: int) -> list[Array]:
    """Variance of a node's rest for heights 0..log2 W: entry [h][j] after j of its 2^h items have expired."""
    found = [np.ones(1)]
    for height in range(1, window.bit_length()):
        below = np.concatenate([found[-1] + node_variance(height - 1), found[-1]])
        found.append(below / (1 + below))
    return found

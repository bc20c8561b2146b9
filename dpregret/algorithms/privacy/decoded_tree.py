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

import numpy as np

from dpregret.algorithms.privacy.prefix_sums import BLOCK, Arrange, Fresh, WindowTree, prefix_noise
from dpregret.algorithms.privacy.trees import node_variance
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

    def arranger(self) -> Arrange:
        """Block by block."""
        return _Decoded(self.window)


def rest_variances(window: int) -> list[Array]:
    """Variance of a node's rest for heights 0..log2 W: entry [h][j] after j of its 2^h items have expired."""
    found = [np.ones(1)]
    for height in range(1, window.bit_length()):
        below = np.concatenate([found[-1] + node_variance(height - 1), found[-1]])
        found.append(below / (1 + below))
    return found


class _Decoded:
    """Nodes and estimates of the block that goes on, by height; the rest of the one before."""

    def __init__(self, window: int):
        self.window = window
        self.top = window.bit_length() - 1
        self.shares = rest_variances(window)
        self.rest: Array | None = None  # noise of the suffix after each position of the last whole block
        self.nodes: list[list[Array]] = []  # by height, in the order of rounds
        self.estimates: list[list[Array]] = []

    def __call__(self, units: Array, fresh: Fresh) -> Array:
        if self.window <= BLOCK:
            return self._whole(units, fresh)
        if not self.nodes:
            self.nodes = [[] for _ in range(self.top + 1)]
            self.estimates = [[] for _ in range(self.top + 1)]
            self.done, self.nothing = 0, np.zeros_like(units[0])
        noise = np.empty((BLOCK + 1, *units.shape[1:]))
        noise[0] = self._pending()
        inner = self._grow(units.copy(), fresh)
        for height, estimates in enumerate(inner):
            noise[1 << height :: 1 << height] = estimates
        self._carry(fresh)
        found = prefix_noise(noise)[1:]
        found[-1] = self._pending()
        if self.rest is not None:
            found += self.rest[self.done + 1 : self.done + BLOCK + 1]
        self.done += BLOCK
        if self.done == self.window:
            joined = [[np.concatenate(level) for level in kept] for kept in (self.nodes, self.estimates)]
            self.rest = np.append(self._rest(*joined), np.zeros_like(units[:1]), axis=0)
            self.nodes = []
        return found

    def _grow(self, units: Array, fresh: Fresh) -> list[Array]:
        """Estimates of the block's own nodes, heights 0..; nodes and estimates are kept."""
        inner, height = [units], 0
        self.nodes[0].append(units)
        self.estimates[0].append(units)
        while len(inner[-1]) > 1:
            height += 1
            drawn = fresh(len(inner[-1]) // 2)
            inner.append(_estimate(drawn, inner[-1], height))
            self.nodes[height].append(drawn)
            self.estimates[height].append(inner[-1])
        return inner

    def _carry(self, fresh: Fresh) -> None:
        """Finish the nodes above a block that end with it."""
        height, ended = BLOCK.bit_length() - 1, (self.done + BLOCK) // BLOCK
        while ended % 2 == 0 and height < self.top:
            height, ended = height + 1, ended // 2
            drawn = fresh(1)
            children = np.concatenate(self.estimates[height - 1][-2:])
            self.estimates[height].append(_estimate(drawn, children, height))
            self.nodes[height].append(drawn)

    def _pending(self) -> Array:
        """Noise of the prefix that ends with the last whole block: finished nodes that no finished one holds."""
        total: Array = self.nothing.copy()
        above = 0
        for height in range(self.top, BLOCK.bit_length() - 2, -1):
            count = sum(map(len, self.estimates[height]))
            if count > 2 * above:
                total += self.estimates[height][-1][-1]
            above = count
        return total

    def _rest(self, nodes: list[Array], estimates: list[Array]) -> Array:
        """Noise of what is left of whole trees after 0..W-1 of their items have expired, (trees * W, ...).

        The best of own value (variance 1) and another one (variance v) gives the own one the weight v / (1 + v).
        """
        rest = nodes[0]
        for height in range(1, self.top + 1):
            size = 1 << height
            parts = rest.reshape(-1, size, *rest.shape[1:]).copy()
            parts[:, : size // 2] += estimates[height - 1][1::2][:, None]
            share = self.shares[height].reshape(-1, *[1] * (rest.ndim - 1))
            rest = (share * nodes[height][:, None] + (1 - share) * parts).reshape(rest.shape)
        return rest

    def _whole(self, units: Array, fresh: Fresh) -> Array:
        """Whole trees in a block, all at once."""
        shape, trees = units.shape[1:], BLOCK // self.window
        nodes, estimates = [units], [units]
        positions = np.zeros((self.window + 1, trees, *shape))
        positions[1:] = units.reshape(trees, self.window, *shape).swapaxes(0, 1)
        for height in range(1, self.top + 1):
            nodes.append(fresh(BLOCK >> height))
            estimates.append(_estimate(nodes[-1], estimates[-1], height))
            positions[1 << height :: 1 << height] = (
                estimates[-1].reshape(trees, self.window >> height, *shape).swapaxes(0, 1)
            )
        noise = prefix_noise(positions)[1:].swapaxes(0, 1)
        rest = self._rest(nodes, estimates).reshape(trees, self.window, *shape)
        noise[1:, :-1] += rest[:-1, 1:]
        if self.rest is not None:
            noise[0, :-1] += self.rest
        self.rest = rest[-1, 1:]
        return noise.reshape(units.shape)


def _estimate(drawn: Array, below: Array, height: int) -> Array:
    """A node from its own value and its children's estimates, below: pairs of them."""
    weight = float(node_variance(height))
    pairs = below.reshape(len(below) // 2, 2, *below.shape[1:]).sum(axis=1)
    return np.asarray(weight * drawn + (1 - weight) * pairs)

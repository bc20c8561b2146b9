"""Running sums from one binary tree a block of rounds, for all rounds: what a learner needs that forgets at block ends.

Blocks of `window` rounds carry a complete tree each, as in `WindowTree`, and nothing enters clean: the sum of rounds
1..t has the roots of the blocks that ended and the nodes of the prefix of this one. An item lies in log2(window) + 1
nodes, all of its own block, and is protected permanently. The noise of the whole sum grows with the number of blocks;
that of the sum since a block's end, a difference of two outputs, is that of a tree of `window` rounds.
"""

from dataclasses import dataclass

import numpy as np

from dpregret.algorithms.privacy.prefix_sums import Fresh, PrefixSums, WindowState, WindowTree, by_run
from dpregret.numerics.arrays import Array


@dataclass(frozen=True)
class BlockTrees(PrefixSums):
    """A tree for each block of `window` rounds. Raises ValueError when window is not a power of two."""

    window: int

    def __post_init__(self) -> None:
        WindowTree(self.window)  # refuses

    @property
    def nodes_per_item(self) -> int:
        """log2(window) + 1."""
        return self.window.bit_length()

    def noisy_nodes(self, rounds: int) -> Array:
        """A root for each block that ended, and popcount(j) at position j of this one."""
        ended, position = np.divmod(np.arange(1, rounds + 1), self.window)
        return (ended + np.bitwise_count(position)).astype(np.float64)

    def nodes_since_block(self, rounds: int) -> Array:
        """Noisy nodes in the sum of this block alone: popcount(j), 1 at its end; (rounds,)."""
        return np.bitwise_count(np.arange(rounds) % self.window + 1).astype(np.float64)

    def init(self, rounds: int, runs: int, dimension: int) -> "TreesState":
        """The tree of the block that goes on, and the roots of those that ended."""
        return TreesState(WindowTree(self.window).init(rounds, runs, dimension), np.zeros((runs, dimension)))

    def next(self, state: "TreesState", units: Array, fresh: Fresh) -> Array:
        """Prefixes of each block's tree, on top of the roots."""
        noise, tree = by_run(units), min(self.window, len(units))
        state.tree.next_prefixes(noise, tree)
        for begun in range(0, len(units), tree):
            noise[:, begun : begun + tree] += state.ended[:, None]
            if state.tree.done == 0:  # no tree goes on
                state.ended[...] = noise[:, begun + tree - 1]
        return noise.swapaxes(0, 1)


@dataclass
class TreesState:
    """ended: noise of the sum of the roots, (runs, d)."""

    tree: WindowState
    ended: Array

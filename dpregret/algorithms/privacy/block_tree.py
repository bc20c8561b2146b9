"""Running sums from one binary tree a block of rounds, for ever: what a learner needs that forgets at block ends.

Blocks of `window` rounds carry a complete tree each, as in `WindowTree`, and nothing enters clean: the sum of rounds
1..t has the roots of the blocks that ended and the nodes of the prefix of this one. An item lies in log2(window) + 1
nodes, all of its own block, and is protected for ever. The noise of the whole sum grows with the number of blocks;
that of the sum since a block's end, a difference of two outputs, is that of a tree of `window` rounds.
"""

from dataclasses import dataclass

import numpy as np

from dpregret.algorithms.privacy.prefix_sums import BLOCK, Arrange, Fresh, PrefixSums, WindowTree, prefix_noise
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

    def arranger(self) -> Arrange:
        """That of the tree, anew for every block, on top of the roots."""
        return _Trees(self.window)


class _Trees:
    def __init__(self, window: int):
        self.window, self.done = window, 0

    def __call__(self, units: Array, fresh: Fresh) -> Array:
        if self.done == 0:
            self.ended = np.zeros(units.shape[1:])
        noise = self._short(units) if self.window < BLOCK else self._long(units, fresh)
        self.done += BLOCK
        if self.done % self.window == 0:
            self.ended = noise[-1].copy()
        return noise

    def _long(self, units: Array, fresh: Fresh) -> Array:
        if self.done % self.window == 0:
            self.tree = WindowTree(self.window).arranger()
        return self.tree(units, fresh) + self.ended

    def _short(self, units: Array) -> Array:
        """All trees of the draws side by side."""
        trees = units.reshape(-1, self.window, *units.shape[1:]).swapaxes(0, 1)
        prefixes = prefix_noise(np.concatenate([np.zeros_like(trees[:1]), trees]))[1:]
        roots = np.cumsum(np.concatenate([self.ended[None], prefixes[-1]]), axis=0)
        noise: Array = (prefixes + roots[:-1]).swapaxes(0, 1).reshape(units.shape)
        return noise

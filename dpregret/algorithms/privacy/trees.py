"""Binary trees for online learning: T is known, and the prefixes 1..T-1 are released.

The point of round t uses prefix t - 1, so an item lies in q = ceil(log2 T) nodes (one less than where prefix T is
released too and T is a power of two). Three variants on the same nodes, for the same privacy:

  BinaryTree            prefix t carries popcount(t) node noises (Kairouz et al. 2021): q/2 in the mean.
  PaddedTree            always q of them (Agarwal & Singh 2017): its distribution is the same in every round.
  VarianceReducedTree   a finished node is estimated from its own noisy value and from its children (Honaker 2015, from
                        below): variance V_h = 1 / (2 - 2^-h) of a node's in height h, about half in the mean.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpregret.algorithms.privacy.prefix_sums import Fresh, PrefixSums, WindowTree, by_run
from dpregret.algorithms.privacy.prefix_tree import Tree
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled


@dataclass(frozen=True)
class BinaryTree(PrefixSums):
    """The plain tree over a known horizon. Raises ValueError for a horizon below 1."""

    horizon: int

    def __post_init__(self) -> None:
        if self.horizon < 1:
            raise ValueError(f"horizon must be at least 1, got {self.horizon}")

    @property
    def nodes_per_item(self) -> int:
        """q = ceil(log2 T), at least 1."""
        return max(1, math.ceil(math.log2(self.horizon)))

    def noisy_nodes(self, rounds: int) -> Array:
        """popcount(t) at round t."""
        return np.bitwise_count(np.arange(1, rounds + 1)).astype(np.float64)

    @property
    def tree(self) -> WindowTree:
        """A window that the horizon never leaves."""
        return WindowTree(2**self.nodes_per_item)

    def init(self, rounds: int, runs: int, dimension: int) -> Any:
        """That of the window."""
        return self.tree.init(rounds, runs, dimension)

    def next(self, state: Any, units: Array, fresh: Fresh) -> Array:
        """That of the window."""
        return self.tree.next(state, units, fresh)


@dataclass(frozen=True)
class PaddedTree(BinaryTree):
    """The same with fresh noises added until there are q. A prefix that holds more, at the horizon, gets none."""

    def noisy_nodes(self, rounds: int) -> Array:
        """q in every round before the horizon."""
        return np.maximum(super().noisy_nodes(rounds), self.nodes_per_item)

    def init(self, rounds: int, runs: int, dimension: int) -> "PaddedState":
        """That of the plain tree."""
        return PaddedState(super().init(rounds, runs, dimension))

    def next(self, state: "PaddedState", units: Array, fresh: Fresh) -> Array:
        """Padding is drawn level by level, so that any distribution of noise serves."""
        noise, rounds = super().next(state.plain, units, fresh), len(units)
        times = np.arange(state.done + 1, state.done + rounds + 1)
        missing = self.nodes_per_item - np.bitwise_count(times).astype(np.int64)
        for level in range(self.nodes_per_item):
            _add_rows(by_run(noise), by_run(fresh(rounds)), missing > level)
        state.done += rounds
        return noise


@dataclass
class PaddedState:
    """The plain tree's, and the rounds done."""

    plain: Any
    done: int = 0


@compiled
def _add_rows(noise: Array, further: Array, wanted: Any) -> None:
    """noise += further, both (runs, rounds, d), in the rounds that are wanted."""
    for run in range(len(noise)):
        for now in range(len(wanted)):
            if wanted[now]:
                for each in range(noise.shape[2]):
                    noise[run, now, each] += further[run, now, each]


@dataclass(frozen=True)
class VarianceReducedTree(BinaryTree):
    """Estimates from below; E = w Z + (1 - w)(E_left + E_right), w = 2 V_(h-1) / (1 + 2 V_(h-1)) = V_h."""

    def noisy_nodes(self, rounds: int) -> Array:
        """Variance in units of a node's: the sum of V_h over the set bits h of t."""
        total = np.zeros(rounds + 1)
        for height in range(rounds.bit_length()):  # the times with this bit as their highest
            below = 1 << height
            total[below : 2 * below] = total[: min(below, rounds + 1 - below)] + node_variance(height)
        return total[1:]

    def init(self, rounds: int, runs: int, dimension: int) -> "ReducedState":
        """O(log T) vectors."""
        tree = Tree.begun(self.tree.window, runs, dimension)
        return ReducedState(tree, np.zeros((self.nodes_per_item + 1, runs, dimension)))

    def next(self, state: "ReducedState", units: Array, fresh: Fresh) -> Array:
        """Nodes within the block are estimated height by height, coarser ones as they are finished."""
        noise, rounds = by_run(units), len(units)
        nodes, height = units.copy(), 0
        while len(nodes) > 1:
            height += 1
            nodes = estimated(fresh(len(nodes) // 2), nodes, height)
            noise[:, (1 << height) - 1 :: 1 << height] = nodes.swapaxes(0, 1)
        blocks = state.tree.done % state.tree.window // rounds + 1
        found, ended = nodes[0], (blocks & -blocks).bit_length() - 1
        for level in range(ended):
            found = estimated(fresh(1), np.stack([state.finished[level], found]), height + level + 1)[0]
        state.finished[ended], noise[:, -1] = found, found
        state.tree.next(noise)
        return noise.swapaxes(0, 1)


@dataclass
class ReducedState:
    """The tree of estimates; those of the last finished node of 1, 2, 4, ... blocks, (heights, runs, d)."""

    tree: Tree
    finished: Array


def node_variance(height: ArrayLike) -> Array:
    """V_h = 1 / (2 (1 - 2^-(h+1))): 1, 2/3, 4/7, ... towards 1/2."""
    return np.asarray(0.5 / (1 - 0.5 ** (np.asarray(height, dtype=np.float64) + 1.0)))


def estimated(drawn: Array, below: Array, height: int) -> Array:
    """Nodes of a height, (nodes, ...), from their own values and their children's estimates, two each."""
    weight = float(node_variance(height))
    pairs = below.reshape(len(drawn), 2, *below.shape[1:]).sum(axis=1)
    return np.asarray(weight * drawn + (1 - weight) * pairs)

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

from dpregret.algorithms.privacy.prefix_sums import BLOCK, Arrange, Fresh, PrefixSums, WindowTree, by_run, prefix_noise
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

    def arranger(self) -> Arrange:
        """That of a window that the horizon never leaves."""
        return WindowTree(2**self.nodes_per_item).arranger()


@dataclass(frozen=True)
class PaddedTree(BinaryTree):
    """The same with fresh noises added until there are q. A prefix that holds more, at the horizon, gets none."""

    def noisy_nodes(self, rounds: int) -> Array:
        """q in every round before the horizon."""
        return np.maximum(super().noisy_nodes(rounds), self.nodes_per_item)

    def arranger(self) -> Arrange:
        """Padding is drawn level by level, so that any distribution of noise serves."""
        plain, done = super().arranger(), 0

        def arrange(units: Array, fresh: Fresh) -> Array:
            nonlocal done
            noise = plain(units, fresh)
            missing = self.nodes_per_item - np.bitwise_count(np.arange(done + 1, done + BLOCK + 1)).astype(np.int64)
            for level in range(self.nodes_per_item):
                _add_rows(by_run(noise), by_run(fresh(BLOCK)), missing > level)
            done += BLOCK
            return noise

        return arrange


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

    def arranger(self) -> Arrange:
        """Heights up to log2 BLOCK at once within a block, coarser ones as blocks finish."""
        return _Reduced()


def node_variance(height: ArrayLike) -> Array:
    """V_h = 1 / (2 (1 - 2^-(h+1))): 1, 2/3, 4/7, ... towards 1/2."""
    return np.asarray(0.5 / (1 - 0.5 ** (np.asarray(height, dtype=np.float64) + 1.0)))


class _Reduced:
    def __init__(self) -> None:
        self.coarse: dict[int, Array] = {}  # height above that of a block -> estimate of the finished node in use

    def __call__(self, units: Array, fresh: Fresh) -> Array:
        nodes = np.empty((BLOCK + 1, *units.shape[1:]))
        nodes[0] = sum(self.coarse.values(), np.zeros(units.shape[1:]))
        nodes[1:] = units
        estimates, height = units, 0
        while len(estimates) > 1:
            height += 1
            weight = float(node_variance(height))
            pairs = estimates.reshape(len(estimates) // 2, 2, *units.shape[1:]).sum(axis=1)
            estimates = weight * fresh(len(pairs)) + (1 - weight) * pairs
            nodes[1 << height :: 1 << height] = estimates  # the nodes that end there; higher ones replace them
        self._carry(estimates[0], height, fresh)
        noise = prefix_noise(nodes)[1:]
        noise[-1] = sum(self.coarse.values())
        return noise

    def _carry(self, estimate: Array, height: int, fresh: Fresh) -> None:
        """Merge a finished block with the finished nodes of its own height and above."""
        level = 0
        while level in self.coarse:
            pair = self.coarse.pop(level) + estimate
            level, height = level + 1, height + 1
            weight = float(node_variance(height))
            estimate = weight * fresh(1)[0] + (1 - weight) * pair
        self.coarse[level] = estimate

"""Trees of gradients: how many records their vertices take, which one a leaf's path enters, how far points move.

A tree of depth t has 2^t leaves, met in their order. Left children copy their parent; a right child takes records of
its own, when the path to leaf l > 0 first passes through it: exactly one for each such leaf.
"""

from dataclasses import dataclass

import numpy as np

from dpregret.numerics.arrays import Array


@dataclass(frozen=True)
class Tree:
    """The tree of depth t: records of a vertex at depths 0..t, how far points move, and its noise.

    apart: a of the right child that leaf l enters, (2^t,), 0 for leaf 0. scale: lambda_t; calls and moves: choices that
    a vertex at each depth decides, and the most that a record there moves a score.
    """

    sizes: tuple[int, ...]
    apart: Array
    calls: tuple[int, ...]
    moves: tuple[float, ...]
    scale: float = 0.0

    @property
    def records(self) -> int:
        """Of the root and of 2^(j-1) right children at every depth j."""
        return self.sizes[0] + sum(size << depth >> 1 for depth, size in enumerate(self.sizes[1:], start=1))

    @property
    def depth(self) -> int:
        """t."""
        return len(self.sizes) - 1


def height_entered(leaf: int) -> int:
    """How far above the leaves the right child is that the path to a leaf > 0 enters from the leaf before."""
    return (leaf & -leaf).bit_length() - 1


def displacements(depth: int) -> Array:
    """1 minus what is kept between the parent of the right child that leaf l enters and leaf l, (2^depth,)."""
    leaves = np.arange(1.0, 1 << depth)
    end = leaves + (1 << depth)
    begun = end - (leaves.astype(np.int64) & -leaves.astype(np.int64))
    return np.concatenate([[0.0], 1 - (begun - 1) * (begun - 2) / ((end - 1) * (end - 2))])


def shared_out(samples: int, last: int, growth: float, decay: float) -> list[tuple[int, ...]] | None:
    """Records of a vertex, by tree 1..last and depth: whole numbers of b 2^(growth (t - last) - decay j), at least 1.

    The largest b with which they suffice; what is left goes to the last root. None where even 1 each are too many.
    """

    def sizes(most: int) -> list[tuple[int, ...]]:
        """For b = most/1024."""
        return [
            tuple(max(1, int(most / 1024 * 2.0 ** (growth * (t - last) - decay * j))) for j in range(t + 1))
            for t in range(1, last + 1)
        ]

    def used(most: int) -> int:
        return sum(each[0] + sum(size << j >> 1 for j, size in enumerate(each[1:], 1)) for each in sizes(most))

    if used(0) > samples:
        return None
    low, high = 0, 1024 * samples + 1024
    while high - low > 1:  # used(low) <= samples < used(high)
        middle = (low + high) // 2
        low, high = (middle, high) if used(middle) <= samples else (low, middle)
    *early, (root, *others) = sizes(low)
    return [*early, (root + samples - used(low), *others)]

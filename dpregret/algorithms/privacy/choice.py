"""Which mechanism a variant of a learner sums with: the one place that knows.

A learner that sums over a window or a horizon offers the variants of `ALTERNATIVES` beside its own, where its noise is
Gaussian; every other variant keeps the tree that the learner names.
"""

from collections.abc import Mapping
from types import MappingProxyType

from dpregret.algorithms.privacy.buffers import BufferedToeplitz, WindowBuffers
from dpregret.algorithms.privacy.prefix_sums import PrefixSums, WindowTree
from dpregret.algorithms.privacy.toeplitz import Root, WindowRoot
from dpregret.algorithms.privacy.trees import BinaryTree

ALTERNATIVES: Mapping[str, str] = MappingProxyType(
    {
        "root": "the tree replaced by the square root of running sums, the best Gaussian noise for a window",
        "buffers": "the tree replaced by a few decaying buffers, within some percent of the root",
    }
)
"""Variant -> one line for the learner's card."""


def window_sums(variant: str, window: int, tree: PrefixSums | None = None) -> PrefixSums:
    """The mechanism of a variant for the last `window` items; tree: that of other variants (default `WindowTree`)."""
    if variant == "root":
        return WindowRoot(window)
    if variant == "buffers":
        return WindowBuffers(window)
    return WindowTree(window) if tree is None else tree


def horizon_sums(variant: str, horizon: int, tree: PrefixSums | None = None) -> PrefixSums:
    """The mechanism of a variant for prefixes 1..horizon-1; tree: that of other variants (default `BinaryTree`)."""
    if variant == "root":
        return Root(horizon)
    if variant == "buffers":
        return BufferedToeplitz(horizon)
    return BinaryTree(horizon) if tree is None else tree

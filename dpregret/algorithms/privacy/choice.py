"""The mechanism with which a variant of a learner sums: defined here alone.

A learner that sums over a window or a horizon offers variants beside its own: those of `ALTERNATIVES` where its noise
is Gaussian, those of `PURE_ALTERNATIVES` where it is pure; every other variant keeps the tree that the learner names.
"""

from collections.abc import Mapping
from types import MappingProxyType

from dpregret.algorithms.privacy.buffers import BufferedToeplitz, WindowBuffers
from dpregret.algorithms.privacy.prefix_sums import NoisePerItem, PrefixSums
from dpregret.algorithms.privacy.toeplitz import Root, WindowRoot
from dpregret.algorithms.privacy.trees import BinaryTree, WindowTree
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems, best_radices

ALTERNATIVES: Mapping[str, str] = MappingProxyType(
    {
        "root": "the tree replaced by the square root of running sums, the best Gaussian noise for a window",
        "buffers": "the tree replaced by a few decaying buffers, within some percent of the root",
    }
)
"""Variant -> one line for the learner's card."""
PURE_ALTERNATIVES: Mapping[str, str] = MappingProxyType(
    {
        "blocks": "the tree replaced by a tree a block, read off by least squares",
        "items": "the tree replaced by one noise an item, until it expires",
    }
)
"""The same under pure noise. Over a horizon nothing expires, and only the first is offered."""


def window_sums(variant: str, window: int, tree: PrefixSums | None = None) -> PrefixSums:
    """The mechanism of a variant for the last `window` items; tree: that of other variants (default `WindowTree`)."""
    if variant == "root":
        return WindowRoot(window)
    if variant == "buffers":
        return WindowBuffers(window)
    if variant == "items":
        return WindowItems(window)
    if variant == "blocks":
        radices = best_radices(window)
        return WindowBlocks(window, radices) if radices else WindowItems(window)
    return WindowTree(window) if tree is None else tree


def horizon_sums(variant: str, horizon: int, tree: PrefixSums | None = None) -> PrefixSums:
    """The mechanism of a variant for prefixes 1..horizon-1; tree: that of other variants (default `BinaryTree`)."""
    if variant == "root":
        return Root(horizon)
    if variant == "buffers":
        return BufferedToeplitz(horizon)
    if variant == "blocks":
        radices = best_radices(max(1, horizon - 1), expires=False)
        return WindowBlocks(horizon - 1, radices) if radices else NoisePerItem()
    return BinaryTree(horizon) if tree is None else tree

"""Where privacy comes from: noise laws, budgets and ledgers, private prefix sums.

The mechanism with which a variant of a learner sums is defined here alone. A learner that sums over a window or a
horizon offers variants beside its own: those of `ALTERNATIVES` where its noise is Gaussian, those of
`PURE_ALTERNATIVES` where it is pure; every other variant keeps the tree that the learner names.
"""

from collections.abc import Mapping

from dpregret.algorithms.privacy.budget import (
    Budget,
    Release,
    calibrate,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    largest_within,
    smallest_epsilon,
)
from dpregret.algorithms.privacy.noise import Joint, NoiseDistribution, root_mean_square_norm, unit_noise
from dpregret.algorithms.privacy.prefix_sums import (
    BLOCK,
    NoisePerItem,
    NoisePerPrefix,
    NoisePlan,
    OctaveNoise,
    PrefixSums,
    keyed_generators,
)
from dpregret.algorithms.privacy.toeplitz import BufferedToeplitz, Root, UnboundedToeplitz, WindowBuffers, WindowRoot
from dpregret.algorithms.privacy.trees import BinaryTree, WindowTree
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems, best_radices

__all__ = [
    "ALTERNATIVES",
    "BLOCK",
    "PURE_ALTERNATIVES",
    "Budget",
    "BufferedToeplitz",
    "Joint",
    "NoiseDistribution",
    "NoisePerItem",
    "NoisePerPrefix",
    "NoisePlan",
    "OctaveNoise",
    "PrefixSums",
    "Release",
    "Root",
    "UnboundedToeplitz",
    "WindowBuffers",
    "WindowRoot",
    "WindowTree",
    "calibrate",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "horizon_sums",
    "keyed_generators",
    "largest_within",
    "root_mean_square_norm",
    "smallest_epsilon",
    "unit_noise",
    "window_sums",
]

ALTERNATIVES: Mapping[str, str] = {
    "root": "the tree replaced by the square root of running sums, the best Gaussian noise for a window",
    "buffers": "the tree replaced by a few decaying buffers, within some percent of the root",
}
"""Variant -> one line for the learner's card."""
PURE_ALTERNATIVES: Mapping[str, str] = {
    "blocks": "the tree replaced by a tree a block, read off by least squares",
    "items": "the tree replaced by one noise an item, until it expires",
}
"""The same under pure noise. Over a horizon nothing expires, and only the first is offered."""


def window_sums(variant: str, window: int) -> PrefixSums:
    """The mechanism of a variant for the last `window` items.

    Args:
        variant: of a learner: a key of `ALTERNATIVES` or `PURE_ALTERNATIVES`, or another (`WindowTree`).
        window: items that are protected at a time.

    Returns:
        The mechanism; `nodes_per_item` is its price.

    Raises:
        ValueError: a window that the mechanism does not serve.
    """
    if variant == "root":
        return WindowRoot(window)
    if variant == "buffers":
        return WindowBuffers(window)
    if variant == "items":
        return WindowItems(window)
    if variant == "blocks":
        radices = best_radices(window)
        return WindowBlocks(window, radices) if radices else WindowItems(window)
    return WindowTree(window)


def horizon_sums(variant: str, horizon: int, tree: PrefixSums | None = None) -> PrefixSums:
    """The mechanism of a variant for prefixes 1..horizon-1.

    Args:
        variant: as in `window_sums`.
        horizon: rounds; the sum of all of them is never released.
        tree: the mechanism of other variants (None: `BinaryTree`).

    Returns:
        The mechanism; `nodes_per_item` is its price.

    Raises:
        ValueError: a horizon below 1.
    """
    if variant == "root":
        return Root(horizon)
    if variant == "buffers":
        return BufferedToeplitz(horizon)
    if variant == "blocks":
        radices = best_radices(max(1, horizon - 1), expires=False)
        return WindowBlocks(horizon - 1, radices) if radices else NoisePerItem()
    return BinaryTree(horizon) if tree is None else tree

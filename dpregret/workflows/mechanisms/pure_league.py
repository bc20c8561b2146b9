"""Mechanisms for pure noise beside each other, exactly: windows, whole sequences, and the best Gaussian noise.

Errors are squared nodes of an item times the squared weights of an output, in units of (sensitivity / epsilon)^2: a
coordinate of norm-Gamma noise has d + 1 times that for its variance, a Laplace one twice it. Below the bound, G_W^2 or
(trace norm / n)^2, no linear mechanism stays in the mean (`window_bound.pure_norm_floor`).
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from dpregret.algorithms.privacy.budget import Budget, gaussian_mu
from dpregret.algorithms.privacy.choice import horizon_sums, window_sums
from dpregret.algorithms.privacy.prefix_sums import PrefixSums
from dpregret.algorithms.privacy.trees import BinaryTree, DecodedWindowTree, VarianceReducedTree, WindowTree
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems
from dpregret.algorithms.privacy.window_bound import sequence_lower_bound, window_optimum
from dpregret.numerics.arrays import Array

SIZES = tuple(2**power for power in range(1, 15))
HORIZONS = tuple(2**power for power in range(8, 21, 2))
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
DIMENSIONS = (1, 2, 4, 8)
DELTA = 1e-6
LONGEST = 2**18


def settled(mechanism: PrefixSums, window: int) -> Array:
    """Errors over a window, or a whole block, once a window has passed."""
    period = mechanism.block if isinstance(mechanism, WindowBlocks) else window
    start = -(-window // period) * period
    return np.asarray(mechanism.nodes_per_item**2 * mechanism.noisy_nodes(start + period)[start:])


def tapered(window: int) -> PrefixSums:
    """Blocks whose expired items are known."""
    blocks = window_sums("blocks", window)
    return WindowBlocks(window, blocks.radices, tapered=True) if isinstance(blocks, WindowBlocks) else blocks


def windows(sizes: Iterable[int] = SIZES) -> pd.DataFrame:
    """One row per window and mechanism."""
    rows = []
    for window in sizes:
        for name, mechanism in {
            "window tree": WindowTree(window), "window tree, best decoder": DecodedWindowTree(window),
            "items": WindowItems(window), "blocks": window_sums("blocks", window), "blocks, tapered": tapered(window),
        }.items():  # fmt: skip
            rows.append({"W": window, **_row(name, mechanism, settled(mechanism, window), window_optimum(window))})
    return pd.DataFrame(rows)


def sequences(horizons: Iterable[int] = HORIZONS) -> pd.DataFrame:
    """One row per horizon T and mechanism, prefixes 1..T-1."""
    rows = []
    for horizon in horizons:
        made = {"tree": BinaryTree(horizon), "tree, best decoder": VarianceReducedTree(horizon)}
        for name, mechanism in {**made, "blocks": horizon_sums("blocks", horizon)}.items():
            errors = mechanism.nodes_per_item**2 * mechanism.noisy_nodes(horizon - 1)
            rows.append({"T": horizon, **_row(name, mechanism, errors, sequence_lower_bound(horizon - 1))})
    return pd.DataFrame(rows)


def _row(name: str, mechanism: PrefixSums, errors: Array, least: float) -> dict[str, object]:
    radices = ", ".join(map(str, mechanism.radices)) if isinstance(mechanism, WindowBlocks) else ""
    return {
        "mechanism": name, "radices": radices, "nodes of an item": float(mechanism.nodes_per_item),
        "largest error": float(errors.max()), "mean error": float(errors.mean()), "lower bound": least,
        "mean / bound": float(errors.mean()) / least,
    }  # fmt: skip


def against_gaussian(
    dimensions: Iterable[int] = DIMENSIONS, epsilons: Iterable[float] = EPSILONS, longest: int = LONGEST
) -> pd.DataFrame:
    """The largest window, a power of two, up to which pure noise has less variance than the best Gaussian noise.

    One row per dimension and epsilon. Blocks or items, whichever has less, against (sensitivity / mu)^2 G_W^2 at delta.
    """
    sizes = [2**power for power in range(longest.bit_length())]
    ratios = np.array([_least(window) / window_optimum(window) for window in sizes])
    rows = []
    for dimension in dimensions:
        for epsilon in epsilons:
            better = (dimension + 1) * ratios < (epsilon / gaussian_mu(Budget(epsilon, DELTA))) ** 2
            best = sizes[int(np.flatnonzero(better)[-1])] if better.any() else 0
            rows.append({"d": dimension, "eps": epsilon, "pure noise is less up to W =": best})
    return pd.DataFrame(rows)


def _least(window: int) -> float:
    return float(settled(window_sums("blocks", window), window).mean())

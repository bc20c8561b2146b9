"""The figure of docs/own_results.md on windows (`workflows.proof_pages` draws it)."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dpregret.algorithms.privacy.prefix_sums import PrefixSums
from dpregret.algorithms.privacy.series import landau
from dpregret.algorithms.privacy.trees import DecodedWindowTree, WindowTree
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style

STEM = Path(__file__).resolve().parents[3] / "docs" / "own_results_window"


def later(mechanism: PrefixSums, window: int) -> Array:
    """Errors of the rounds of the second window, in units of (Delta / mu)^2."""
    return np.asarray(mechanism.nodes_per_item * mechanism.noisy_nodes(2 * window)[window:])


def figure() -> None:
    """Mean variance of a window sum by W, in units of (Delta / mu)^2."""
    windows = [2**power for power in range(13)]
    curves = {
        "binary tree": [later(WindowTree(each), each).mean() for each in windows],
        "binary tree, decoded from finished nodes": [later(DecodedWindowTree(each), each).mean() for each in windows],
        "window root, least of all Gaussian noise": [landau(each) ** 2 for each in windows],
    }
    with style.look():
        drawn, axis = plt.subplots(figsize=(style.TWO_COLUMNS / 2 + 0.6, 2.3), layout="constrained")
        for colour, (name, heights) in zip(style.PALETTE.values(), curves.items(), strict=False):
            axis.plot(windows, heights, color=colour, marker="o", label=name)
        style.log_axis(axis, "x", windows, base=2)
        axis.set_yscale("log")
        style.readable_log(axis)
        axis.set(xlabel="W", ylabel=r"mean variance, in $(\Delta/\mu)^2$", title="sums that expire, the same privacy")
        axis.legend(loc="upper left")
        style.save(drawn, STEM, ("png",), "Variance of a window sum by W: binary tree, best decoder, window root")
        plt.close(drawn)

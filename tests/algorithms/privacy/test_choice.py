"""Variants choose their mechanism in one place."""

from __future__ import annotations

import numpy as np
import pytest

from dpregret.algorithms.privacy import NoisePerItem, WindowTree
from dpregret.algorithms.privacy.choice import ALTERNATIVES, horizon_sums, window_sums
from dpregret.algorithms.privacy.trees import BinaryTree


def test_other_variants_keep_their_tree() -> None:
    assert window_sums("corrected", 16) == WindowTree(16)
    assert horizon_sums("printed", 100) == BinaryTree(100)
    assert (
        window_sums("corrected", 16, NoisePerItem()) == horizon_sums("corrected", 16, NoisePerItem()) == NoisePerItem()
    )


@pytest.mark.parametrize("variant", ALTERNATIVES)
def test_alternatives_need_less_noise_than_the_tree(variant: str) -> None:
    def errors(made: object, rounds: slice) -> np.ndarray:
        return made.nodes_per_item * made.noisy_nodes(rounds.stop)[rounds]  # type: ignore[attr-defined]

    for window in (4, 16, 256):
        late = slice(4 * window, 5 * window)
        ratio = errors(WindowTree(window), late).mean() / errors(window_sums(variant, window), late).mean()
        assert ratio > {4: 2.9, 16: 5.2, 256: 8.8}[window]
    whole = slice(0, 1023)
    assert errors(BinaryTree(1024), whole).mean() > 5 * errors(horizon_sums(variant, 1024), whole).mean()

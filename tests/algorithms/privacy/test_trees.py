"""The three trees: variances, exact privacy of the whole transcript, streaming."""

from __future__ import annotations

import numpy as np
import pytest

from dpregret.algorithms.privacy import BLOCK, NoisePerItem, NoisePerPrefix, PrefixSums, WindowTree
from dpregret.algorithms.privacy.audit import item_mu, item_pure_loss, materialise
from dpregret.algorithms.privacy.trees import BinaryTree, PaddedTree, VarianceReducedTree, node_variance

TREES = (BinaryTree, PaddedTree, VarianceReducedTree)
HORIZONS = (2, 3, 8, 37, 64, 65, 128, 200)


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("tree", TREES)
def test_variances_are_those_that_are_stated(tree: type[BinaryTree], horizon: int) -> None:
    made = tree(horizon)
    found = np.square(materialise(made, horizon - 1)).sum(axis=1)
    assert found == pytest.approx(made.noisy_nodes(horizon - 1))
    times = np.arange(1, horizon)
    if tree is BinaryTree:
        assert found == pytest.approx(np.bitwise_count(times))
    if tree is PaddedTree:
        assert found == pytest.approx(np.full(horizon - 1, made.nodes_per_item))


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("tree", TREES)
def test_the_transcript_tells_no_more_than_the_ledger_says(tree: type[BinaryTree], horizon: int) -> None:
    """Exact Gaussian-DP parameter of every item, given all released prefixes 1..T-1."""
    made = tree(horizon)
    assert made.nodes_per_item == max(1, int(np.ceil(np.log2(horizon))))
    assert item_mu(made, horizon - 1).max() <= np.sqrt(made.nodes_per_item) * (1 + 1e-9)


def test_a_leaf_lies_in_as_many_nodes_as_stated() -> None:
    """Brute force over node intervals of complete trees up to 64 leaves, prefixes 1..T-1."""
    for horizon in range(2, 65):
        used = set()
        for prefix in range(1, horizon):
            start = 0
            for bit in reversed(range(prefix.bit_length())):
                if prefix >> bit & 1:
                    used.add((start, start + (1 << bit)))
                    start += 1 << bit
        most = max(sum(low <= leaf < high for low, high in used) for leaf in range(horizon))
        assert most <= BinaryTree(horizon).nodes_per_item
        if horizon & (horizon - 1) == 0:
            assert most == BinaryTree(horizon).nodes_per_item


def test_node_variances_follow_their_recursion() -> None:
    below = 1.0
    for height in range(1, 20):
        weight = 2 * below / (1 + 2 * below)
        combined = weight**2 + (1 - weight) ** 2 * 2 * below
        assert combined == pytest.approx(float(node_variance(np.array(height))))
        assert combined == pytest.approx(weight)
        below = combined


def test_noise_of_a_prefix_uses_the_nodes_of_its_own_rounds_only() -> None:
    """Column by column: a draw enters the outputs from the round on in which its node is finished."""
    matrix = materialise(VarianceReducedTree(256), 255)
    first = [int(np.flatnonzero(column)[0]) for column in matrix.T[:BLOCK]]  # the leaves of the first block
    assert first == list(range(BLOCK))


def test_bad_horizons() -> None:
    with pytest.raises(ValueError, match="horizon must be at least 1, got 0"):
        BinaryTree(0)


def test_pure_loss_of_items_is_that_of_the_nodes_that_hold_them() -> None:
    """Of a plain tree: node t covers (t & (t - 1), t]; with one noise a round the transcript tells all nodes."""
    rounds = 11
    nodes = [sum(1 for end in range(item, rounds + 1) if (end & (end - 1)) < item) for item in range(1, rounds + 1)]
    assert item_pure_loss(BinaryTree(rounds + 1), rounds) == pytest.approx(nodes)
    assert item_pure_loss(NoisePerItem(), rounds) == pytest.approx(np.ones(rounds))
    assert item_pure_loss(NoisePerPrefix(rounds), rounds) == pytest.approx(np.arange(rounds, 0, -1))
    padded = item_pure_loss(PaddedTree(rounds + 1), rounds)  # each output has further noise
    assert (padded <= np.array(nodes) + 1e-9).all()
    assert padded.max() > 0.7 * max(nodes)
    for window in (1, 2, 4):
        for rounds in (window, 2 * window + 1, 3 * window - 1):
            protected = item_pure_loss(WindowTree(window), rounds)[-window:]
            assert protected.max() == pytest.approx(WindowTree(window).nodes_per_item)


def test_pure_loss_is_attained_and_never_passed() -> None:
    """The log ratio of the density of the outputs under independent Laplace noises, drawn and extreme ones."""
    rounds, generator = 6, np.random.default_rng(0)
    noise = materialise(BinaryTree(rounds + 1), rounds)
    noise = noise[:, noise.any(axis=0)]
    for item, loss in enumerate(item_pure_loss(BinaryTree(rounds + 1), rounds)):
        shift = np.linalg.solve(noise, (np.arange(rounds) >= item).astype(float))
        drawn = np.concatenate([generator.laplace(size=(500, rounds)), [-100 * np.sign(shift)]])
        ratios = np.abs(drawn - shift).sum(axis=1) - np.abs(drawn).sum(axis=1)
        assert ratios.max() == pytest.approx(loss)


@pytest.mark.parametrize(
    "mechanism", [NoisePerItem(), NoisePerPrefix(90), WindowTree(1), WindowTree(8), WindowTree(64), WindowTree(128)]
)
def test_numbers_of_noises_are_those_that_are_added(mechanism: PrefixSums) -> None:
    assert mechanism.noisy_nodes(90) == pytest.approx(np.square(materialise(mechanism, 90)).sum(axis=1))

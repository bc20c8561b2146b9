"""Trees against their definition, node by node, without sampling; their recurrence in pieces of any size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpregret.algorithms.privacy import BLOCK, NoisePerItem, NoisePerPrefix, WindowTree
from dpregret.algorithms.privacy.audit import item_mu, item_pure_loss, materialise
from dpregret.algorithms.privacy.trees import BinaryTree, DecodedWindowTree, PaddedTree, node_variance, tree_prefixes


def dyadic(first, last):
    """Nodes (start, length) of the dyadic decomposition of positions first+1..last, aligned at 0."""
    nodes = set()
    while first < last:
        length = first & -first or 1 << (last.bit_length() - 1)
        while first + length > last:
            length //= 2
        nodes.add((first, length))
        first += length
    return nodes


def nodes_in_use(window, now):
    """The definition: prefix of this block, suffix of the block before."""
    block, position = (now - 1) // window, (now - 1) % window + 1
    nodes = {(block, *node) for node in dyadic(0, position)}
    if block:
        nodes |= {(block - 1, *node) for node in dyadic(position, window)}
    return nodes


@pytest.mark.parametrize("window", [1, 2, 4, 16, BLOCK, 2 * BLOCK, 4 * BLOCK, 16 * BLOCK])
def test_window_tree_covariance_is_node_overlap(window):
    rounds = min(max(3 * window - 4, 4 * BLOCK - 5), 764)
    noise = materialise(WindowTree(window), rounds)
    used = [nodes_in_use(window, now) for now in range(1, rounds + 1)]
    overlap = np.array([[len(one & two) for two in used] for one in used])
    assert np.array_equal(noise @ noise.T, overlap)
    assert np.array_equal(WindowTree(window).noisy_nodes(rounds), np.diag(overlap))
    assert overlap.max() <= WindowTree(window).nodes_per_item


def test_baselines():
    assert np.array_equal(materialise(NoisePerItem(), 130), np.tril(np.ones((130, 130)))[:, :130] @ np.eye(130, 192))
    per_prefix = materialise(NoisePerPrefix(70), 70)
    assert np.array_equal(per_prefix @ per_prefix.T, np.eye(70))
    assert item_mu(WindowTree(1), 5)[::-1] == pytest.approx(np.sqrt([1, 2, 3, 4, 5]))
    assert item_mu(NoisePerItem(), 50) == pytest.approx(np.ones(50))
    assert item_mu(NoisePerPrefix(50), 50)[0] == pytest.approx(np.sqrt(50))


# The recurrence


def prefixes(nodes: np.ndarray, window: int, base: np.ndarray) -> np.ndarray:
    """By the definition, tree by tree; nodes (runs, rounds, d), base (runs, d)."""
    found = nodes.copy()
    for place in range(nodes.shape[1]):
        now = place % window + 1
        older = now & (now - 1)
        found[:, place] += found[:, place - now + older] if older else base
    return found


@given(st.integers(0, 7), st.lists(st.integers(1, 90), min_size=1, max_size=8), st.booleans())
def test_any_trees_in_any_pieces(height: int, pieces: list[int], whole: bool) -> None:
    """Whole numbers are summed alike."""
    window, runs, dimension, rounds = 1 << height, 2, 3, sum(pieces)
    draw = np.random.default_rng([height, *pieces])
    nodes, base = draw.integers(-(2**20), 2**20, (runs, rounds, dimension)), draw.integers(-9, 9, (runs, dimension))
    if not whole:
        nodes, base = nodes.astype(float), base.astype(float)
    reached = np.zeros((runs, window.bit_length() + 1, dimension), dtype=nodes.dtype)
    reached[:, -1] = base
    found, done = nodes.copy(), 0
    for piece in pieces:
        part = found[:, done : done + piece].copy()
        tree_prefixes(part, window, done, reached)
        found[:, done : done + piece] = part
        done += piece
    assert np.array_equal(found, prefixes(nodes, window, base))
    assert np.array_equal(reached[:, -1], base)


# Horizons


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
        assert most <= BinaryTree(horizon).nodes_per_item == max(1, int(np.ceil(np.log2(horizon))))
        assert set(PaddedTree(horizon).noisy_nodes(horizon - 1)) == {BinaryTree(horizon).nodes_per_item}
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


# The decoder


def least_variance(window: int, now: int) -> float:
    """Of unbiased estimates of the items of the window before and this one, from nodes that are finished at `now`.

    Items up to now - window have expired and are known; node noises have variance 1.
    """
    start = (now - 1) // window * window  # items before this block
    rows = []
    for block in (start - window, start):
        size = window
        while size:
            for begin in range(block, block + window, size):
                if begin >= 0 and begin + size <= now:
                    rows.append([float(begin <= item < begin + size) for item in range(now)])
            size //= 2
    unknown = np.array(rows)[:, max(0, now - window) :]
    gram = np.linalg.pinv(unknown.T @ unknown)
    wanted = np.ones(unknown.shape[1])
    return float(wanted @ gram @ wanted)


@pytest.mark.parametrize("window", [1, 2, 4, 8, 16])
def test_decoding_is_least_squares_on_all_finished_nodes(window: int) -> None:
    found = DecodedWindowTree(window).noisy_nodes(3 * window)
    assert found == pytest.approx([least_variance(window, now) for now in range(1, 3 * window + 1)])


# Plans


def test_the_audit_sees_draws_that_are_kept_without_a_copy():
    """Blocks share their memory, in a play too."""

    class Kept(NoisePerPrefix):
        def init(self, rounds, runs, dimension):
            return [0.0]

        def next(self, state, units, fresh):
            noise, state[0] = units + state[0], units[-1]
            return noise

    matrix = materialise(Kept(2 * BLOCK), 2 * BLOCK)
    assert matrix[BLOCK, BLOCK - 1] == 0.0
    assert matrix[BLOCK, -1] == 1.0

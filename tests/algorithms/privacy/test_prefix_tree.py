"""The recurrence of binary trees against its definition, in pieces of any size, and where it is used."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpregret.algorithms.privacy import BLOCK, NoisePerItem, PrefixSums, WindowBuffers, WindowRoot, WindowTree
from dpregret.algorithms.privacy.trees import (
    BlockTrees,
    DecodedWindowTree,
    PaddedTree,
    VarianceReducedTree,
    add_rest,
    tree_prefixes,
)


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


def test_whole_trees_need_what_they_begin_with_alone() -> None:
    nodes, base = np.random.default_rng(1).standard_normal((2, 32, 3)), np.ones((2, 3))
    found = nodes.copy()
    tree_prefixes(found, 8, 0, base[:, None].copy())
    assert np.array_equal(found, prefixes(nodes, 8, base))


def test_what_is_left_of_a_tree_is_read_backwards() -> None:
    rest, noise = np.arange(8.0).reshape(1, 8, 1), np.zeros((1, 8, 1))
    add_rest(noise, 4, rest, 4)
    assert noise[0, :, 0].tolist() == [0, 0, 0, 0, 7, 6, 5, 4]


@pytest.mark.parametrize(
    "mechanism",
    [WindowTree(4), WindowTree(4 * BLOCK), DecodedWindowTree(8), DecodedWindowTree(2 * BLOCK), BlockTrees(2),
     BlockTrees(4 * BLOCK), PaddedTree(700), VarianceReducedTree(700), NoisePerItem(), WindowRoot(9), WindowRoot(300),
     WindowBuffers(64)],
    ids=repr,
)  # fmt: skip
def test_a_copy_of_the_state_goes_on_alike(mechanism: PrefixSums) -> None:
    """All that a mechanism remembers is its state: not itself, and not the memory of the blocks that it was given."""
    draw = np.random.default_rng(6)
    units = draw.standard_normal((9, BLOCK, 2, 3))

    def fresh(seed: int):
        own = np.random.default_rng(seed)
        return lambda count: own.standard_normal((count, 2, 3))

    state = mechanism.init(BLOCK, 2, 3)
    for block in units[:5]:
        mechanism.next(state, block.copy(), fresh(1))
    other, later = copy.deepcopy(state), {}
    for name, used in (("one", state), ("other", other)):
        source = fresh(2)
        later[name] = [mechanism.next(used, block.copy(), source).copy() for block in units[5:]]
    assert np.array_equal(later["one"], later["other"])

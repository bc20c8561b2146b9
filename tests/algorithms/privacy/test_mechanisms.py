"""All mechanisms alike: the running code has the stated variances and price, and a run and a state are their own."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest

from dpregret.algorithms.privacy import (
    ALTERNATIVES,
    BLOCK,
    NoisePerItem,
    NoisePerPrefix,
    NoisePlan,
    PrefixSums,
    WindowTree,
    horizon_sums,
    window_sums,
)
from dpregret.algorithms.privacy.audit import materialise, protected_nodes
from dpregret.algorithms.privacy.toeplitz import (
    BandedInverseRoot,
    BandedRoot,
    BufferedToeplitz,
    NormalisedRoot,
    Root,
    UnboundedToeplitz,
    WindowBuffers,
    WindowRoot,
)
from dpregret.algorithms.privacy.trees import (
    BinaryTree,
    BlockTrees,
    DecodedWindowTree,
    PaddedTree,
    VarianceReducedTree,
)
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems

BLOCKS = [
    WindowBlocks(2, (2,)),
    WindowBlocks(8, (3,)),
    WindowBlocks(16, (8,)),
    WindowBlocks(17, (3, 4)),
    WindowBlocks(17, (3, 4), tapered=True),
    WindowBlocks(12, (3, 4), tapered=True),
    WindowBlocks(16, (2, 2, 2, 2), tapered=True),
    WindowBlocks(31, (2, 3, 2)),
    WindowBlocks(64, (18,), tapered=True),
    WindowBlocks(100, (5, 3), tapered=True),
]
WINDOWS: list[PrefixSums] = [
    *BLOCKS,
    *map(WindowItems, (1, 5, 64, 100)),
    *map(WindowTree, (1, 2, 8, 64, 128)),
    *map(DecodedWindowTree, (1, 4, 32, 64, 128)),
    *map(WindowRoot, (1, 7, 64, 100)),
    WindowBuffers(1),
    WindowBuffers(5, 1),
    WindowBuffers(16, 2),
    WindowBuffers(100, 4),
]
HORIZONS: list[PrefixSums] = [
    *(tree(horizon) for tree in (BinaryTree, PaddedTree, VarianceReducedTree) for horizon in (2, 3, 37, 64, 65, 200)),
    NoisePerPrefix(90),
    *map(Root, (1, 2, 201, 150)),
    BufferedToeplitz(2, 1),
    BufferedToeplitz(201),
    BufferedToeplitz(150, 5),
    BandedInverseRoot(201, 1),
    BandedInverseRoot(201, 6),
    BandedInverseRoot(90, 100),
    BandedRoot(9, 1),
    BandedRoot(46, 7),
    BandedRoot(32, 64),
    NormalisedRoot(201),
    NormalisedRoot(1),
]
CHARGED_MORE = (DecodedWindowTree, BinaryTree, UnboundedToeplitz)
"""A decoder reads more off the nodes than is charged, no horizon ends all sums, and not every tree is complete."""


def of_window(mechanism: PrefixSums) -> tuple[int, int]:
    """For how many rounds an item is protected, and rounds of some windows, blocks and draws."""
    window = mechanism.window  # type: ignore[attr-defined]
    return window, max(4 * window + 77, 2 * BLOCK + 9)


def of_horizon(mechanism: PrefixSums) -> tuple[int, int]:
    rounds = mechanism.horizon - (not isinstance(mechanism, NoisePerPrefix))  # type: ignore[attr-defined]
    return max(1, rounds), max(1, rounds)


CASES = [
    *((mechanism, *of_window(mechanism)) for mechanism in WINDOWS),
    *((mechanism, *of_horizon(mechanism)) for mechanism in HORIZONS),
    (NoisePerItem(), 200, 200),
    (UnboundedToeplitz(), 200, 200),
    (UnboundedToeplitz(1.5), 200, 200),
]


@pytest.mark.parametrize(("mechanism", "window", "rounds"), CASES, ids=[repr(case[0]) for case in CASES])
def test_the_running_code_has_the_stated_variances_and_price(mechanism: PrefixSums, window: int, rounds: int) -> None:
    """Brute force over a dense covariance: the loss of the worst protected item, given all outputs."""
    noise = materialise(mechanism, rounds)
    variances = np.square(noise).sum(axis=1)
    assert variances == pytest.approx(mechanism.noisy_nodes(rounds), rel=1e-9)
    assert variances.max() <= mechanism.most_noisy_nodes * (1 + 1e-9)
    if np.isfinite(mechanism.most_noisy_nodes) and not isinstance(mechanism, WindowBuffers | DecodedWindowTree):
        assert variances.max() == pytest.approx(mechanism.most_noisy_nodes)
    delivered = protected_nodes(noise, window)
    assert delivered <= mechanism.nodes_per_item * (1 + 1e-9)
    if not isinstance(mechanism, CHARGED_MORE):
        assert delivered == pytest.approx(mechanism.nodes_per_item, rel=1e-9)


STREAMED: list[PrefixSums] = [
    NoisePerItem(),
    WindowTree(4),
    WindowTree(4 * BLOCK),
    DecodedWindowTree(8),
    DecodedWindowTree(2 * BLOCK),
    BlockTrees(2),
    BlockTrees(4 * BLOCK),
    PaddedTree(700),
    VarianceReducedTree(700),
    WindowItems(100),
    WindowBlocks(100, (23,)),
    WindowBlocks(300, (5, 7), tapered=True),
    WindowRoot(9),
    WindowRoot(300),
    WindowBuffers(64),
    BufferedToeplitz(900),
    BandedInverseRoot(900, 40),
    UnboundedToeplitz(),
    NormalisedRoot(900),
]


@pytest.mark.parametrize("mechanism", STREAMED, ids=repr)
def test_a_run_gets_its_noise_from_its_own_seed_and_mechanism(mechanism: PrefixSums) -> None:
    """To the last bit: how many runs there are, and what else is played, must not show in a table."""
    distribution = "gaussian" if mechanism.refusal("gamma") else "gamma"

    def noise(mechanisms: list[PrefixSums], scales: list[float], runs: int) -> np.ndarray:
        plan = NoisePlan(distribution, mechanisms, scales, 1.0, 3)  # type: ignore[arg-type]
        stream = plan.blocks([np.random.default_rng([3, run]) for run in range(runs)])
        return np.concatenate([next(stream) for _ in range(12)])

    among = noise([WindowTree(16), mechanism, WindowItems(3), mechanism], [1.0, 1.5, 1.0, 3.0], 5)
    for runs in (1, 2):
        assert np.array_equal(noise([mechanism], [1.5], runs)[:, 0], among[:, 1, :runs])
    assert np.array_equal(2 * among[:, 1], among[:, 3])


@pytest.mark.parametrize("mechanism", STREAMED, ids=repr)
def test_a_copy_of_the_state_goes_on_alike(mechanism: PrefixSums) -> None:
    """All that a mechanism remembers is its state: not itself, and not the memory of the blocks that it was given."""
    units = np.random.default_rng(6).standard_normal((9, BLOCK, 2, 3))

    def fresh(seed: int) -> Callable[[int], np.ndarray]:
        own = np.random.default_rng(seed)
        return lambda count: own.standard_normal((count, 2, 3))

    state = mechanism.init(BLOCK, 2, 3)
    for block in units[:5]:
        mechanism.next(state, block.copy(), fresh(1))
    later = []
    for used in (state, copy.deepcopy(state)):
        source = fresh(2)
        later.append([mechanism.next(used, block.copy(), source).copy() for block in units[5:]])
    assert np.array_equal(*later)


def test_further_draws_are_keyed_by_what_a_mechanism_is() -> None:
    """Of trees by the number of nodes, as a whole number; of others by name and parameters."""
    assert [WindowTree(16).key, BinaryTree(200).key, VarianceReducedTree(16).key] == [5, 8, 4]
    keys = [WindowRoot(7).key, WindowRoot(64).key, Root(64).key, WindowBuffers(16, 2).key, WindowBuffers(16, 3).key]
    assert len(set(keys)) == len(keys)
    assert all(isinstance(key, int) for key in keys)


@pytest.mark.parametrize("variant", ALTERNATIVES)
def test_alternatives_need_less_noise_than_the_tree(variant: str) -> None:
    def errors(made: PrefixSums, rounds: slice) -> np.ndarray:
        return made.nodes_per_item * made.noisy_nodes(rounds.stop)[rounds]

    assert window_sums("corrected", 16) == WindowTree(16)
    assert horizon_sums("printed", 100) == BinaryTree(100)
    for window in (4, 16, 256):
        late = slice(4 * window, 5 * window)
        ratio = errors(WindowTree(window), late).mean() / errors(window_sums(variant, window), late).mean()
        assert ratio > {4: 2.9, 16: 5.2, 256: 8.8}[window]
    whole = slice(0, 1023)
    assert errors(BinaryTree(1024), whole).mean() > 5 * errors(horizon_sums(variant, 1024), whole).mean()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BinaryTree(0), "horizon must be at least 1, got 0"),
        (lambda: Root(0), "horizon must be at least 1, got 0"),
        (lambda: NormalisedRoot(0), "horizon must be at least 1, got 0"),
        (lambda: WindowTree(0), "power of two"),
        (lambda: WindowTree(48), "power of two"),
        (lambda: WindowItems(0), "window must be at least 1, got 0"),
        (lambda: WindowRoot(0), "window must be at least 1, got 0"),
        (lambda: WindowBuffers(0), "window must be at least 1, got 0"),
        (lambda: WindowBuffers(16, 0), "buffers must be 1 to 4, got 0"),
        (lambda: BufferedToeplitz(16, 6), "buffers must be 1 to 5, got 6"),
        (lambda: BandedInverseRoot(4, 0), "bands must be at least 1, got 0"),
        (lambda: BandedRoot(4, 0), "bands must be at least 1, got 0"),
        (lambda: UnboundedToeplitz(0.5), "beta must be above 1/2, got 0.5"),
        (lambda: WindowBlocks(8, ()), "radices must be 2 or more"),
        (lambda: WindowBlocks(8, (1, 3)), "radices must be 2 or more"),
        (lambda: WindowBlocks(8, (3, 3)), "a block of 9 rounds is longer than the window of 8"),
    ],
)
def test_bad_arguments(make: Callable[[], PrefixSums], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()

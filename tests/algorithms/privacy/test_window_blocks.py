"""Sums that expire without a tree, and with a tree a block: least squares, exact privacy, planted mistakes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from dpregret.algorithms.privacy import BLOCK
from dpregret.algorithms.privacy.audit import item_pure_loss, materialise, protected_nodes
from dpregret.algorithms.privacy.prefix_sums import Fresh
from dpregret.algorithms.privacy.window_blocks import BlocksState, WindowBlocks, WindowItems, best_radices

BLOCKS = [
    WindowBlocks(2, (2,)),
    WindowBlocks(8, (3,)),
    WindowBlocks(17, (3, 4)),
    WindowBlocks(17, (3, 4), tapered=True),
    WindowBlocks(16, (2, 2, 2, 2), tapered=True),
    WindowBlocks(31, (2, 3, 2)),
    WindowBlocks(64, (18,), tapered=True),
]


def levels(mechanism: WindowBlocks) -> list[tuple[int, int]]:
    """(items of a node, nodes) of every level, from the leaves on."""
    sizes = [int(np.prod(mechanism.radices[:level])) for level in range(mechanism.nodes_per_item)]
    return [(size, mechanism.block // size) for size in sizes]


def incidence(mechanism: WindowBlocks, blocks: int) -> np.ndarray:
    """C: which node (of every block, by level) holds which item, (nodes, items)."""
    one = np.concatenate([np.kron(np.eye(count), np.ones(size)) for size, count in levels(mechanism)])
    return np.kron(np.eye(blocks), one)


def least_variance(mechanism: WindowBlocks, now: int) -> float:
    """The least sum of squared weights of nodes, of this block and all before, right for every item not expired.

    Weights are 1 in all for items of the window, 0 for those to come, anything for those that expired.
    """
    nodes = incidence(mechanism, -(-now // mechanism.block))
    items = np.arange(1, nodes.shape[1] + 1)
    alive = items > now - mechanism.window
    weights = np.linalg.lstsq(nodes[:, alive].T, (items[alive] <= now).astype(float), rcond=None)[0]
    return float(weights @ weights)


@pytest.mark.parametrize("radices", [(2,), (5,), (2, 3), (3, 2, 2)])
@pytest.mark.parametrize("beyond", [0, 1, 3, 7])
def test_tapered_blocks_are_least_squares_on_all_nodes(radices: tuple[int, ...], beyond: int) -> None:
    """Of two nodes' noises that lie ahead, too."""
    mechanism = WindowBlocks(int(np.prod(radices)) + beyond, radices, tapered=True)
    rounds = 3 * mechanism.window + 5
    found = mechanism.noisy_nodes(rounds)
    assert found == pytest.approx([least_variance(mechanism, now) for now in range(1, rounds + 1)])


@pytest.mark.parametrize("mechanism", [*BLOCKS[:5], WindowItems(5)], ids=repr)
def test_pure_loss_of_protected_items_is_that_of_the_ledger(mechanism: WindowBlocks | WindowItems) -> None:
    """The least l1 charge of any shift of the noises that hides an item, by linear programs; several lengths."""
    worst = 0.0
    for rounds in (mechanism.window, 2 * mechanism.window - 1, 2 * mechanism.window + 3):
        losses = item_pure_loss(mechanism, rounds)[-mechanism.window :]
        assert losses.max() <= mechanism.nodes_per_item * (1 + 1e-9)
        worst = max(worst, losses.max())
    assert worst == pytest.approx(mechanism.nodes_per_item)


@dataclass(frozen=True)
class Fed(WindowBlocks):
    """Nodes hold the sums of their items in place of noise, item i being the i-th unit vector: the outputs are B C."""

    def _begin(self, state: BlocksState) -> None:
        begun, items = state.begun, np.zeros((self.block, state.coming.shape[2]))  # type: ignore[attr-defined]
        for each in range(min(self.block, items.shape[1] - begun)):
            items[each, begun + each] = 1.0
        sums = [items.reshape(count, size, -1).sum(axis=1) for size, count in levels(self)]
        state.coming[0], state.begun = np.concatenate(sums), begun + self.block  # type: ignore[attr-defined]
        super()._begin(state)


@pytest.mark.parametrize("mechanism", BLOCKS, ids=repr)
def test_the_map_from_items_is_the_sum_of_those_in_the_window(mechanism: WindowBlocks) -> None:
    """B C is 0 for items to come and 1 until they expire; after that 0, but for items of a block that goes on."""
    rounds, block, window = 5 * mechanism.window + 3, mechanism.block, mechanism.window
    fed = Fed(window, mechanism.radices, mechanism.tapered)
    state, outputs = fed.init(BLOCK, 1, rounds), []
    state.begun = 0  # type: ignore[attr-defined]
    for _ in range(-(-rounds // BLOCK)):
        nothing = np.zeros((BLOCK, 1, rounds))
        outputs.append(fed.next(state, nothing, lambda count: np.zeros((count, 1, rounds)))[:, 0])
    found = np.concatenate(outputs)[:rounds]
    item, age = np.arange(rounds), np.arange(rounds)[:, None] - np.arange(rounds)
    assert np.abs(found[age < 0]).max() < 1e-12
    assert found[(age >= 0) & (age < window)] == pytest.approx(1.0, abs=1e-12)
    gone = age - (block - 1 - item % block) >= window  # the last item of its block has expired
    assert np.abs(found[gone]).max() < 1e-12
    if not mechanism.tapered:
        assert found[(age >= 0) & ~gone] == pytest.approx(1.0, abs=1e-12)


def test_one_noise_an_item_is_exactly_the_sum_of_the_last() -> None:
    for window in (1, 3, 64, 100):
        noise = materialise(WindowItems(window), 300)
        ages = np.arange(300)[:, None] - np.arange(320)
        assert np.array_equal(noise[:, :300], ((ages >= 0) & (ages < window))[:, :300])


def errors(mechanism: WindowBlocks) -> np.ndarray:
    """E_t over a block once a window has passed, under pure noise: in units of (sensitivity / epsilon)^2."""
    found = mechanism.noisy_nodes(2 * mechanism.window + 2 * mechanism.block)
    start = -(-mechanism.window // mechanism.block) * mechanism.block
    return np.asarray(mechanism.nodes_per_item**2 * found[start : start + mechanism.block])


@pytest.mark.parametrize("window", [1, 2, 3, 8, 9, 10, 14, 40])
def test_best_radices_are_best_among_all(window: int) -> None:
    """Brute force over all factor lists, by the exact variances; one noise an item costs W."""
    lists = [(a,) for a in range(2, window + 1)]
    lists += [each for each in itertools.product(range(2, window // 2 + 1), repeat=2) if np.prod(each) <= window]
    costs = {each: errors(WindowBlocks(window, each)).mean() for each in lists}
    chosen = best_radices(window)
    least = min([float(window), *costs.values()])
    assert (costs[chosen] if chosen else window) == pytest.approx(least)


def test_whole_sequences_need_no_root() -> None:
    """Roots of blocks are summed; less than a third of the variance of the binary tree's."""
    for horizon, mean in ((2**8, 35.2), (2**10, 60.0), (2**12, 96.7), (2**14, 142.6)):
        mechanism = WindowBlocks(horizon - 1, best_radices(horizon - 1, expires=False))
        found = mechanism.nodes_per_item**2 * mechanism.noisy_nodes(horizon - 1)
        assert found.mean() == pytest.approx(mean, abs=0.1)
        assert 7 * found.mean() < mean * 7.1 < horizon.bit_length() ** 3 / 2 * 7.1


# Exact laws on the lattice: W = k = 2, Delta = epsilon = 1, discrete Laplace noise, item 2 a function of output 1


def largest_log_ratio(weights: np.ndarray, reach: int = 50, seen: int = 24) -> tuple[float, float]:
    """Of the laws of both outputs when item 1, or item 2, is replaced. weights: 3 B, of round 1 and of round 2."""
    axis = np.arange(-reach, reach + 1)
    z = np.stack(np.meshgrid(axis, axis, axis, indexing="ij")).reshape(3, -1)
    mass = np.exp(-np.abs(z).sum(axis=0) / 2)  # both nodes of an item are noised at twice its sensitivity
    noise = (weights @ z).astype(int)

    def law(first: int, turned: int) -> np.ndarray:
        one = 3 * first + noise[0]
        second = (one % 2 == 0) ^ turned
        two = 3 * (first + second) + noise[1]
        near = (np.abs(one) <= seen) & (np.abs(two) <= seen)
        width = 2 * seen + 1
        return np.bincount((one[near] + seen) * width + two[near] + seen, mass[near], width * width)

    base = law(0, 0)
    ratios = []
    for other in (law(1, 0), law(0, 1)):
        told = (base > 0) & (other > 0)
        assert ((base > 0) == (other > 0)).all()
        ratios.append(float(np.abs(np.log(base[told] / other[told])).max()))
    return ratios[0], ratios[1]


def test_exact_laws_on_the_lattice() -> None:
    """Whole numbers: 3 (S_t + z_t). Replacing either item costs at most epsilon, whatever item 2 makes of output 1."""
    weights = 3 * materialise(WindowBlocks(2, (2,)), 2)[:, :3]
    assert weights == pytest.approx(np.array([[2, -1, 1], [1, 1, 2]]))
    one, two = largest_log_ratio(np.rint(weights))
    assert 0.99 < one < 1 + 1e-9
    assert 0.99 < two < 1 + 1e-9
    planted = np.array([[2, 0, 1], [1, 1, 2]])  # the leaf that lies ahead is left out of round 1
    assert largest_log_ratio(planted)[1] == pytest.approx(1.4227, abs=5e-3)


# Planted mistakes


@dataclass(frozen=True)
class Behind(WindowBlocks):
    """Leaves that lie ahead are left out of the bridge."""

    def _begin(self, state: BlocksState) -> None:
        leaves, radix = state.coming[:, : self.block].copy(), self.radices[0]
        super()._begin(state)
        for r in range(1, self.block):
            state.sums[:, r - 1] += r / (radix + 1) * leaves[:, r:].sum(axis=1)


@dataclass(frozen=True)
class OldRoot(WindowBlocks):
    """The prefix of a new block starts from the root of the one before."""

    def _begin(self, state: BlocksState) -> None:
        root = state.rests[:, 0, :1].copy()
        super()._begin(state)
        state.sums += root


@dataclass(frozen=True)
class Early(WindowBlocks):
    """Blocks are dropped a round early."""

    def init(self, rounds: int, runs: int, dimension: int) -> BlocksState:
        return WindowBlocks(self.window - 1, self.radices).init(rounds, runs, dimension)

    def next(self, state: BlocksState, units: np.ndarray, fresh: Fresh) -> np.ndarray:
        return WindowBlocks(self.window - 1, self.radices).next(state, units, fresh)


@dataclass(frozen=True)
class Cheap(WindowBlocks):
    """Charged for a node less."""

    @property
    def nodes_per_item(self) -> int:
        return len(self.radices)


@pytest.mark.parametrize("planted", [Behind, Early, Cheap])
@pytest.mark.parametrize(("window", "radix"), [(8, 4), (9, 4), (16, 5)])
def test_planted_mistakes_cost_more_than_is_charged(planted: type[WindowBlocks], window: int, radix: int) -> None:
    mechanism = planted(window, (radix,))
    noise = materialise(mechanism, 6 * window)
    assert protected_nodes(noise, window) > mechanism.nodes_per_item * (1 + 1e-9)


def test_a_prefix_on_the_old_root_has_another_variance() -> None:
    mechanism = OldRoot(8, (4,))
    found = np.square(materialise(mechanism, 48)).sum(axis=1)
    assert not np.allclose(found, mechanism.noisy_nodes(48))

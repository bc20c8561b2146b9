"""Sums that expire without a tree, and with a tree a block: least squares, exact privacy, planted mistakes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from dpregret.algorithms.privacy import BLOCK
from dpregret.algorithms.privacy.audit import item_pure_loss, materialise, protected_nodes
from dpregret.algorithms.privacy.series import landau, reciprocal, root_coefficients
from dpregret.algorithms.privacy.toeplitz import (
    Root,
    sequence_lower_bound,
    window_lower_bound,
    window_optimum,
)
from dpregret.algorithms.privacy.window_blocks import BlocksState, WindowBlocks, WindowItems, best_radices
from dpregret.numerics.arrays import Array

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


@pytest.mark.parametrize(("window", "radix"), [(8, 4), (9, 4), (16, 5)])
def test_a_planted_mistake_costs_more_than_is_charged(window: int, radix: int) -> None:
    """Others are in tests/nightly/mistakes.yaml."""
    mechanism = Behind(window, (radix,))
    noise = materialise(mechanism, 6 * window)
    assert protected_nodes(noise, window) > mechanism.nodes_per_item * (1 + 1e-9)


def test_a_prefix_on_the_old_root_has_another_variance() -> None:
    mechanism = OldRoot(8, (4,))
    found = np.square(materialise(mechanism, 48)).sum(axis=1)
    assert not np.allclose(found, mechanism.noisy_nodes(48))


BOUNDS = {2**10: 8.46388, 2**12: 11.22138, 2**14: 14.37082, 2**16: 17.91061, 2**18: 21.84016, 2**20: 26.15925}


def landau_extremal(window: int, count: int) -> Array:
    """u_0..u_{count-1} of x^(W-1) P(1/x) / P(x), P the root up to x^(W-1).

    The modulus is 1 on the circle, and u_0 + ... + u_{W-1} = G_W (Landau 1913).
    """
    polynomial = root_coefficients(window)
    inverse = reciprocal(np.concatenate([polynomial, np.zeros(max(0, count - window))]), count)
    return np.asarray(np.convolve(inverse, polynomial[::-1])[:count])


@pytest.mark.parametrize("window", [1, 2, 5, 16, 64])
def test_certificate(window: int) -> None:
    """A contraction whose rows weigh the protected items of a round by G_W."""
    rounds = 4 * window + 3
    u = landau_extremal(window, rounds)
    assert u[:window].sum() == pytest.approx(landau(window), rel=1e-12)
    lag = np.arange(rounds)[:, None] - np.arange(rounds)
    rows = np.where(lag >= 0, u[np.abs(lag)], 0.0)
    assert np.linalg.norm(rows, 2) <= 1 + 1e-12
    circle = np.exp(2j * np.pi * np.arange(4096) / 4096)
    assert np.abs(np.polyval(landau_extremal(window, 3000)[::-1], circle[::512])) == pytest.approx(np.ones(8), abs=1e-6)


def protection(covariance: cp.Expression, rounds: int, window: int) -> list[cp.Constraint]:
    """Items in the window of every round: corner of the covariance >= a a^T, by Schur equivalent to a^T C^-1 a <= 1."""
    found = []
    for now in range(1, rounds + 1):
        for oldest in range(max(0, now - window), now if now == rounds else max(0, now - window) + 1):
            shift = (np.arange(now) >= oldest).astype(float)[:, None]
            found.append(covariance[:now, :now] - shift @ shift.T >> 0)
    return found


@pytest.mark.parametrize(("window", "rounds"), [(2, 10), (4, 16)])
def test_no_covariance_is_better(window: int, rounds: int) -> None:
    """A semidefinite program over all covariances, no structure given."""
    covariance = cp.Variable((rounds, rounds), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.trace(covariance) / rounds), protection(covariance, rounds, window))
    problem.solve(solver="CLARABEL")
    assert window_lower_bound(window, rounds) <= problem.value <= window_optimum(window)
    inner = np.diag(covariance.value)[2 * window : -window]
    assert inner == pytest.approx(np.full(len(inner), window_optimum(window)), rel=0.005)


@pytest.mark.parametrize(("horizon", "bound"), BOUNDS.items())
def test_bound_for_whole_sequences(horizon: int, bound: float) -> None:
    assert sequence_lower_bound(horizon - 1) == pytest.approx(bound, abs=6e-6)
    root = Root(horizon)
    assert bound < root.nodes_per_item * root.noisy_nodes(horizon - 1).mean()
    if horizon == 2**10:
        values = np.linalg.svd(np.tril(np.ones((horizon - 1, horizon - 1))), compute_uv=False)
        assert values.mean() ** 2 == pytest.approx(bound, abs=6e-6)

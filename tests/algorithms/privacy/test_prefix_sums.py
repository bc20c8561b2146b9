"""Prefix-sum mechanisms against their definition, node by node, without sampling."""

import numpy as np
import pytest

from dpregret.algorithms.privacy import (
    BLOCK,
    NoisePerItem,
    NoisePerPrefix,
    NoisePlan,
    WindowTree,
)
from dpregret.algorithms.privacy.audit import item_mu, materialise
from dpregret.algorithms.privacy.prefix_sums import KEPT


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


WINDOWS = [1, 2, 4, 16, BLOCK, 2 * BLOCK, 4 * BLOCK, 16 * BLOCK]


@pytest.mark.parametrize("window", WINDOWS)
def test_window_tree_covariance_is_node_overlap(window):
    rounds = min(max(3 * window - 4, 4 * BLOCK - 5), 764)
    noise = materialise(WindowTree(window), rounds)
    used = [nodes_in_use(window, now) for now in range(1, rounds + 1)]
    overlap = np.array([[len(one & two) for two in used] for one in used])
    assert np.array_equal(noise @ noise.T, overlap)


def test_long_windows_one_after_the_other():
    """Where prefixes and suffixes of several blocks begin and end, in the third window too."""
    window = 8 * BLOCK
    edges = np.array([0, 1, BLOCK, 2 * BLOCK, 3 * BLOCK, window // 2, window - BLOCK, window - 1])
    telling = np.unique([start * window + edge + near for start in range(3) for edge in edges for near in (0, 5)])
    telling = telling[telling < 3 * window - 4]
    noise = materialise(WindowTree(window), 3 * window - 4)[telling]
    used = [nodes_in_use(window, int(now) + 1) for now in telling]
    assert np.array_equal(noise @ noise.T, [[len(one & two) for two in used] for one in used])


@pytest.mark.parametrize("window", WINDOWS)
def test_counted_nodes(window):
    rounds = 3 * window
    used = [nodes_in_use(window, now) for now in range(1, rounds + 1)]
    assert np.array_equal(WindowTree(window).noisy_nodes(rounds), [len(nodes) for nodes in used])
    assert max(map(len, used)) <= WindowTree(window).nodes_per_item


@pytest.mark.parametrize("window", WINDOWS[:6])
def test_output_covers_everything_once(window):
    """Clean part + noisy nodes = every item so far exactly once; whatever is in the window is noisy."""
    for now in range(1, 3 * window + 1):
        covered = np.zeros(4 * window, dtype=int)
        for block, start, length in nodes_in_use(window, now):
            covered[block * window + start : block * window + start + length] += 1
        assert covered.max() <= 1
        assert covered[max(0, now - window) : now].all()
        assert not covered[now:].any()


@pytest.mark.parametrize("window", WINDOWS[:6])
def test_an_item_meets_log2_window_plus_one_nodes(window):
    met = {item: set() for item in range(2 * window)}
    for now in range(1, 3 * window + 1):
        for node in nodes_in_use(window, now):
            for item in range(node[0] * window + node[1], node[0] * window + node[1] + node[2]):
                if item in met:
                    met[item].add(node)
    assert {len(nodes) for nodes in met.values()} == {WindowTree(window).nodes_per_item}


@pytest.mark.parametrize("window", [1, 2, 4, 8, 16])
def test_exact_loss_of_in_window_items(window):
    worst = 0.0
    for horizon in range(1, 6 * window + 1):
        worst = max(worst, item_mu(WindowTree(window), horizon)[-window:].max())
    assert worst == pytest.approx(np.sqrt(WindowTree(window).nodes_per_item))


@pytest.mark.parametrize(("window", "loss"), [(4, 2.0), (16, 2.828)])
def test_audit_sees_a_wrong_expiry(window, loss):
    """Negative control: dropping the previous block's noise at the boundary breaks the promise."""
    rounds = 6 * window
    worst = 0.0
    for horizon in range(window, rounds + 1):
        used = [
            {node for node in nodes_in_use(window, now) if node[0] == (now - 1) // window}
            for now in range(1, horizon + 1)
        ]
        gram = np.array([[float(len(one & two)) for two in used] for one in used])
        sums = np.tril(np.ones((horizon, horizon)))
        losses = np.sqrt(np.diag(sums.T @ np.linalg.solve(gram, sums)))
        worst = max(worst, losses[-window:].max())
    assert worst == pytest.approx(loss, abs=1e-3)
    assert worst > np.sqrt(WindowTree(window).nodes_per_item) + 0.1


def test_window_one_loss_by_age():
    assert item_mu(WindowTree(1), 5)[::-1] == pytest.approx(np.sqrt([1, 2, 3, 4, 5]))


def test_baselines():
    assert np.array_equal(materialise(NoisePerItem(), 130), np.tril(np.ones((130, 130)))[:, :130] @ np.eye(130, 192))
    per_prefix = materialise(NoisePerPrefix(70), 70)
    assert np.array_equal(per_prefix @ per_prefix.T, np.eye(70))
    assert item_mu(NoisePerItem(), 50) == pytest.approx(np.ones(50))
    assert item_mu(NoisePerPrefix(50), 50)[0] == pytest.approx(np.sqrt(50))


def rngs(runs):
    return [np.random.default_rng([3, run]) for run in range(runs)]


def noise_of(windows, scales, runs, blocks=40, distribution="gaussian"):
    plan = NoisePlan(distribution, [WindowTree(window) for window in windows], scales, 1.0, 3)
    stream = plan.blocks(rngs(runs))
    return np.concatenate([next(stream) for _ in range(blocks)])


@pytest.mark.parametrize("distribution", ["gaussian", "gamma"])
def test_a_runs_noise_depends_on_its_seed_and_mechanism_only(distribution):
    alone = noise_of([512], [1.5], 2, distribution=distribution)[:, 0]
    among = noise_of([16, 512, 1, 512], [1.0, 1.5, 1.0, 3.0], 4, distribution=distribution)
    assert np.array_equal(alone, among[:, 1, :2])
    assert np.array_equal(2 * among[:, 1], among[:, 3])


def test_blocks_of_large_vectors_are_shorter_with_the_same_draws():
    dimension = KEPT // 8 // 2 // 8  # eight rounds of two runs fill what is kept
    plan = NoisePlan("gaussian", [WindowTree(1)], [1.0], 1.0, dimension)
    assert plan.block(1) == 16
    assert plan.block(2) == 8
    assert NoisePlan("gaussian", [WindowTree(2)], [1.0], 1.0, dimension).block(2) == BLOCK
    assert NoisePlan("gamma", [WindowTree(1)], [1.0], 1.0, dimension).block(2) == BLOCK
    small = NoisePlan("gaussian", [WindowTree(1)], [1.0], 1.0, 3)
    parts, whole = (small.correlated(rngs(2), rounds) for rounds in (16, BLOCK))
    together = next(whole)[0]
    for begun in range(0, BLOCK, 16):
        assert np.array_equal(next(parts)[0], together[begun : begun + 16])


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


def test_zero_scale_is_exact_silence():
    noise = noise_of([16, 16], [0.0, 1.0], 2, blocks=2)
    assert not noise[:, 0].any()
    assert noise[:, 1].any()
    assert not noise_of([4], [0.0], 1, blocks=2).any()


@pytest.mark.parametrize("window", [1, 16, 256])
def test_expected_norm_is_the_root_mean_square(window):
    plan = NoisePlan("gamma", [WindowTree(window)], [2.0], 1.0, 3)
    stream = plan.blocks(rngs(400))
    noise = np.concatenate([next(stream) for _ in range(6)])[:, 0]
    measured = np.sqrt(np.vecdot(noise, noise).mean(axis=1))
    assert measured == pytest.approx(plan.expected_norm(6 * BLOCK)[0], rel=0.25)
    assert measured.mean() == pytest.approx(plan.expected_norm(6 * BLOCK)[0].mean(), rel=0.03)


@pytest.mark.parametrize("window", [0, 3, 48, -4])
def test_window_must_be_a_power_of_two(window):
    with pytest.raises(ValueError, match="power of two"):
        WindowTree(window)

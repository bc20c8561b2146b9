"""All mechanisms: the running code has the stated variances and price; roots, trees and blocks by their definitions."""

import itertools
from collections.abc import Callable

import cvxpy as cp
import numpy as np
import pytest
from drawn import generators
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, stats

import dpregret as dp
from dpregret.algorithms.privacy import (
    BLOCK,
    NoisePerItem,
    NoisePerPrefix,
    NoisePlan,
    OctaveNoise,
    PrefixSums,
    WindowTree,
)
from dpregret.algorithms.privacy import convolution as convolution_module
from dpregret.algorithms.privacy.audit import item_pure_loss, materialise, transcript_losses
from dpregret.algorithms.privacy.convolution import FIRST, Streamed, root_convolution
from dpregret.algorithms.privacy.noise import Joint, NoiseDistribution, UnitNoise, added_up
from dpregret.algorithms.privacy.series import (
    Rational,
    inverse_root_coefficients,
    landau,
    landau_constants,
    reciprocal,
    root_coefficients,
    root_decays,
    taylor,
)
from dpregret.algorithms.privacy.toeplitz import (
    BandedInverseRoot,
    BandedRoot,
    BufferedToeplitz,
    NormalisedRoot,
    Root,
    Toeplitz,
    UnboundedToeplitz,
    WindowBuffers,
    WindowRoot,
    sequence_lower_bound,
    stored,
    window_lower_bound,
    window_optimum,
)
from dpregret.algorithms.privacy.trees import (
    BinaryTree,
    BlockTrees,
    DecodedWindowTree,
    PaddedTree,
    VarianceReducedTree,
    tree_prefixes,
)
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems, best_radices

BLOCKS = [
    WindowBlocks(2, (2,)),
    WindowBlocks(8, (3,)),
    WindowBlocks(16, (8,)),
    WindowBlocks(17, (3, 4)),
    WindowBlocks(12, (3, 4)),
    WindowBlocks(16, (2, 2, 2, 2)),
    WindowBlocks(31, (2, 3, 2)),
    WindowBlocks(64, (18,)),
    WindowBlocks(100, (5, 3)),
]
WINDOWS: list[PrefixSums] = [
    *BLOCKS,
    *map(WindowItems, (1, 5, 64, 100)),
    *map(WindowTree, (1, 2, 8, 64, 128)),
    *map(WindowRoot, (1, 7, 64, 100)),
    WindowBuffers(1),
    WindowBuffers(5, 1),
    WindowBuffers(16, 2),
    WindowBuffers(100, 4),
]
HORIZONS: list[PrefixSums] = [
    *(tree(horizon) for tree in (BinaryTree, PaddedTree, VarianceReducedTree) for horizon in (2, 3, 37, 64, 65, 200)),
    NoisePerPrefix(90),
    *(OctaveNoise(horizon, (1.5, 0.5, 2.0, 3.0, 0.7, 9.0, 4.0)) for horizon in (1, 2, 3, 8, 90)),
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
]
CHARGED_MORE = (BinaryTree, UnboundedToeplitz)
"""No horizon ends all sums, and not every tree is complete."""


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
    *((BlockTrees(window), 200, 200) for window in (1, 2, 8, 64, 128)),
    (UnboundedToeplitz(), 200, 200),
    (UnboundedToeplitz(1.5), 200, 200),
]


def protected_nodes(noise: np.ndarray, window: int) -> float:
    """The least valid `nodes_per_item`: the largest squared loss of an item that is at most window - 1 old."""
    rounds = np.arange(len(noise))
    age = rounds[:, None] - rounds
    return float(transcript_losses(noise)[(age >= 0) & (age < window)].max())


@pytest.mark.parametrize(("mechanism", "window", "rounds"), CASES, ids=[repr(case[0]) for case in CASES])
def test_the_running_code_has_the_stated_variances_and_price(mechanism: PrefixSums, window: int, rounds: int) -> None:
    """Brute force over a dense covariance: the loss of the worst protected item, given all outputs."""
    noise = materialise(mechanism, rounds)
    variances = np.square(noise).sum(axis=1)
    assert variances == pytest.approx(mechanism.noisy_nodes(rounds), rel=1e-9)
    assert variances.max() <= mechanism.most_noisy_nodes * (1 + 1e-9)
    if np.isfinite(mechanism.most_noisy_nodes) and not isinstance(mechanism, WindowBuffers):
        assert variances.max() == pytest.approx(mechanism.most_noisy_nodes)
    delivered = protected_nodes(noise, window)
    assert delivered <= mechanism.nodes_per_item * (1 + 1e-9)
    if not isinstance(mechanism, CHARGED_MORE):
        assert delivered == pytest.approx(mechanism.nodes_per_item, rel=1e-9)


STREAMED: list[PrefixSums] = [
    NoisePerItem(),
    WindowTree(4),
    WindowTree(4 * BLOCK),
    BlockTrees(2),
    BlockTrees(4 * BLOCK),
    PaddedTree(700),
    VarianceReducedTree(700),
    WindowItems(100),
    WindowBlocks(100, (23,)),
    WindowBlocks(300, (5, 7)),
    OctaveNoise(300, tuple(1.0 + octave for octave in range(9))),
    WindowRoot(9),
    WindowRoot(300),
    WindowBuffers(64),
    BufferedToeplitz(900),
    BandedInverseRoot(900, 40),
    UnboundedToeplitz(),
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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BinaryTree(0), "horizon must be at least 1, got 0"),
        (lambda: WindowTree(48), "power of two"),
        (lambda: WindowBuffers(0), "window must be at least 1, got 0"),
        (lambda: WindowBuffers(16, 0), "buffers must be 1 to 4, got 0"),
        (lambda: BufferedToeplitz(16, 6), "buffers must be 1 to 5, got 6"),
        (lambda: BandedInverseRoot(4, 0), "bands must be at least 1, got 0"),
        (lambda: UnboundedToeplitz(0.5), "beta must be above 1/2, got 0.5"),
        (lambda: WindowBlocks(8, ()), "radices must be 2 or more"),
        (lambda: WindowBlocks(8, (3, 3)), "a block of 9 rounds is longer than the window of 8"),
    ],
)
def test_bad_arguments(make: Callable[[], PrefixSums], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("law", ["gaussian", "laplace", "gamma"])
def test_a_sum_of_noises_is_drawn_from_its_exact_law(law: NoiseDistribution) -> None:
    """One draw a sum, beside as many noises added up: cumulants of the law, and both samples beside each other."""
    counts, runs = np.array([0, 1, 2, 5, 16]), 20_000
    drawn, added = (
        make(UnitNoise(law, Joint(np.random.default_rng(seed), runs), 1))[:, :, 0]
        for seed, make in enumerate((lambda noise: noise.sums(counts), lambda noise: added_up(noise, counts)))
    )
    assert not drawn[0].any()
    second, fourth = {"gaussian": (1.0, 0.0), "laplace": (2.0, 12.0), "gamma": (2.0, 12.0)}[law]  # cumulants
    for count, sums, others in zip(counts[1:], drawn[1:], added[1:], strict=True):
        variance = second * count
        kurtosis = fourth / second**2 / count
        assert np.mean(sums) == pytest.approx(0.0, abs=5 * np.sqrt(variance / runs))
        assert np.var(sums) == pytest.approx(variance, rel=5 * np.sqrt((2 + kurtosis) / runs))
        assert stats.ks_2samp(sums, others).pvalue > 1e-4
    if law == "gaussian":  # the same numbers as a play of the plain law, scaled
        numbers = UnitNoise(law, generators(3), 2)(len(counts))
        assert (UnitNoise(law, generators(3), 2).sums(counts) == numbers * np.sqrt(counts)[:, None, None]).all()


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_a_padded_tree_draws_what_its_audit_reads(law: NoiseDistribution) -> None:
    """Covariance of all rounds of many runs, beside that of the matrix which the audit reads off the same code."""
    mechanism, runs = PaddedTree(12), 40_000
    plan = NoisePlan(law, [mechanism], [1.0], 1.0, 1)
    noise = next(plan.blocks(Joint(np.random.default_rng(5), runs)))[:11, 0, :, 0]
    unit = {"gaussian": 1.0, "laplace": 2.0}[law]
    matrix = materialise(mechanism, 11)
    expected = unit * matrix @ matrix.T
    assert np.diag(expected) == pytest.approx(np.full(11, unit * mechanism.nodes_per_item))
    error = unit * mechanism.nodes_per_item * np.sqrt(5 / runs)  # of a fourth moment at most
    assert noise @ noise.T / runs == pytest.approx(expected, abs=5 * error)


ALIKE = [case[0] for case in CASES if isinstance(case[0], Toeplitz)]
ROUNDS = 200

# W -> G_W, and T -> largest and mean error of the root, by an independent program
LANDAU = {
    1: 1.0, 4: 1.488281250, 16: 1.943878847, 64: 2.388848108, 256: 2.831049932, 4096: 3.713883627, 65536: 4.596444241,
}  # fmt: skip


def lower(coefficients: np.ndarray) -> np.ndarray:
    return linalg.toeplitz(coefficients, np.zeros(len(coefficients)))


def matrices(mechanism: Toeplitz, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """(B, C) by their definition."""
    return lower(mechanism.noise_coefficients(rounds)), lower(mechanism.strategy_coefficients(rounds))


@pytest.mark.parametrize("rounds", [1, 200])
def test_errors_of_the_normalised_root_are_those_of_its_matrix(rounds: int) -> None:
    root = lower(root_coefficients(rounds))
    noise = np.tril(np.ones((rounds, rounds))) @ np.linalg.inv(root / np.linalg.norm(root, axis=0))
    assert NormalisedRoot(rounds + 1).noisy_nodes(rounds) == pytest.approx(np.square(noise).sum(axis=1))


@pytest.mark.parametrize("mechanism", ALIKE, ids=repr)
def test_the_running_code_is_the_matrix_of_the_definition(mechanism: Toeplitz) -> None:
    last = getattr(mechanism, "horizon", ROUNDS + 1) - 1
    rounds = min(ROUNDS, max(1, last))
    noise, strategy = matrices(mechanism, rounds)
    streamed = materialise(mechanism, rounds)
    assert np.abs(streamed[:, :rounds] - noise).max() < 2e-14
    assert not streamed[:, rounds:].any()
    np.testing.assert_allclose(noise @ strategy, np.tril(np.ones((rounds, rounds))), rtol=0, atol=1e-13)
    losses = transcript_losses(streamed)[:, 0] / mechanism.nodes_per_item
    assert np.sqrt(losses) == pytest.approx(mechanism.loss_by_age(rounds), rel=1e-11)


@pytest.mark.parametrize(("window", "constant"), LANDAU.items())
def test_landau_constants_in_print(window: int, constant: float) -> None:
    assert landau(window) == pytest.approx(constant, abs=1e-9)
    assert WindowRoot(window).nodes_per_item == landau(window)
    assert landau(window) == pytest.approx((np.log(window) + np.euler_gamma + 4 * np.log(2)) / np.pi, abs=0.09 / window)


def test_the_endless_strategy_is_summed_to_the_end() -> None:
    """Its tail sum_{j>=n} 1 / (pi j (ln j + C)^(2 beta)), C = gamma + 2 ln 2, is a tenth at a hundred thousand."""
    for beta in (0.75, 1.0):
        mechanism = UnboundedToeplitz(beta)
        known = np.square(mechanism.strategy_coefficients(2**14)).sum()
        depth = np.log(2**14) + np.euler_gamma + 2 * np.log(2)
        assert mechanism.nodes_per_item - known == pytest.approx(
            depth ** (1 - 2 * beta) / (2 * beta - 1) / np.pi, rel=0.03
        )
    mechanism = UnboundedToeplitz(0.75)
    assert mechanism.nodes_per_item == pytest.approx(1.335549598414016, abs=1e-12)  # quadrature to 25 digits
    assert mechanism.nodes_per_item * mechanism.noisy_nodes(2**10)[-1] == pytest.approx(41.2573614, abs=1e-6)


def test_series() -> None:
    f, g = root_coefficients(60), inverse_root_coefficients(60)
    assert np.convolve(f, f)[:60] == pytest.approx(np.ones(60))
    assert np.convolve(f, g)[:60] == pytest.approx(np.eye(60)[0], abs=1e-14)
    assert reciprocal(f, 60) == pytest.approx(g, abs=1e-14)
    assert g[:4] == pytest.approx([1, -1 / 2, -1 / 8, -1 / 16])
    np.testing.assert_allclose(taylor(lambda x: (1 - x) ** -0.5, 5000), root_coefficients(5000), rtol=0, atol=1e-13)
    assert landau_constants(3) == pytest.approx([1, 1.25, 1.25 + 9 / 64])
    symbol = Rational((0.9, 0.5, 1.0), (0.8, 0.0, 0.95))
    by_product = np.array([1.0] + [0.0] * 39)
    for zero in symbol.zeros:
        by_product[1:] -= zero * by_product[:-1].copy()
    for pole in symbol.poles:
        by_product = np.convolve(by_product, pole ** np.arange(40))[:40]
    assert symbol.coefficients(40) == pytest.approx(by_product, abs=1e-14)
    fading = Rational((0.9, 0.5), (0.8, 0.1))
    assert fading.square_sum() == pytest.approx(np.square(fading.coefficients(2000)).sum(), rel=1e-12)


ROOTS = [each for each in STREAMED if isinstance(each, Toeplitz)]


@pytest.mark.parametrize("direct", [True, False], ids=["products", "halving"])
@pytest.mark.parametrize("mechanism", ROOTS, ids=repr)
def test_noise_does_not_depend_on_the_size_of_the_blocks(
    mechanism: PrefixSums, direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not direct:
        monkeypatch.setattr(convolution_module, "DIRECT", 1)
        monkeypatch.setattr(convolution_module, "SHORT", 100)
    units = np.random.default_rng(0).standard_normal((896, 2, 3))
    found = []
    for size in (7, 64, 128, 896):
        state, fresh = mechanism.init(size, 2, 3), lambda count: np.empty(0)
        blocks = (units[at : at + size] for at in range(0, 896, size))
        found.append(np.concatenate([mechanism.next(state, block, fresh) for block in blocks]))
    assert isinstance(mechanism, Toeplitz)
    noise = matrices(mechanism, 896)[0]
    expected = np.einsum("ts,srd->trd", noise, units)
    for each in found:
        np.testing.assert_allclose(each, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("distribution", ["gamma", "laplace"])
@pytest.mark.parametrize("mechanism", [WindowRoot(9), Root(900)], ids=repr)
def test_pure_noise_is_refused_with_the_reason(mechanism: PrefixSums, distribution: str) -> None:
    with pytest.raises(
        ValueError, match=rf"takes Gaussian noise only, not {distribution}: a pure loss charges the l1 norm"
    ):
        NoisePlan(distribution, [mechanism], [1.0], 1.0, 2)  # type: ignore[arg-type]
    NoisePlan(distribution, [WindowTree(4)], [1.0], 1.0, 2)  # type: ignore[arg-type]
    for window in (16, 256):  # what the reason says
        assert root_coefficients(window).sum() == pytest.approx(2 * np.sqrt(window / np.pi), rel=1 / window)


@pytest.mark.parametrize("length", [5, 16, 17, 100, 1024])
def test_a_coordinate_has_the_same_bits_alone_and_among_others(length: int) -> None:
    units = np.random.default_rng(length).standard_normal((3, 64, 2, 301))
    together, alone = root_convolution(length, 64, 602), root_convolution(length, 64, 1)
    for block in units:
        noise = together.next(block)
        assert np.array_equal(noise[:, 1, 7], alone.next(block[:, 1:, 7:8].copy())[:, 0, 0])


@pytest.mark.parametrize("length", [2**power for power in range(5, 21)])
def test_the_stored_decays_are_the_root(length: int) -> None:
    decays, weights = root_decays(length)
    assert len(decays) % 4 == 0
    assert len(decays) <= 48
    assert decays[-1] > 0
    assert decays[0] < 1
    assert (np.diff(decays) < 0).all()
    assert (weights > 0).all()
    lags = np.unique(np.geomspace(FIRST, length - 1, 8000).astype(int))
    errors = np.exp(np.log(decays) * (lags - FIRST)[:, None]) @ weights - root_coefficients(length)[lags]
    assert np.abs(errors).max() < (1e-14 if length < 2**15 else 1e-13)  # a^j of a rounded a


@pytest.mark.parametrize(("length", "rounds"), [(17, 300), (100, 500), (1000, 3000), (4096, 4500), (5000, 5200)])
@pytest.mark.parametrize("lasting", [False, True])
def test_one_noise_is_heard_until_its_window_ends(length: int, rounds: int, lasting: bool) -> None:
    block = 100
    sums = root_convolution(length, block, 1, lasting)
    assert isinstance(sums, Streamed)
    units = np.zeros((rounds, 1, 1))
    units[3] = 1.0
    heard = np.concatenate([sums.next(units[at : at + block]) for at in range(0, rounds, block)])[3:, 0, 0]
    np.testing.assert_allclose(heard[:length], root_coefficients(length)[: len(heard)], rtol=0, atol=3e-14)
    if not lasting:
        assert np.abs(heard[length:]).max() < 3e-14


# W, k -> decays, zeros, sum of c^2, sum of h^2: fitted by an independent program
PRINTED = {
    (16, 1): ((0.879785215,), (0.427040162,), 2.046726, 1.907071),
    (256, 2): ((0.992362924, 0.809929115), (0.953343225, 0.391493152), 2.90032, 2.83081),
    (256, 3): ((0.992991398, 0.899544101, 0.499950917), (0.965094358, 0.756608959, 0.170444177), 2.864930, 2.850423),
    (4096, 3): ((0.999525565, 0.987577826, 0.798868367), (0.997095396, 0.948228216, 0.380711959), 3.783575, 3.718444),
    (16384, 4): (
        (0.999886737, 0.997712398, 0.972515722, 0.715533373),
        (0.999371604, 0.991981742, 0.907992263, 0.304323080),
        4.19767,
        4.17351,
    ),
}


def square_sum(mechanism: WindowBuffers) -> float:
    """Of h over all lags."""
    return mechanism.symbol().square_sum()


@pytest.mark.parametrize(("case", "printed"), PRINTED.items())
def test_window_buffers_in_print(case: tuple[int, int], printed: tuple[object, ...]) -> None:
    window, count = case
    decays, zeros, charged, variance = printed
    own = WindowBuffers(window, count)
    assert own.nodes_per_item * square_sum(own) == pytest.approx(charged * variance, rel=3e-6)  # type: ignore[operator]
    assert own.symbol().poles == pytest.approx(decays, abs=3e-5)
    other = Rational(decays, zeros)  # type: ignore[arg-type]
    assert other.square_sum() == pytest.approx(variance, abs=6e-6)
    sums = np.cumsum(other.inverse.coefficients(window))
    assert np.square(sums).sum() == pytest.approx(charged, abs=6e-6)
    assert own.nodes_per_item * square_sum(own) <= charged * variance * (1 + 3e-6)  # type: ignore[operator]


@pytest.mark.parametrize("window", sorted(stored()["windows"]))
def test_more_buffers_come_nearer_to_the_optimum_and_never_below(window: int) -> None:
    errors = [WindowBuffers(window, count) for count in (1, 2, 3, 4)]
    ratios = [each.nodes_per_item * square_sum(each) / landau(window) ** 2 for each in errors]
    assert ratios == sorted(ratios, reverse=True)
    assert 1 < ratios[-1] < (1.036 if window > 2 else 1.0356)
    if window >= 128:
        assert ratios[2] < 1.05


def test_sizes_between_powers_of_two_pay_for_themselves() -> None:
    """Their parameters are borrowed, their sensitivity is their own: near the optimum all the same."""
    for window in (3, 23, 100, 360, 5000):
        mechanism = WindowBuffers(window, 4)
        assert 1 <= mechanism.nodes_per_item * square_sum(mechanism) / landau(window) ** 2 < 1.06
        assert mechanism.nodes_per_item == pytest.approx(np.square(mechanism.strategy_coefficients(window)).sum())


def prefix_nodes(position: int) -> set[tuple[int, int]]:
    """(last item, number of items) of the dyadic nodes that cover items 1..position."""
    nodes = set()
    while position:
        nodes.add((position, position & -position))
        position &= position - 1
    return nodes


def nodes_in_use(window: int, now: int) -> set[tuple[int, int]]:
    """The definition: prefix of this block, suffix of the block before."""
    begun, place = (now - 1) // window * window, (now - 1) % window + 1
    nodes = {(begun + last, size) for last, size in prefix_nodes(place)}
    while begun and place < window:
        size = place & -place
        place += size
        nodes.add((begun - window + place, size))
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
        used = set().union(*map(prefix_nodes, range(1, horizon)))
        most = max(sum(last - size < item <= last for last, size in used) for item in range(1, horizon + 1))
        assert most <= BinaryTree(horizon).nodes_per_item == max(1, int(np.ceil(np.log2(horizon))))
        assert set(PaddedTree(horizon).noisy_nodes(horizon - 1)) == {BinaryTree(horizon).nodes_per_item}
        if horizon & (horizon - 1) == 0:
            assert most == BinaryTree(horizon).nodes_per_item


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


def least_variance(nodes: np.ndarray, window: int, now: int) -> float:
    """The least sum of squared weights of nodes (nodes, items) that is right for every item not expired.

    Weights are 1 in all for items of the window, 0 for those to come, anything for those that expired.
    """
    items = np.arange(1, nodes.shape[1] + 1)
    alive = items > now - window
    weights = np.linalg.lstsq(nodes[:, alive].T, (items[alive] <= now).astype(float), rcond=None)[0]
    return float(weights @ weights)


@pytest.mark.parametrize("window", [1, 2, 4, 8, 16])
def test_decoding_is_least_squares_on_all_finished_nodes(window: int) -> None:
    """Of the blocks of the window before and of this one."""
    found = DecodedWindowTree(window).noisy_nodes(3 * window)
    sizes = [1 << level for level in range(window.bit_length())]
    nodes = np.concatenate([np.kron(np.eye(3 * window // size), np.ones(size)) for size in sizes])
    last, items = nodes.shape[1] - nodes[:, ::-1].argmax(axis=1), np.arange(1, 3 * window + 1)
    for now, variance in zip(items, found, strict=True):
        finished = nodes[(last <= now) & (last > (now - 1) // window * window - window), :now]
        assert variance == pytest.approx(least_variance(finished, window, now))


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


@pytest.mark.parametrize(
    "change",
    [
        np.abs,
        lambda units: np.clip(units, -1.0, 1.0),
        lambda units: np.where(np.abs(units) > 1.5, 0.0, units),
        lambda units: units - units.mean(axis=-1, keepdims=True),
    ],
)
def test_noise_that_is_no_linear_map_of_its_draws_is_not_read_as_one(change):
    """Unit vectors alone do not show it, and the exact loss of another mechanism would be said to be this one's."""

    class Changed(NoisePerItem):
        def next(self, state, units, fresh):
            return super().next(state, change(units), fresh)

    with pytest.raises(ValueError, match="the noise of Changed is not a fixed linear map of its draws"):
        materialise(Changed(), 16)
    with pytest.raises(ValueError, match="is not a fixed linear map of its draws"):
        dp.audit(Changed(), rounds=16)


def levels_of(mechanism: WindowBlocks) -> list[tuple[int, int]]:
    """(items of a node, nodes) of every level, from the leaves on."""
    sizes = [int(np.prod(mechanism.radices[:level])) for level in range(mechanism.nodes_per_item)]
    return [(size, mechanism.block // size) for size in sizes]


@pytest.mark.parametrize("radices", [(2,), (5,), (2, 3), (3, 2, 2)])
def test_sums_of_a_block_are_least_squares_on_its_nodes(radices: tuple[int, ...]) -> None:
    mechanism = WindowBlocks(int(np.prod(radices)), radices)
    nodes = np.concatenate([np.kron(np.eye(count), np.ones(size)) for size, count in levels_of(mechanism)])
    for now, variance in enumerate(mechanism.prefix_variances(), 1):
        assert variance == pytest.approx(least_variance(nodes, mechanism.block, now))


@pytest.mark.parametrize("mechanism", [*BLOCKS[:5], WindowItems(5)], ids=repr)
def test_pure_loss_of_protected_items_is_that_of_the_ledger(mechanism: WindowBlocks | WindowItems) -> None:
    """The least l1 charge of any shift of the noises that hides an item, by linear programs; several lengths."""
    worst = 0.0
    for rounds in (mechanism.window, 2 * mechanism.window - 1, 2 * mechanism.window + 3):
        losses = item_pure_loss(mechanism, rounds)[-mechanism.window :]
        assert losses.max() <= mechanism.nodes_per_item * (1 + 1e-9)
        worst = max(worst, losses.max())
    assert worst == pytest.approx(mechanism.nodes_per_item)


@pytest.mark.parametrize("mechanism", BLOCKS, ids=repr)
def test_the_map_from_items_is_the_sum_of_those_in_the_window(mechanism: WindowBlocks) -> None:
    """B C is 0 for items to come and 1 until they expire; after that 0, but for items of a block that goes on.

    Nodes hold the sums of their items in place of noise, item i being the i-th unit vector: the outputs are B C.
    """
    rounds, block, window = 5 * mechanism.window + 3, mechanism.block, mechanism.window
    state, outputs, nothing = mechanism.init(block, 1, rounds), [], np.zeros((block, 1, rounds))
    for begun in range(0, rounds, block):
        items = np.eye(block, rounds, begun)
        nodes = np.concatenate([items.reshape(count, size, -1).sum(axis=1) for size, count in levels_of(mechanism)])
        state.coming[0], state.filled = nodes, len(nodes)
        outputs.append(mechanism.next(state, nothing, lambda count: nothing[:0])[:, 0])
    found = np.concatenate(outputs)[:rounds]
    item, age = np.arange(rounds), np.arange(rounds)[:, None] - np.arange(rounds)
    assert np.abs(found[age < 0]).max() < 1e-12
    assert found[(age >= 0) & (age < window)] == pytest.approx(1.0, abs=1e-12)
    gone = age - (block - 1 - item % block) >= window  # the last item of its block has expired
    assert np.abs(found[gone]).max() < 1e-12
    assert found[(age >= 0) & ~gone] == pytest.approx(1.0, abs=1e-12)


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


BOUNDS = {2**10: 8.46388, 2**12: 11.22138, 2**14: 14.37082, 2**16: 17.91061, 2**18: 21.84016, 2**20: 26.15925}


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

"""All mechanisms alike: the running code has the stated variances and price, and a run and a state are their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import linalg

from dpregret.algorithms.privacy import (
    ALTERNATIVES,
    BLOCK,
    NoisePerItem,
    NoisePerPrefix,
    NoisePlan,
    PrefixSums,
    WindowTree,
    horizon_sums,
    series,
    toeplitz,
    window_sums,
)
from dpregret.algorithms.privacy import convolution as convolution_module
from dpregret.algorithms.privacy.audit import materialise, protected_nodes, transcript_losses
from dpregret.algorithms.privacy.convolution import FIRST, Streamed, convolution, root_convolution
from dpregret.algorithms.privacy.prefix_sums import Fresh
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
    stored,
)
from dpregret.algorithms.privacy.trees import BinaryTree, BlockTrees, DecodedWindowTree, PaddedTree, VarianceReducedTree
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems
from dpregret.numerics.arrays import Array
from dpregret.workflows.mechanisms import fits

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


ALIKE = [case[0] for case in CASES if isinstance(case[0], Toeplitz | NormalisedRoot)]
ROUNDS = 200

# W -> G_W, and T -> largest and mean error of the root, by an independent program
LANDAU = {
    1: 1.0, 4: 1.488281250, 16: 1.943878847, 64: 2.388848108, 256: 2.831049932, 4096: 3.713883627, 65536: 4.596444241,
}  # fmt: skip


def lower(coefficients: np.ndarray) -> np.ndarray:
    return linalg.toeplitz(coefficients, np.zeros(len(coefficients)))


def matrices(mechanism: Toeplitz | NormalisedRoot, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """(B, C) by their definition."""
    if isinstance(mechanism, Toeplitz):
        return lower(mechanism.noise_coefficients(rounds)), lower(mechanism.strategy_coefficients(rounds))
    lengths = np.linalg.norm(lower(root_coefficients(max(1, mechanism.horizon - 1))), axis=0)[:rounds]
    strategy = lower(root_coefficients(rounds)) / lengths
    return np.tril(np.ones((rounds, rounds))) @ np.linalg.inv(strategy), strategy


@pytest.mark.parametrize("mechanism", ALIKE, ids=repr)
def test_the_running_code_is_the_matrix_of_the_definition(mechanism: Toeplitz | NormalisedRoot) -> None:
    last = getattr(mechanism, "horizon", ROUNDS + 1) - 1
    rounds = min(ROUNDS, max(1, last))
    noise, strategy = matrices(mechanism, rounds)
    streamed = materialise(mechanism, rounds)
    assert np.abs(streamed[:, :rounds] - noise).max() < 2e-14
    assert not streamed[:, rounds:].any()
    np.testing.assert_allclose(noise @ strategy, np.tril(np.ones((rounds, rounds))), rtol=0, atol=1e-13)
    if isinstance(mechanism, Toeplitz):
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


ROOTS = [each for each in STREAMED if isinstance(each, Toeplitz | NormalisedRoot)]


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
    assert isinstance(mechanism, Toeplitz | NormalisedRoot)
    noise = matrices(mechanism, 896)[0]
    expected = np.einsum("ts,srd->trd", noise, units)
    for each in found:
        np.testing.assert_allclose(each, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("distribution", ["gamma", "laplace"])
@pytest.mark.parametrize("mechanism", [WindowRoot(9), NormalisedRoot(900)], ids=repr)
def test_pure_noise_is_refused_with_the_reason(mechanism: PrefixSums, distribution: str) -> None:
    with pytest.raises(
        ValueError, match=rf"takes Gaussian noise only, not {distribution}: a pure loss charges the l1 norm"
    ):
        NoisePlan(distribution, [mechanism], [1.0], 1.0, 2)  # type: ignore[arg-type]
    NoisePlan(distribution, [WindowTree(4)], [1.0], 1.0, 2)  # type: ignore[arg-type]
    for window in (16, 256):  # what the reason says
        assert root_coefficients(window).sum() == pytest.approx(2 * np.sqrt(window / np.pi), rel=1 / window)


# Planted mistakes


@dataclass(frozen=True)
class PricedByNoise(WindowBuffers):
    """Charges sum h^2 where sum c^2 is due."""

    @property
    def nodes_per_item(self) -> float:
        return self.symbol().square_sum()


@dataclass(frozen=True)
class Restarted(WindowBuffers):
    """Forgets its buffers at block borders."""

    def next(self, state: Any, units: Array, fresh: Fresh) -> Array:
        return super().next(self.init(*units.shape), units, fresh)


@dataclass(frozen=True)
class DroppedEarly(WindowRoot):
    """An item's noise goes one round before the item does."""

    def init(self, rounds: int, runs: int, dimension: int) -> Any:
        return convolution(root_coefficients, self.window - 1, rounds, runs * dimension)


@dataclass(frozen=True)
class DroppedLate(WindowRoot):
    """Coefficients up to f_W, while G_W is charged and stated as the variance."""

    def init(self, rounds: int, runs: int, dimension: int) -> Any:
        return convolution(root_coefficients, self.window + 1, rounds, runs * dimension)


def findings(mechanism: Toeplitz, window: int) -> dict[str, bool]:
    """Whether more is told than charged, and whether the noise is other than stated."""
    rounds = max(5 * window, 160)  # some blocks
    noise = materialise(mechanism, rounds)
    return {
        "loss": protected_nodes(noise, window) > mechanism.nodes_per_item * (1 + 1e-9),
        "noise": not np.allclose(np.square(noise).sum(axis=1), mechanism.noisy_nodes(rounds), rtol=1e-9),
    }


@pytest.mark.parametrize("window", [8, 16, 63])
@pytest.mark.parametrize(
    ("planted", "right", "seen"),
    [
        (lambda window: PricedByNoise(window, 1), lambda window: WindowBuffers(window, 1), "loss"),
        (lambda window: Restarted(window, 1), lambda window: WindowBuffers(window, 1), "loss"),
        (DroppedEarly, WindowRoot, "loss"),
        (DroppedLate, WindowRoot, "noise"),
    ],
    ids=["sum h^2 for sum c^2", "restarted buffers", "noise dropped early", "noise dropped late"],
)
def test_planted(window: int, planted, right, seen: str) -> None:
    assert findings(planted(window), window)[seen]
    assert findings(right(window), window) == {"loss": False, "noise": False}


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
        (0.999886737, 0.997712398, 0.972515722, 0.715533373), (0.999371604, 0.991981742, 0.907992263, 0.304323080),
        4.19767, 4.17351,
    ),
}  # fmt: skip


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


@pytest.mark.nightly
def test_the_script_writes_the_files_that_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {module: tmp_path / f"{module.__name__}.json" for module in (toeplitz, series)}
    for module, file in files.items():
        monkeypatch.setattr(module, "PARAMETERS", file)
    for name, sizes in (("WINDOWS", (2, 4, 16)), ("HORIZONS", (8,)), ("LENGTHS", (32,))):
        monkeypatch.setattr(fits, name, sizes)
    assert fits.main() == 0
    kept = stored.__wrapped__()
    for kind, size in (("windows", 2), ("windows", 4), ("windows", 16), ("horizons", 8)):
        for name in ("decays", "zeros"):
            assert kept[kind][size][1][name] == pytest.approx(stored()[kind][size][1][name], abs=1e-5)
    assert list(kept["windows"][4]) == [1]  # a second buffer gains nothing there
    [made] = json.loads(files[series].read_text(encoding="utf-8"))
    decays, weights = root_decays(32)
    assert made["decays"] == pytest.approx(decays, rel=1e-13)
    assert made["weights"] == pytest.approx(weights, rel=1e-13)

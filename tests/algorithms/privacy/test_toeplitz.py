"""Toeplitz mechanisms against their definition: matrices, losses, variances and constants in print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import linalg

from dpregret.algorithms.privacy import NoisePlan, PrefixSums, WindowTree
from dpregret.algorithms.privacy import convolution as convolution_module
from dpregret.algorithms.privacy.audit import materialise, protected_nodes, transcript_losses
from dpregret.algorithms.privacy.convolution import convolution
from dpregret.algorithms.privacy.prefix_sums import Fresh
from dpregret.algorithms.privacy.series import (
    Rational,
    inverse_root_coefficients,
    landau,
    landau_constants,
    reciprocal,
    root_coefficients,
    taylor,
)
from dpregret.algorithms.privacy.toeplitz import (
    BandedInverseRoot,
    BufferedToeplitz,
    NormalisedRoot,
    Root,
    Toeplitz,
    UnboundedToeplitz,
    WindowBuffers,
    WindowRoot,
)
from dpregret.numerics.arrays import Array

MECHANISMS: list[Toeplitz | NormalisedRoot] = [
    WindowRoot(1), WindowRoot(7), WindowRoot(64), WindowRoot(100), WindowBuffers(1), WindowBuffers(5, 1),
    WindowBuffers(16, 2), WindowBuffers(100, 4), Root(1), Root(2), Root(201), Root(150), BufferedToeplitz(2, 1),
    BufferedToeplitz(201), BufferedToeplitz(150, 5), BandedInverseRoot(201, 1), BandedInverseRoot(201, 6),
    BandedInverseRoot(90, 100), UnboundedToeplitz(), UnboundedToeplitz(1.5), NormalisedRoot(201), NormalisedRoot(1),
]  # fmt: skip
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


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
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


STREAMED = [WindowRoot(100), WindowRoot(700), WindowBuffers(64), BufferedToeplitz(900), BandedInverseRoot(900, 40),
            UnboundedToeplitz(), NormalisedRoot(900)]  # fmt: skip


@pytest.mark.parametrize("direct", [True, False], ids=["products", "halving"])
@pytest.mark.parametrize("mechanism", STREAMED, ids=repr)
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
@pytest.mark.parametrize("mechanism", STREAMED, ids=repr)
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


@dataclass(frozen=True)
class ChargedEarly(WindowRoot):
    """c_0..c_{W-2} only."""

    @property
    def nodes_per_item(self) -> float:
        return landau(self.window - 1)


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
        (ChargedEarly, WindowRoot, "loss"),
        (DroppedLate, WindowRoot, "noise"),
    ],
    ids=["sum h^2 for sum c^2", "restarted buffers", "noise dropped early", "c charged to W - 1", "noise dropped late"],
)
def test_planted(window: int, planted, right, seen: str) -> None:
    assert findings(planted(window), window)[seen]
    assert findings(right(window), window) == {"loss": False, "noise": False}

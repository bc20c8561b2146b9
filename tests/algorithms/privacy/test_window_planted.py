"""Mistakes planted in windowed noise: the exact audit sees each, and leaves the right code alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpregret.algorithms.privacy.audit import materialise, protected_nodes
from dpregret.algorithms.privacy.buffers import WindowBuffers
from dpregret.algorithms.privacy.convolution import convolution
from dpregret.algorithms.privacy.prefix_sums import Fresh
from dpregret.algorithms.privacy.series import landau, root_coefficients
from dpregret.algorithms.privacy.toeplitz import Toeplitz, WindowRoot
from dpregret.numerics.arrays import Array


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


def test_a_longer_root_is_as_private_and_noisier() -> None:
    """Truncation at W + 1 while W is charged costs noise, no privacy: c_j for j < W does not depend on h_W."""
    window = 16
    noise = materialise(DroppedLate(window), 6 * window)
    assert protected_nodes(noise, window) == pytest.approx(landau(window), rel=1e-12)
    assert protected_nodes(noise, window + 1) == pytest.approx(landau(window + 1), rel=1e-12)
    assert np.square(noise).sum(axis=1)[-1] == pytest.approx(landau(window + 1), rel=1e-12)

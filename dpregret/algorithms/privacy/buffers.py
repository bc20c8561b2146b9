"""Buffered Toeplitz mechanisms: rational h, so that k vectors of state serve any window and any horizon.

  WindowBuffers     h(x) = prod(1 - b_i x) / prod(1 - a_i x), c = 1 / ((1 - x) h); sum_{j<W} c_j^2 is charged.
  BufferedToeplitz  C(x) = prod(1 - zeros_i x) / prod(1 - decays_i x) (Dvijotham, McMahan, Pillutla, Steinke & Thakurta
                    2024), h = 1 / ((1 - x) C): one pole of h is 1, so k + 1 vectors.

The parameters (`buffers.json`) make the largest error small for powers of two: windows minimise (sum over all j of
h_j^2)(sum_{j<W} c_j^2), horizons (sum_{j<n} h_j^2)(sum_{j<n} c_j^2) with n = T - 1, in ln(-ln decay) of the interlacing
decays and zeros, each from the fit of half the size (`workflows/mechanisms/fits.py` of commit 18391ff0). They are taken
from the nearest one, and the sensitivity is computed for the window or horizon there is: any parameters are private,
only the error depends on the fit.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dpregret.algorithms.privacy.convolution import Streamed
from dpregret.algorithms.privacy.series import Rational
from dpregret.algorithms.privacy.toeplitz import OverHorizon, OverWindow
from dpregret.numerics.arrays import Array

PARAMETERS = Path(__file__).with_name("buffers.json")
Decays = tuple[float, ...]


@cache
def stored() -> dict[str, dict[int, dict[int, Any]]]:
    """kind (`windows`, `horizons`) -> size -> number of buffers -> {decays, zeros}."""
    table: dict[str, dict[int, dict[int, Any]]] = {}
    for row in json.loads(PARAMETERS.read_text(encoding="utf-8")):
        table.setdefault(row["kind"], {}).setdefault(row["size"], {})[row["buffers"]] = row
    return table


def parameters(kind: str, size: int, buffers: int) -> tuple[Decays, Decays]:
    """(decays, zeros) fitted for the power of two that is nearest to size, in proportion.

    Where more buffers gain nothing (windows of few rounds) fewer are stored, and the most there are serve.
    Raises ValueError for a number of buffers that is stored for no size.
    """
    table = stored()[kind]
    most = max(max(fits) for fits in table.values())
    if not 1 <= buffers <= most:
        raise ValueError(f"buffers must be 1 to {most}, got {buffers}")
    nearest = min(table, key=lambda other: abs(np.log2(other / size)))
    fit = table[nearest][min(buffers, max(table[nearest]))]
    return tuple(fit["decays"]), tuple(fit["zeros"])


@dataclass(frozen=True)
class WindowBuffers(OverWindow):
    """Geometric decays in place of the window root: about 2 % above its variance with 3 buffers, at less cost.

    z_t = eps_t + sum_i weights_i y_i, then y_i <- a_i y_i + eps_t. The noise of an expired item fades instead of
    ending, so no number of buffers reaches the optimum. Raises ValueError for a window below 1.
    """

    buffers: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.symbol()

    def symbol(self) -> Rational:
        """h; 1 for a window of one round, where nothing can be gained."""
        return Rational(*parameters("windows", self.window, self.buffers)) if self.window > 1 else Rational((), ())

    @property
    def most_noisy_nodes(self) -> float:
        """Sum of h_j^2 over all j, approached as t grows."""
        return self.symbol().square_sum()

    def noise_coefficients(self, count: int) -> Array:
        """h_0 = 1, h_j = sum_i weights_i a_i^(j-1)."""
        return self.symbol().coefficients(count)

    def strategy_coefficients(self, count: int) -> Array:
        """Running sums of the coefficients of 1 / h."""
        return np.cumsum(self.symbol().inverse.coefficients(count))

    def init(self, rounds: int, runs: int, dimension: int) -> Streamed:
        """k vectors of state."""
        return Streamed([1.0], rounds, runs * dimension, self.symbol().poles, self.symbol().weights)


@dataclass(frozen=True)
class BufferedToeplitz(OverHorizon):
    """The buffered linear Toeplitz mechanism over a known horizon: near the root with a few buffers.

    Of a horizon T the prefixes 1..T-1 are released, so `nodes_per_item` is what T - 1 outputs cost.
    """

    buffers: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.strategy()

    def strategy(self) -> Rational:
        """C."""
        return Rational(*parameters("horizons", self.protected + 1, self.buffers))

    def symbol(self) -> Rational:
        """h = 1 / ((1 - x) C)."""
        strategy = self.strategy()
        return Rational((1.0, *strategy.zeros), (0.0, *strategy.poles))

    def noise_coefficients(self, count: int) -> Array:
        """h_0 = 1, then one geometric series a buffer and a constant."""
        return self.symbol().coefficients(count)

    def strategy_coefficients(self, count: int) -> Array:
        """c_0 = 1, then one geometric series a buffer."""
        return self.strategy().coefficients(count)

    def init(self, rounds: int, runs: int, dimension: int) -> Streamed:
        """k + 1 vectors of state."""
        return Streamed([1.0], rounds, runs * dimension, self.symbol().poles, self.symbol().weights)

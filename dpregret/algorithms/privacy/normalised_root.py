"""The normalised root over a known horizon: not Toeplitz, below the root for whole sequences.

C = F D^-1 with F the Toeplitz matrix of the root and D = diag(d_i) its column norms, d_i = sqrt(G_{n-i}) for i = 0..n-1
(Henzinger, Kalinin & Upadhyay 2025). Every column of C has norm 1, so an item is one node. Since F F is the matrix of
running sums, B = F F C^-1 = F F D F^-1:

    z_t = sum_{i<=t} d_i (F^-1 eps)_i,          F^-1 the Toeplitz matrix of the inverse root g.
"""

from dataclasses import dataclass

import numpy as np

from dpregret.algorithms.privacy.convolution import Direct, Halving, convolution
from dpregret.algorithms.privacy.prefix_sums import Fresh
from dpregret.algorithms.privacy.series import inverse_root_coefficients, landau_constants, root_coefficients
from dpregret.algorithms.privacy.toeplitz import LinearGaussian
from dpregret.numerics.arrays import Array


@dataclass(frozen=True)
class NormalisedRoot(LinearGaussian):
    """z = B eps, B = (running sums) D F^-1. Raises ValueError for a horizon below 1."""

    horizon: int

    def __post_init__(self) -> None:
        if self.horizon < 1:
            raise ValueError(f"horizon must be at least 1, got {self.horizon}")

    @property
    def nodes_per_item(self) -> float:
        """One."""
        return 1.0

    def lengths(self, rounds: int) -> Array:
        """d_i of items 0..rounds-1; 1 for those that no prefix holds."""
        last = max(1, self.horizon - 1)
        return np.sqrt(landau_constants(last)[np.maximum(last - 1 - np.arange(rounds), 0)])

    def noisy_nodes(self, rounds: int) -> Array:
        """Squared row norms of B, row by row: b_t = b_{t-1} + d_t (g_t, ..., g_0); O(rounds^2) steps."""
        lengths, reversed_inverse = self.lengths(rounds), inverse_root_coefficients(rounds)[::-1].copy()
        row, found = np.zeros(rounds), np.empty(rounds)
        for t in range(rounds):
            row[: t + 1] += lengths[t] * reversed_inverse[rounds - 1 - t :]
            found[t] = row[: t + 1] @ row[: t + 1]
        return found

    def materialise(self, rounds: int) -> tuple[Array, Array]:
        """(B, C), (rounds, rounds); B C is the matrix of running sums."""
        order = np.arange(rounds)
        lag = order[:, None] - order
        root = np.where(lag >= 0, root_coefficients(rounds)[np.abs(lag)], 0.0)
        inverse = np.where(lag >= 0, inverse_root_coefficients(rounds)[np.abs(lag)], 0.0)
        lengths = self.lengths(rounds)
        return np.cumsum(lengths[:, None] * inverse, axis=0), root / lengths

    def init(self, rounds: int, runs: int, dimension: int) -> "NormalisedState":
        """All vectors are kept: memory grows with the horizon."""
        whitened = convolution(inverse_root_coefficients, max(1, self.horizon), rounds, runs * dimension)
        return NormalisedState(whitened, np.zeros((runs, dimension)))

    def next(self, state: "NormalisedState", units: Array, fresh: Fresh) -> Array:
        """Running sums of the whitened noises, scaled."""
        noise = state.whitened.next(units)
        noise *= self.lengths(state.done + len(units))[state.done :, None, None]
        noise[0] += state.total
        noise = np.cumsum(noise, axis=0)
        state.done += len(units)
        state.total[...] = noise[-1]
        return noise


@dataclass
class NormalisedState:
    """The convolution with g, the last output (runs, d), and the rounds done."""

    whitened: Direct | Halving
    total: Array
    done: int = 0

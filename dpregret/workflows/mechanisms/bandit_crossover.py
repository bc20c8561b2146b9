"""Where a tree over batches begins to beat noise on every observed value, by the explicit bounds of both.

All in closed form for T = 4^m rounds, with D = L = 1 (both bounds are multiples of L D); `NoisyLeader.bound` is the
definition, and a test holds both together. Shorter horizons than n^2 are refused by the learners.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import binom

from dpregret.algorithms.privacy import Budget, gaussian_mu

DIMENSIONS: Final = (2, 4, 8, 16, 32)
EPSILONS: Final = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
DELTA: Final = 1e-6
MOST: Final = 200  # T = 4^200 is looked at no more
SHOWN: Final = 10  # T = 2^20, where bounds are shown side by side
NOISES: Final = ("every value", "Laplace tree", "Gaussian tree")


@dataclass(frozen=True)
class Place:
    """T = 4^levels rounds in dimension n with budget (epsilon, DELTA)."""

    levels: int
    dimension: int
    epsilon: float

    @property
    def batch(self) -> float:
        """Rounds of a batch, and number of batches."""
        return float(2**self.levels)

    @property
    def zeta(self) -> float:
        """That of PrivateBandit."""
        return math.sqrt(self.dimension / self.batch)

    def bound(self, noise: str) -> float:
        """The explicit bound for one of `NOISES`; docs/proofs/private_bandit_bound.md."""
        zeta, eta = self.zeta, 1 / (self.batch**1.5 * math.sqrt(self.dimension))
        variance = drift = 0.0
        if noise == "every value":
            growth = 1 + 2 / self.epsilon**2
            stretch = min(max(1.0, growth**0.25 / math.sqrt(2)), 1 / zeta)
            zeta, eta = zeta * stretch, eta * stretch / math.sqrt(growth)
            variance = 2 * ((1 + 2 * zeta) / self.epsilon) ** 2
        else:
            drift = self._tree_noise(noise)
        kappa = math.sqrt(self.batch * (self.dimension / zeta) ** 2 * ((1 + zeta) ** 2 + variance) + self.batch**2)
        horizon, error = self.batch**2, max(2 / math.sqrt(self.batch + 2), math.sqrt(2) / self.batch)
        leader = 1 / (2 * eta) + eta * self.batch * kappa**2 / 2
        return float(2 * zeta * horizon + leader + horizon * (eta * (kappa + drift) + error))

    def _tree_noise(self, noise: str) -> float:
        """Mean over the batches of the root mean square norm of a sum's noise."""
        nodes, leaf = max(1, self.levels), self.dimension / self.zeta * (1 + 2 * self.zeta)
        if noise == "Laplace tree":
            norm = nodes * math.sqrt(self.dimension) * leaf / self.epsilon * math.sqrt(2 * self.dimension)
        else:
            norm = math.sqrt(nodes * self.dimension) * leaf / gaussian_mu(Budget(self.epsilon, DELTA))
        held = np.arange(self.levels + 1)  # nodes of a prefix: popcount of a number of that many bits
        mean = float(binom.pmf(held, self.levels, 0.5) @ np.sqrt(held)) + 1 / self.batch
        return norm * mean


def crossover() -> pd.DataFrame:
    """A row per n and eps: log2 of the horizon from which each tree has the smaller bound, and bounds at T = 2^20.

    The horizon is a power of four; `limit` is what the quotient of the bounds, every value over tree, tends to.
    """
    return pd.DataFrame(list(_rows()))


def _rows() -> Iterator[dict[str, float | str]]:
    for dimension in DIMENSIONS:
        for epsilon in EPSILONS:
            here = {noise: Place(SHOWN, dimension, epsilon).bound(noise) for noise in NOISES}
            yield {
                "n": dimension, "eps": epsilon,
                **{f"log2 T*, {noise}": first_better(noise, dimension, epsilon) for noise in NOISES[1:]},
                **{f"every value / {noise}, T = 2^20": here[NOISES[0]] / here[noise] for noise in NOISES[1:]},
                "limit": leading(dimension, epsilon) / leading(dimension, math.inf),
            }  # fmt: skip


def leading(dimension: int, epsilon: float) -> float:
    """The limit of the bound of noise on every value, in units of L D T^(3/4); trees tend to that of eps = inf."""
    growth, root = 1 + 2 / epsilon**2, math.sqrt(dimension)
    far = max(1.0, growth**0.25 / math.sqrt(2))
    step, kappa = far / math.sqrt(growth), math.sqrt(dimension * growth / far**2 + 1)
    return float(2 * far * root + root / (2 * step) + step * kappa**2 / (2 * root) + step * kappa / root + 2)


def first_better(noise: str, dimension: int, epsilon: float) -> float:
    """log2 of the smallest T = 4^m from which a tree's bound stays below that of noise on every value; inf: none."""
    first = max(1, math.ceil(math.log2(dimension)))
    better = [
        Place(levels, dimension, epsilon).bound(noise) < Place(levels, dimension, epsilon).bound(NOISES[0])
        for levels in range(first, MOST + 1)
    ]
    if not better[-1]:
        return math.inf
    worse = [index for index, each in enumerate(better) if not each]
    return 2.0 * (first + (worse[-1] + 1 if worse else 0))

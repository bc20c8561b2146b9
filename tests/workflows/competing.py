"""Two candidates of report-noisy-min among others, as docs/proofs/noisy_min_range.md sees them, by quadrature."""

import math

import numpy as np

from dpregret.numerics.arrays import Array

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def density(z: Array) -> Array:
    return 0.5 * np.exp(-np.abs(z))


def tail(z: Array) -> Array:
    return np.where(z > 0, density(z), 1 - density(z))


def places(ends: Array) -> tuple[Array, Array]:
    """Nodes and weights between kinks."""
    cuts = np.unique(np.concatenate([ends, np.linspace(-45, 45, 91)]))
    half = np.diff(cuts)[:, None] / 2
    return (cuts[:-1, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()


class Pair:
    """Candidates 0 (score 0) and 1 (score d >= 0) among `scores` (k,), in units of b."""

    def __init__(self, scores: Array):
        self.scores, self.far = scores, float(scores[1])
        self.p = math.exp(-self.far)
        lam, _, _ = self.probabilities(*places(scores))
        self.x1 = math.log(2 / (lam + self.p))
        self.v, self.weights = places(np.append(scores, self.x1))
        self.lam, self.first, self.second = self.probabilities(self.v, self.weights)

    def laws(self, v: Array) -> tuple[Array, Array, Array]:
        """Densities of V and a choice of 0, of V and a choice of 1, and G."""
        apart = v[:, None] - self.scores
        others = tail(apart[:, 2:]).prod(axis=1)
        return (density(apart[:, 0]) * tail(apart[:, 1]) * others, density(apart[:, 1]) * tail(apart[:, 0]) * others,
                others)  # fmt: skip

    def probabilities(self, v: Array, weights: Array) -> tuple[float, float, float]:
        """lam, P(0), P(1)."""
        one, two, _ = self.laws(v)
        return float(weights @ one / (weights @ two) * self.p), float(weights @ one), float(weights @ two)

    def z(self) -> float:
        """Formula (2)."""
        one, two, _ = self.laws(self.v)
        one, two = self.weights * one / self.first, self.weights * two / self.second
        ahead = (density(self.v[:, None] - self.scores) / tail(self.v[:, None] - self.scores))[:, 2:]
        rest = np.minimum(one @ ahead, two @ ahead).sum()
        return float(2 * one[self.v > 0].sum() + 2 * two[self.v > self.far].sum() + rest)

    def linear(self, at_zero: bool) -> float:
        """The right side of (3)."""
        v, p, lam = self.v, self.p, self.lam
        u, a = np.exp(np.minimum(v, 0)) / 2, np.exp(-np.abs(v)) / 2 - p / 4
        splice = 0.0 if at_zero or lam < 1 else self.x1
        left = lam * (1 - 2 * u) if lam >= 1 else 1 - 2 * p * u
        middle = 2 * a - np.where(v > splice, np.exp(-np.abs(v)) / 2, 0)
        beyond = lam / 2 * np.exp(-2 * np.maximum(v - self.far, 0))
        weight = np.where(v < 0, left * u, np.where(v < self.far, middle, beyond))
        jump = (2 - p - lam) / 4 * float(self.laws(np.zeros(1))[2][0]) if lam >= 1 and at_zero else 0.0
        return float(self.weights @ (weight * self.laws(v)[2])) + jump

    def splice_at_zero_is_allowed(self) -> bool:
        one, two, _ = self.laws(self.v)
        below = self.v < 0
        return bool((self.weights @ (one * below)) / self.first >= (self.weights @ (two * below)) / self.second)


def random_pairs(count: int, seed: int) -> list[Pair]:
    """Two to eight candidates, half of them with 0 and 1 even."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        scores = generator.normal(size=generator.integers(2, 9)) * generator.choice([0.2, 1, 3])
        made.append(Pair(np.concatenate([[0.0, abs(scores[1]) * generator.integers(2)], scores[2:]])))
    return made

"""Report-noisy-min with Laplace noise: the law of a choice, and two candidates among others, by quadrature.

Scores are in units of the scale b of the noise; docs/proofs/noisy_min_range.md. Scales are in units of the sensitivity
s, those of docs/proofs/frank_wolfe_privacy.md.
"""

import math

import numpy as np

from dpregret.algorithms.privacy import Budget, gaussian_mu, largest_within
from dpregret.algorithms.privacy.budget import largest_call_epsilon
from dpregret.algorithms.privacy.selection import RANGES, largest_rho
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit.exact_losses import printed_scale, wolfe_epsilon

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
        return (
            density(apart[:, 0]) * tail(apart[:, 1]) * others,
            density(apart[:, 1]) * tail(apart[:, 0]) * others,
            others,
        )

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


INFORMATION = 49 / 36
"""Squared derivative over variance, (7/12)^2 / (1/4), of a choice of `raised_pair`, in units of (s / b)^2."""
WIDEST = 0.1183447643
"""The y at which `equal_pair_range` is largest, 2.3477957."""


def choice_scores(scores: Array, moves: Array) -> tuple[Array, Array]:
    """P(i) of the smallest of scores (k,), and d ln P(i) for scores that move along `moves` (k,).

    The variance of the second under the first is the Fisher information of a choice, its largest difference is the
    range of the loss of a small move.
    """
    low = scores.min()
    place, weight = places(scores - low)
    apart = place[:, None] - (scores - low)
    chosen = density(apart) / tail(apart) * tail(apart).prod(axis=1, keepdims=True)  # i is here and all others higher
    beyond = moves * density(apart) / tail(apart)  # E sgn of the noise of a score that stands higher
    slope = moves * np.sign(apart) + beyond.sum(axis=1, keepdims=True) - beyond
    probability = weight @ chosen
    return probability, weight @ (chosen * slope) / probability


def pair_ranges(scores: Array) -> Array:
    """|grad ln P(i) - grad ln P(j)|_1 for every two candidates, (k,) -> (k, k), in units of s / b.

    The difference of the losses of i and j under a small move in [-1, 1]: it is linear in the move, so that the worst
    moves are signs.
    """
    slopes = choice_slopes(scores)
    return np.asarray(np.abs(slopes[:, None] - slopes).sum(axis=-1))


def choice_slopes(scores: Array) -> Array:
    """d ln P(i) / d score j, (k,) -> (k, k)."""
    return np.stack([choice_scores(scores, unit)[1] for unit in np.eye(len(scores))], axis=1)


def equal_pair_range(offset: float) -> float:
    """`pair_ranges` of the first two of the scores (0, 0, y, y, y), y = offset >= 0, in closed form: 2 I / D.

    With e = exp(-y), I = (1 - (1 - e/2)^4) / (4 e); D, the probability of the choice, is the sum of the other lines.
    """
    gone, share = math.exp(-offset), 1 - math.exp(-offset) / 2
    near = ((1 - share**5) / 5 - (1 - gone) * (1 - share**4) / 4) / gone**2
    middle = (1 - gone**2) / 8 - 3 * gone * (1 - gone) / 8 + 3 * gone**2 * offset / 16 - gone**2 * (1 - gone) / 32
    return (1 - share**4) / (2 * gone) / (near + middle + gone**2 / 160)


def refuted_scale(budget: Budget, rounds: int) -> float:
    """The largest scale that the pair of the page shows to be too small: a valid one is at least this."""
    return 1 / largest_within(lambda inverse: wolfe_epsilon(1 / inverse, rounds, budget.delta), budget.epsilon)


def ranged_scale(budget: Budget, rounds: int, spread: float) -> float:
    """The valid scale if the loss of a choice had a range of `spread` s / b: by zCDP, or pure composition."""
    ranged = spread / 2 * math.sqrt((rounds - 1) / (2 * largest_rho(budget)))
    return min(ranged, purely_proved_scale(budget, rounds))


def purely_proved_scale(budget: Budget, rounds: int) -> float:
    """The proved scale for choices that are 2 s / b - DP, without a bound on their range."""
    return 2 / largest_call_epsilon(budget.epsilon, budget.delta, rounds - 1)


def proved_epsilon(delta: float) -> float:
    """The epsilon up to which the printed scale is proved private, for every T, since T - 1 choices are made."""

    def ratio(epsilon: float) -> float:
        budget = Budget(epsilon, delta)
        return RANGES["laplace"] / 2 / math.sqrt(2 * largest_rho(budget)) / printed_scale(budget, 1)

    return largest_within(ratio, 1.0)


def distance(budget: Budget) -> float:
    """Distance of the two unit Gaussians to which the pair tends as T grows, at the printed scale."""
    return budget.epsilon * math.sqrt(INFORMATION / (2 * math.log(1 / budget.delta)))


def failing_epsilon(delta: float) -> float:
    """The epsilon beyond which the printed scale fails for every T that is large enough."""

    def ratio(epsilon: float) -> float:
        budget = Budget(epsilon, delta)
        return distance(budget) / gaussian_mu(budget)

    return largest_within(ratio, 1.0)

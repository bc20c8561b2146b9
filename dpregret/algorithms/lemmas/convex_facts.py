"""Facts of convex optimisation that the papers state with their constants, computed. Each class has a box of its own.

Problem     Of each class.
Algorithm   The quantity is computed where the fact is tight, or where its step matters.
Privacy     None: nothing of anybody is released.
Guarantee   The statement of each class.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.lemmas.statements import Statement
from dpregret.numerics.arrays import Array


class FrankWolfeGap(Statement):
    """What Frank-Wolfe without noise leaves of the gap after its T - 1 steps; the size is T.

    Problem     (theta + 1)^2 / 2 on [-1, 1] from phi_1 = 1: the curvature Gamma is 4, and every exact oracle answers
                s_t = -1.
    Algorithm   phi_(t+1) = (1 - mu) phi_t + mu s_t, t = 1..T-1, with mu = 1 / (T + 2), or 2 / (t + 2) in round t.
    Guarantee   Talwar, Thakurta & Zhang 2015, Theorem 5.6: the gap is at most 2 Gamma (1 + beta) / (T + 2), for every
                beta > 0 and mu = 1 / (T + 2).
    """

    card = Card(
        name="frank-wolfe-gap",
        title="gap of Frank-Wolfe",
        paper="Talwar, Thakurta & Zhang 2015",
        reference="Theorem 5.6",
        variants={"printed": "step 1 / (T + 2)", "decreasing": "step 2 / (t + 2)"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """The gap."""
        rounds = np.arange(1, self.case.size)
        steps = 2 / (rounds + 2) if self.variant == "decreasing" else np.full(len(rounds), 1 / (self.case.size + 2))
        distance = 2 * float(np.prod(1 - steps))
        return np.full(self.runs, distance**2 / 2)

    def stated(self) -> float:
        """8 / (T + 2), as beta falls to 0."""
        return 8 / (self.case.size + 2)


class HullNorm(Statement):
    """The largest |theta|_Q / |theta|_(Q,q), q = ln k / (ln k - 1), in the hull of k orthogonal corners; the size is k.

    Problem     The Minkowski norm is the l1 norm of the weights, and |.|_(Q,q) their l_q norm; equal weights are worst.
    Guarantee   Talwar, Thakurta & Zhang 2015, Claim 3.5: at most e.
    """

    card = Card(
        name="hull-norm",
        title="norms of a hull",
        paper="Talwar, Thakurta & Zhang 2015",
        reference="Claim 3.5",
        variants={"equal": "k equal weights"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """k over k^(1/q)."""
        logarithm = math.log(self.case.size)
        weights = np.ones(self.case.size)
        power = logarithm / (logarithm - 1)
        return np.full(self.runs, float(weights.sum() / np.sum(weights**power) ** (1 / power)))

    def stated(self) -> float:
        """e."""
        return math.e


class SmoothedValue(Statement):
    """How far the mean of a function over a ball of radius zeta is from its value, zeta = 1.

    Problem     f(x) = |x| at 0, L = 1, in n dimensions: the mean of |u| over the unit ball.
    Guarantee   Ene, Nguyen & Vladu 2021, Lemma 3, first property: at most zeta L.
    """

    card = Card(
        name="smoothed-value",
        title="smoothing",
        paper="Ene, Nguyen & Vladu 2021",
        reference="Lemma 3",
        variants={"cone": "at the tip of a cone"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """n / (n + 1)."""
        return np.full(self.runs, self.case.dimension / (self.case.dimension + 1))

    def stated(self) -> float:
        """zeta L."""
        return 1.0

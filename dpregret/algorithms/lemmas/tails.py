"""Tails of the norm of noise, exact: one vector, and the sum of the nodes of a window tree.

Problem     The quantile at 1 - beta of |z|, in units of sensitivity / epsilon.
Algorithm   The quantile is computed, not drawn.
Privacy     None: nothing of anybody is released.
Guarantee   Lou & Cheung 2020. Proposition A2: a Gamma(k, 1) variable is at most k ln(k/beta); here k is the dimension.
            Proposition A4: |N(0, I_d)| <= sqrt(2 d ln(1/beta)). Lemma 2: with node norms Gamma(d, m + 1), m = log2 W,
            the error of the window tree is at most d m^1.5 ln(d/beta). Lemma 4: O(sqrt(d ln(1/beta))) in beta and d.
            Each with probability at least 1 - beta.
Deviations  The error is taken where a sum has the most nodes, m + 1. Of Lemma 2 only d = 1, where a node is Laplace:
            P(|sum of n| > x) = 2 e^-x sum_{k < n} C(n - 1 + k, k) / 2^(n + k) sum_{j < n - k} x^j / j!, x in scales.
            Lemma 4 states no constant; sigma = 1 here.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, stats

from dpregret.algorithms.learner import Card
from dpregret.algorithms.lemmas.statement import Statement
from dpregret.numerics.arrays import Array


def laplace_tail(terms: int, place: float) -> float:
    """P(|sum of `terms` standard Laplace variables| > place)."""
    powers = np.cumsum([place**j / math.factorial(j) for j in range(terms)])
    shares = np.array([math.comb(terms - 1 + k, k) / 2.0 ** (terms + k) for k in range(terms)])
    return 2 * math.exp(-place) * float(shares @ powers[::-1])


class NormTail(Statement):
    """The norm of one noise vector."""

    card = Card(
        name="norm-tail", title="Norm of noise", paper="Lou & Cheung 2020", reference="Propositions A2 and A4",
        variants={"gamma": "Gamma(k, 1), k the dimension", "gaussian": "standard normal"}, private=False,
    )  # fmt: skip

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """The exact quantile."""
        law = stats.gamma if self.variant == "gamma" else stats.chi
        return self.everywhere(float(law.isf(self.case.failure, self.case.dimension)))

    def stated(self) -> float:
        """A2 or A4."""
        dimension, failure = self.case.dimension, self.case.failure
        if self.variant == "gamma":
            return dimension * math.log(dimension / failure)
        return math.sqrt(2 * dimension * math.log(1 / failure))


class TreeError(Statement):
    """The error of a window tree; the size is W."""

    card = Card(
        name="tree-error", title="Error of the window tree", paper="Lou & Cheung 2020", reference="Lemmas 2 and 4",
        variants={"gamma": "Gamma norms of scale log2 W + 1, d = 1", "gaussian": "standard normal nodes"},
        private=False,
    )  # fmt: skip

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """The exact quantile where a sum has log2 W + 1 nodes."""
        nodes, failure = round(math.log2(self.case.size)) + 1, self.case.failure
        if self.variant == "gaussian":
            return self.everywhere(math.sqrt(nodes) * float(stats.chi.isf(failure, self.case.dimension)))
        if self.case.dimension > 1:
            raise ValueError(f"dimension must be 1 for {self.card.name}.gamma, got {self.case.dimension}")
        most = 4 * nodes + 4 * math.log(1 / failure)
        return self.everywhere(nodes * float(optimize.brentq(lambda x: laplace_tail(nodes, x) - failure, 0.0, most)))

    def stated(self) -> float:
        """Lemma 2."""
        if self.variant == "gaussian":
            return math.nan
        dimension, depth = self.case.dimension, math.log2(self.case.size)
        return dimension * math.sqrt(depth) ** 3 * math.log(dimension / self.case.failure)

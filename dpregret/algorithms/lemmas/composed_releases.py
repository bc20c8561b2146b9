"""Privacy theorems of Jain, Kothari & Thakurta 2012, computed: what Gaussian releases lose together. Each class has a
box of its own.

Problem     Of each class; two sequences differ in one loss, or one item, replaced by another. The size is T.
Algorithm   The loss is that of exact Gaussian differential privacy.
Privacy     None: nothing of anybody is released.
Guarantee   The theorem of each class.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.lemmas.statements import APART, Statement
from dpregret.algorithms.online.pocp import printed_factor, printed_octave
from dpregret.algorithms.online.pqftl import private_sum_scale
from dpregret.algorithms.privacy import Budget, OctaveNoise, gaussian_epsilon
from dpregret.numerics.arrays import Array


class PocpPrivacy(Statement):
    """Releases of POCP, whose t-th point moves by lambda / t and has noise beta / t.

    Problem     epsilon at the stated delta, exact where every point moves as far as it may.
    Guarantee   Lemma 1: a release is (sqrt(eps) / T^(1/2+c), delta / T)-DP. Theorem 1: all are (3 eps, 2 delta)-DP.
                Theorem 9: the same for GIGA, whose points move by 4 L / mu where lambda is 2 L / mu. Theorem 13: those
                of Alg. 7 are (3 eps log2 T, delta log2 T + 2 T^(-2 eps))-DP.
    """

    card = Card(
        name="pocp-privacy",
        title="privacy of POCP",
        paper="Jain, Kothari & Thakurta 2012",
        reference="Lemma 1, Theorems 1, 9 and 13",
        variants={
            "lemma-1": "one release",
            "theorem-1": "T releases",
            "theorem-9": "T releases that move twice as far",
            "theorem-13": "noise by octaves",
        },
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """Exact epsilon."""
        return np.full(self.runs, gaussian_epsilon(self._mu(), self._stated()[1]))

    def stated(self) -> float:
        """The stated epsilon."""
        return self._stated()[0]

    def _mu(self) -> float:
        size, budget = self.case.size, Budget(self.case.epsilon, self.case.failure)
        if self.variant == "theorem-13":
            factors = tuple(printed_octave(octave, budget) for octave in range(size.bit_length()))
            return math.sqrt(OctaveNoise(size, factors).nodes_per_item)
        releases, moved = (1 if self.variant == "lemma-1" else size), 2 if self.variant == "theorem-9" else 1
        return moved * math.sqrt(releases) / printed_factor(size, budget)

    def _stated(self) -> tuple[float, float]:
        size, epsilon, delta = self.case.size, self.case.epsilon, self.case.failure
        if self.variant == "lemma-1":
            return math.sqrt(epsilon) / math.sqrt(size * math.log(2 / delta) / (2 * epsilon)), delta / size
        if self.variant == "theorem-13":
            return 3 * epsilon * math.log2(size), delta * math.log2(size) + 2 * size ** (-2 * epsilon)
        return 3 * epsilon, 2 * delta


class PointMoves(Statement):
    """How far a hidden point moves where the loss before it is replaced; the size is t.

    Problem     |x_{t+1} - x'_{t+1}| on [-1, 1] for losses x^2 / 2 + g x and x^2 / 2 - g x in round t, g = t / 2, from
                x_t = 0: the largest step that stays inside. L = g + 1 and mu = 1. GIGA takes its first step, t = t_q.
    Guarantee   Lemma 4: at most 2 L / (mu t) with implicit steps of 1 / (mu t). Lemma 5: the same for explicit steps of
                2 / (mu t).
    """

    card = Card(
        name="point-moves",
        title="sensitivity of hidden points",
        paper="Jain, Kothari & Thakurta 2012",
        reference="Lemmas 4 and 5",
        variants={"igd": "implicit steps", "giga": "explicit steps"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """2 g eta / (1 + mu eta), or 2 g eta."""
        slope = self.case.size / 2
        ends = 1.0 if self.variant == "giga" else slope / (self.case.size + 1)
        return np.full(self.runs, 2 * ends)

    def stated(self) -> float:
        """2 L / (mu t)."""
        return 2 * (self.case.size / 2 + 1) / self.case.size


class PrivateSum(Statement):
    """The tree of Alg. 5 over T vectors of norm at most 1, with noise log(T) sqrt(log(log(T) / delta)) / eps on a node.

    Problem     epsilon at the stated delta, exact, where two items of norm 1 are 2 apart.
    Guarantee   Lemma 6: a node is (eps / log T, delta / log T)-DP. Theorem 11: all nodes are (eps, delta)-DP.
    Deviations  log T is to the base 2, the logarithm of log(T) / delta natural; ln: both natural. Item 1 lies in the
                sums of 1, 2, 4, .. items, the largest power of two up to T.
    """

    card = Card(
        name="private-sum",
        title="private sum",
        paper="Jain, Kothari & Thakurta 2012",
        reference="Lemma 6, Theorem 11",
        variants={"node": "one node", "tree": "all nodes", "tree-ln": "all nodes, natural logarithms"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """Of one node, or of all that hold item 1."""
        depth = self._depth()
        nodes = 1 if self.variant == "node" else self.case.size.bit_length()
        share = depth if self.variant == "node" else 1.0
        mu = APART * math.sqrt(nodes) / private_sum_scale(Budget(self.case.epsilon, self.case.failure), depth)
        return np.full(self.runs, gaussian_epsilon(mu, self.case.failure / share))

    def stated(self) -> float:
        """eps / log T, or eps."""
        return self.case.epsilon / (self._depth() if self.variant == "node" else 1.0)

    def _depth(self) -> float:
        return math.log(self.case.size) if self.variant == "tree-ln" else math.log2(self.case.size)

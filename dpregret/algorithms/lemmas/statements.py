"""Lemmas as the benchmark tests them: a quantity, and its stated bound. Each class has a box of its own.

Problem     Of each class.
Algorithm   The quantity is computed, or drawn where the class says so.
Privacy     None: nothing of anybody is released; noise is given, not calibrated.
Guarantee   The lemma of each class.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpregret.algorithms.learner import BaseLearner, Card
from dpregret.algorithms.privacy import gaussian_epsilon
from dpregret.numerics.arrays import Array

TAU, SHARE, ALLOWED = 0.001, 0.75, 1.1
"""Of `Consensus`."""
RADIUS = math.sqrt(2.0)
"""Of the ball of `NoisyOco`."""
DRAWS = 128
"""Of `RandomSum`."""
APART = 2.0
"""Of two items of norm 1, in `TreePrivacy`."""


@dataclass(frozen=True)
class Case:
    """size: W, k or T, whatever the lemma counts. failure: delta or beta. epsilon: of privacy, or as a card says."""

    dimension: int
    size: int
    epsilon: float
    failure: float


class Statement(BaseLearner):
    """A lemma; nothing is private here, and nothing plays. Its problem is a `Case`."""

    def __init__(self, case: Case, runs: int, variant: str):
        super().__init__(case, [], runs, variant)
        self.case = case

    @abstractmethod
    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """The quantity, one number a run: (runs,)."""

    def stated(self) -> float:
        """The upper bound of the lemma, with its constants; NaN where the lemma has none."""
        return math.nan


def laplace_tail(terms: int, threshold: float) -> float:
    """P(|sum of `terms` standard Laplace variables| > threshold)."""
    powers = np.cumsum([threshold**j / math.factorial(j) for j in range(terms)])
    shares = np.array([math.comb(terms - 1 + k, k) / 2.0 ** (terms + k) for k in range(terms)])
    return 2 * math.exp(-threshold) * float(shares @ powers[::-1])


class NormTail(Statement):
    """The tail of the norm of one noise vector, exact.

    Problem     The quantile at 1 - beta of |z|, in units of sensitivity / epsilon.
    Guarantee   Lou & Cheung 2020. Proposition A2: a Gamma(k, 1) variable is at most k ln(k/beta); here k is the
                dimension. Proposition A4: |N(0, I_d)| <= sqrt(2 d ln(1/beta)). Each with probability at least 1 - beta.
    """

    card = Card(
        name="norm-tail",
        title="norm of noise",
        paper="Lou & Cheung 2020",
        reference="Propositions A2 and A4",
        variants={"gamma": "Gamma(k, 1), k the dimension", "gaussian": "standard normal"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """The exact quantile."""
        from scipy import stats  # slow to import, and planning a run does not need it

        law = stats.gamma if self.variant == "gamma" else stats.chi
        return np.full(self.runs, float(law.isf(self.case.failure, self.case.dimension)))

    def stated(self) -> float:
        """A2 or A4."""
        dimension, failure = self.case.dimension, self.case.failure
        if self.variant == "gamma":
            return dimension * math.log(dimension / failure)
        return math.sqrt(2 * dimension * math.log(1 / failure))


class TreeError(Statement):
    """The tail of the error of a window tree, exact; the size is W.

    Problem     The quantile at 1 - beta of the norm of the sum of a window tree's nodes, in units of sensitivity /
                epsilon.
    Guarantee   Lou & Cheung 2020. Lemma 2: with node norms Gamma(d, m + 1), m = log2 W, the error of the window tree is
                at most d m^1.5 ln(d/beta). Lemma 4: O(sqrt(d ln(1/beta))) in beta and d. Each with probability at least
                1 - beta.
    Deviations  The error is taken where a sum has the most nodes, m + 1. Of Lemma 2 only d = 1, where a node is
                Laplace: P(|sum of n| > x) = 2 e^-x sum_{k < n} C(n - 1 + k, k) / 2^(n + k) sum_{j < n - k} x^j / j!, x
                in scales. Lemma 4 states no constant; sigma = 1 here.
    """

    card = Card(
        name="tree-error",
        title="error of the window tree",
        paper="Lou & Cheung 2020",
        reference="Lemmas 2 and 4",
        variants={"gamma": "Gamma norms of scale log2 W + 1, d = 1", "gaussian": "standard normal nodes"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """The exact quantile where a sum has log2 W + 1 nodes."""
        nodes, failure = round(math.log2(self.case.size)) + 1, self.case.failure
        if self.variant == "gaussian":
            from scipy import stats

            return np.full(self.runs, math.sqrt(nodes) * float(stats.chi.isf(failure, self.case.dimension)))
        if self.case.dimension > 1:
            raise ValueError(f"dimension must be 1 for {self.card.name}.gamma, got {self.case.dimension}")
        most = 4 * nodes + 4 * math.log(1 / failure)
        from scipy.optimize import brentq  # late: a plan builds few learners

        quantile = float(brentq(lambda x: laplace_tail(nodes, x) - failure, 0.0, most))
        return np.full(self.runs, nodes * quantile)

    def stated(self) -> float:
        """Lemma 2."""
        if self.variant == "gaussian":
            return math.nan
        dimension, depth = self.case.dimension, math.log2(self.case.size)
        return dimension * math.sqrt(depth) ** 3 * math.log(dimension / self.case.failure)


class TreePrivacy(Statement):
    """The privacy cost of a replaced item in a tree of sums of T vectors; the size is T.

    Problem     epsilon at delta, exact, where two streams of T items, T a power of two, differ in one, |item| <= 1.
    Guarantee   Ene, Nguyen & Vladu 2021, Theorem 4: it is at most epsilon for Laplace noise of scale log T / epsilon,
                and for Gaussian noise of scale log T log(log T / delta) / epsilon.
    Deviations  Logarithms are to the base 2, which is the larger noise. An item is a leaf, and in log2 T sums above it;
                two items of norm 1 are up to 2 apart.
    """

    card = Card(
        name="tree-privacy",
        title="privacy of the tree",
        paper="Ene, Nguyen & Vladu 2021",
        reference="Theorem 4",
        variants={"laplace": "coordinate-wise Laplace, l1 norm", "gaussian": "Gaussian, l2 norm"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """log2 T + 1 nodes that move by 2."""
        depth, epsilon, delta = math.log2(self.case.size), self.case.epsilon, self.case.failure
        if self.variant == "laplace":
            return np.full(self.runs, APART * (depth + 1) * epsilon / depth)
        scale = depth * math.log2(depth / delta) / epsilon
        return np.full(self.runs, gaussian_epsilon(APART * math.sqrt(depth + 1) / scale, delta))

    def stated(self) -> float:
        """Epsilon."""
        return self.case.epsilon


class RandomSum(Statement):
    """The worst combination of random unit vectors; the size is k.

    Problem     |sum_i c_i u_i| over all c with |c| <= 1: the largest singular value of the n x k matrix of the u_i,
                uniform on the unit sphere in n dimensions. What is attained is its quantile at 1 - delta among 128
                draws.
    Algorithm   Vectors are drawn; the largest eigenvalue of the smaller Gram matrix is the square.
    Guarantee   Ene, Nguyen & Vladu 2021, Lemma 9: at most 10 (ln((n + k)/delta) + sqrt((1 + k/n) ln((n + k)/delta)))
                with probability at least 1 - delta.
    """

    card = Card(
        name="random-sum",
        title="sum of random directions",
        paper="Ene, Nguyen & Vladu 2021",
        reference="Lemma 9",
        variants={"sphere": "directions on the unit sphere"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """A quantile a run."""
        shape = (DRAWS, self.case.size, self.case.dimension)
        quantiles = []
        for generator in generators:
            vectors = generator.standard_normal(shape)
            vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
            gram = vectors @ vectors.swapaxes(1, 2) if shape[1] < shape[2] else vectors.swapaxes(1, 2) @ vectors
            largest = np.sqrt(np.linalg.eigvalsh(gram)[:, -1])
            quantiles.append(float(np.quantile(largest, 1 - self.case.failure)))
        return np.array(quantiles)

    def stated(self) -> float:
        """Lemma 9."""
        count, vectors = self.case.dimension, self.case.size
        log = math.log((count + vectors) / self.case.failure)
        return 10 * (log + math.sqrt((1 + vectors / count) * log))


class NoisyOco(Statement):
    """Regret of descent on noisy gradients through a noisy mirror map, the losses linear and the same; the size is T.

    Problem     Losses f_t(x) = <u, x>, |u| = 1, on the ball of radius sqrt(2), so that max |x|^2 / 2 = 1 = D_omega^2.
    Algorithm   Ene, Nguyen & Vladu 2021, Alg. 2: x_t = Proj( -eta sum_{s<t} g_s ) + e_t, eta = 1 / (kappa sqrt(T)),
                E g_s = u, E |g_s|^2 = kappa^2, |e_t| = gamma.
    Guarantee   Lemma 6: regret is O( sqrt(T) kappa D_omega + T kappa gamma ).
    Deviations  kappa = 1/epsilon: it is `epsilon` that experiments sweep. Noise is Gaussian and has no drift, so the
                point needs about kappa sqrt(T) rounds to reach the border: the first term is tight.
    """

    card = Card(
        name="noisy-oco",
        title="NoisyOCO",
        paper="Ene, Nguyen & Vladu 2021",
        reference="Algorithm 2, Lemma 6",
        variants={"gradients": "noisy gradients, kappa = 1/eps, an exact map"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """Regret of every run."""
        rounds, dimension, kappa = self.case.size, self.case.dimension, 1 / self.case.epsilon
        if kappa < 1:
            raise ValueError(f"epsilon must be at most 1 for {self.card.name}: kappa^2 >= |u|^2, got {1 / kappa:g}")
        spread, step = math.sqrt((kappa**2 - 1) / dimension), 1 / (kappa * math.sqrt(rounds))
        regrets = []
        for generator in generators:
            gradients = spread * generator.standard_normal((rounds, dimension))
            gradients[:, 0] += 1.0
            points = np.zeros((rounds, dimension))
            points[1:] = -step * np.cumsum(gradients[:-1], axis=0)
            points *= np.minimum(1.0, RADIUS / np.maximum(np.linalg.norm(points, axis=1), RADIUS))[:, None]
            regrets.append(float(points[:, 0].sum()) + RADIUS * rounds)
        return np.array(regrets)


class Consensus(Statement):
    """How many consensus signs a point of little loss must have: 1.1 tau w over the least loss with too few.

    Problem     Talwar, Thakurta & Zhang 2015, proof of Theorem 5.8: |theta|_1 <= 1, w records with label 1 whose
                columns agree in sign except for a share tau of the p columns, and k = tau w p orthogonal ones with
                label 0.
    Guarantee   Lemma 5.10: where the loss is below 1.1 tau w, theta has the sign of at least 3/4 p consensus columns.
    Deviations  The least loss of a point with a share a of the signs, over w: with s and r the l1 norms on those
                columns and on the others of no consensus, which at best all help, it is min (1 - s - r)^2 + tau s^2 / a
                + r^2 = tau / (a + 2 tau). What is attained is the loss that the lemma allows over that of a = 3/4.
    """

    card = Card(
        name="consensus",
        title="signs of consensus columns",
        paper="Talwar, Thakurta & Zhang 2015",
        reference="Lemma 5.10",
        variants={"printed": "tau = 0.001"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """1.1 (3/4 + 2 tau)."""
        return np.full(self.runs, ALLOWED * (SHARE + 2 * TAU))

    def stated(self) -> float:
        """1."""
        return 1.0

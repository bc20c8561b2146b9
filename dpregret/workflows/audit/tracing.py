"""The instance behind the lower bound for private LASSO, with the attack that its proof needs: answers are traced.

Theorem 5.8 of Talwar, Thakurta & Zhang 2015 says: what is accurate on a fingerprinting code gives away who is in the
data. Here is such a code (Tardos 2003) of w words in p columns, beside it k = tau w p rows of orthogonal signs with
label 0, and the tracer: word x of a user accuses him by sum_j sign(theta_j) u_j, with u_j = sqrt((1 - q_j) / q_j) where
x_j = 1 and -sqrt(q_j / (1 - q_j)) where x_j = -1, q_j the column's secret bias. Of a user who is not in the data this
has mean 0 and variance p, whatever is released; accused is who exceeds the level that strangers exceed with the
declared probability. Of a learner that is (epsilon, delta)-DP a user is accused with probability at most e^epsilon
times that, plus delta.

`python -m dpregret.workflows.audit.tracing` prints the table of docs/talwar_2015.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.polytope_frank_wolfe import CornerFrankWolfe
from dpregret.algorithms.geometry import ConstraintSet, make_set
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.risk_squared import FactoredGram, SquaredRisk
from dpregret.numerics.arrays import Array

WORDS, COLUMNS = 16, 8192
DELTA = 1e-10  # below 1 / n^2
STRANGERS, LEVEL = 4000, 0.01
EPSILONS = (0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class Code:
    """Biases q (p,), and one word of signs a user, (users, p)."""

    biases: Array
    words: Array

    @classmethod
    def drawn(cls, words: int, columns: int, generator: np.random.Generator) -> Code:
        """Biases of the arcsine law, cut off at 1 / (300 words)."""
        least = math.asin(math.sqrt(1 / (300 * words)))
        biases = np.sin(generator.uniform(least, math.pi / 2 - least, columns)) ** 2
        return cls(biases, _words(biases, words, generator))

    def scores(self, words: Array, points: Array) -> Array:
        """The verdict of the tracer on words (users, p) after released points (runs, p): (runs, users), of variance
        1."""
        odds = np.sqrt((1 - self.biases) / self.biases)
        weights = np.where(words > 0, odds, -1 / odds)
        signs = np.sign(points)
        size = np.sqrt(np.maximum(np.square(signs).sum(axis=-1, keepdims=True), 1))
        return np.asarray(signs @ weights.T / size)


def _words(biases: Array, count: int, generator: np.random.Generator) -> Array:
    return np.where(generator.random((count, len(biases))) < biases, 1.0, -1.0)


def risk_of(words: Array, domain: ConstraintSet, tau: float, runs: int) -> SquaredRisk:
    """Squared loss of the words with label 1, and of k = tau w p rows of orthogonal signs with label 0; n = w + k."""
    count, columns = words.shape
    rows = round(tau * count * columns)
    samples = count + rows
    return SquaredRisk(
        domain,
        samples,
        runs,
        gram=FactoredGram(np.full(count, 1 / samples), words, np.full(columns, rows / samples)),
        moment=words.sum(axis=0) / samples,
        label_square=count / samples,
        start=words.sum(axis=0) / (count * columns),
    )


def tracing_table(
    seed: int, runs: int = 8, words: int = WORDS, columns: int = COLUMNS, epsilons: Sequence[float] = EPSILONS
) -> pd.DataFrame:
    """One row a budget, the last without privacy: excess over that of the point 0, and users that are traced.

    Columns: epsilon, rounds, excess (mean excess risk over the excess of 0), excess_error (its standard error), traced
    (share of the code's users that are accused), traced_error, limit (the largest share that privacy allows).
    tau = 1 / w, the smallest that leaves room for orthogonal columns.
    """
    generator = np.random.default_rng(seed)
    code = Code.drawn(words, columns, generator)
    domain = make_set("l1-ball", columns)
    risk = risk_of(code.words, domain, 1 / words, runs)
    least, best, _ = risk.optimum()
    nothing = risk.value(np.zeros((runs, columns))) - least
    strangers = _words(code.biases, STRANGERS, generator)
    table = []
    for epsilon in (*epsilons, math.inf):
        points, rounds = best, 0
        if math.isfinite(epsilon):
            problem = ErmProblem(domain, risk)
            learner = CornerFrankWolfe(problem, [Budget(epsilon, DELTA)], runs, "balanced")
            points, rounds = learner.fit(generator.spawn(runs))[0], learner.iterations()[0]
        level = np.quantile(code.scores(strangers, points), 1 - LEVEL, axis=-1, keepdims=True)
        traced = (code.scores(code.words, points) > level).mean(axis=-1)
        excess = (risk.value(points) - least) / nothing
        root = math.sqrt(runs)
        table.append(
            {
                "epsilon": epsilon,
                "rounds": rounds,
                "excess": excess.mean(),
                "excess_error": excess.std(ddof=1) / root,
                "traced": traced.mean(),
                "traced_error": traced.std(ddof=1) / root,
                "limit": min(1.0, math.exp(min(epsilon, 700.0)) * LEVEL + DELTA),
            }
        )
    return pd.DataFrame(table)


if __name__ == "__main__":
    print(tracing_table(2015, runs=32).to_string(index=False))

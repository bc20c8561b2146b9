"""The sparse vector technique: which query is the first above a threshold.

Algorithm   Dwork & Roth 2014, AboveThreshold: the threshold gets Laplace(2/eps) noise once, every query Laplace(4/eps)
            noise of its own; the first query whose noisy value reaches the noisy threshold ends it.
Privacy     eps-DP for any number of queries, chosen adaptively, each of which moves by at most 1 when one item is
            replaced.
Guarantee   Dwork & Roth 2014, Thm 3.24: see `accuracy`.

Given the noisy threshold, a query halts with a probability that is known in closed form, independently of all others.
So the halting round is the first at which the cumulated -ln(1 - probability) reaches one exponential variate: two
random numbers an instance, whatever the number of queries, and the same law as drawing noise for each of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpregret.numerics.arrays import Array, without_gaps


@dataclass(frozen=True)
class AboveThreshold:
    """The mechanism for queries of sensitivity 1; epsilon = inf halts at the first query above the threshold."""

    epsilon: float
    threshold: float

    def rates(self, gaps: Array) -> Array:
        """-ln(1 - P(halt)) of queries that are `gaps` below the noisy threshold (negative: above it)."""
        if math.isinf(self.epsilon):
            return np.where(gaps < 0, np.inf, 0.0)
        scaled = np.asarray(gaps) * (self.epsilon / 4)
        below = -np.log1p(-0.5 * np.exp(-np.maximum(scaled, 0.0)))
        above = math.log(2) - np.minimum(scaled, 0.0)
        return np.where(scaled >= 0, below, above)


def accuracy(epsilon: float, queries: float, failure: float) -> float:
    """8 ( ln n + ln(2/beta) ) / eps, Dwork & Roth 2014, Thm 3.24.

    With probability 1 - failure, none of n queries before the halt exceeds threshold + accuracy, and the one that
    halts is at least threshold - accuracy.
    """
    return 0.0 if math.isinf(epsilon) else 8 * (math.log(queries) + math.log(2 / failure)) / epsilon


class Watch:
    """One instance of the mechanism a run; all runs step together, or each follows a path of its own.

    generators: one a run. levels: noisy thresholds, (runs,).
    """

    def __init__(self, mechanism: AboveThreshold, generators: Sequence[np.random.Generator]):
        self.mechanism, self.generators = mechanism, generators
        self.levels, self.left = np.empty(len(generators)), np.empty(len(generators))
        for run in range(len(generators)):
            self.open(run)

    def open(self, run: int) -> None:
        """Begin a fresh instance for one run."""
        generator = self.generators[run]
        noise = 0.0 if math.isinf(self.mechanism.epsilon) else generator.laplace(scale=2 / self.mechanism.epsilon)
        self.levels[run] = self.mechanism.threshold + noise
        self.left[run] = generator.standard_exponential()

    def step(self, queries: Array) -> NDArray[np.bool_]:
        """Ask one query a run, (runs,); tell which halt."""
        from dpregret.algorithms.privacy.halting import ask

        ask(self.mechanism.epsilon, self.levels, self.left, queries)
        return self.left <= 0

    def walk(self, run: int, query: float, losses: Array, rounds: int) -> int | None:
        """Ask a query in each of some rounds; the first that halts, None if none does.

        The query starts at `query` and grows by each round's loss, losses >= 0: (rounds,), or (1,) where all are alike.
        """
        from dpregret.algorithms.privacy.halting import walk

        level, left = self.levels[run], self.left[run]
        found, self.left[run] = walk(self.mechanism.epsilon, level, left, query, without_gaps(losses), rounds)
        return None if found < 0 else found

    def constant(self, run: int, query: float, rounds: int) -> int | None:
        """`walk` for the same query in all rounds, in closed form: the halting round is geometric."""
        from dpregret.algorithms.privacy.halting import stay

        level, left = self.levels[run], self.left[run]
        found, self.left[run] = stay(self.mechanism.epsilon, level, left, query, rounds)
        return None if found < 0 else found

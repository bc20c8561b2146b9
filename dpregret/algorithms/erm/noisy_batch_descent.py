"""Noisy descent on batches drawn with replacement, averaged.

Problem     Empirical risk on a convex set of l2 diameter M, records' losses convex and L0-Lipschitz in l2.
Algorithm   Bassily, Guzman & Nandi 2021, Alg. 2 (noisySMD) with the T and eta of Theorem 10, at p = 2, where kappa = 1,
            the generalised Gaussian mechanism is the Gaussian one and the potential is |x|^2/2; with theta for x:
            line 1  sigma^2 = 8 L0^2 ln(1/delta) / (eps n)^2
            line 2  m = max(n sqrt(eps/(4 T)), 1); T = (eps n)^2 / (16 d ln(1/delta)), eta = (M/L0) sqrt(1/(2 T))
            line 3  theta_1 in the set: its center
            line 4  for t = 1..T-1
            line 5    B_t = m records, drawn independently and uniformly
            line 6    theta_{t+1} = Proj(theta_t - eta (mean of the gradients of B_t at theta_t + N(0, sigma^2 I)))
            line 7  release the average of theta_1..theta_T
Privacy     Unit: one record; neighbours: it is replaced by another. A record may be drawn more than once. As printed,
            line 1 does not grow with T, and that is not (eps, delta)-DP: on one pair a record loses many times eps
            (`batch_epsilon` in workflows/audit/exact_losses.py). The proof of Theorem 10 computes with T sigma^2.
Guarantee   Theorem 10: empirical excess O(L0 M sqrt(d ln(1/delta)) / (eps n)).
Deviations  printed: the box; T and m rounded down, T at least 1 and at most MAX_ITERATIONS; its ledger has all of a
            batch move. Since T is capped, m grows with eps: from n on the batch is all records, each once, as it is for
            eps = inf (the paper has eps <= 1). corrected: full gradients, hence no sampling, with the least noise for
            this T by exact Gaussian DP, and the step of mirror_descent.py.
"""

import copy
import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.erm.mirror_descent import MirrorDescent, Plan
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.numerics.arrays import Array

CHUNK = 64
"""Steps whose random numbers a run draws at a time; part of their definition."""


def batch_deviation(budget: Budget, samples: int, lipschitz: float) -> float:
    """sigma of line 1."""
    return lipschitz * math.sqrt(8 * math.log(1 / budget.delta)) / (budget.epsilon * samples)


def printed_steps(budget: Budget, samples: int, dimension: int) -> float:
    """T of Theorem 10 before it is rounded down."""
    return (budget.epsilon * samples) ** 2 / (16 * dimension * math.log(1 / budget.delta))


def printed_batch(budget: Budget, samples: int, steps: int) -> int:
    """m of line 2, at most n."""
    return max(1, int(samples * min(1.0, math.sqrt(budget.epsilon / (4 * steps)))))


class NoisyBatchDescent(MirrorDescent):
    """Raises ValueError for delta = 0."""

    potential_name = "euclidean"
    card = Card(
        name="noisy-smd",
        title="noisy batch descent",
        paper="Bassily, Guzman & Nandi 2021",
        reference="Alg. 2",
        variants={
            "printed": "Alg. 2 to the letter, p = 2",
            "corrected": "full gradients, exact Gaussian-DP noise",
        },
        default="corrected",
    )

    def prepare(self) -> None:
        if any(budget.delta == 0 and math.isfinite(budget.epsilon) for budget in self.budgets):
            raise ValueError(f"{self.card.name} needs delta > 0")
        super().prepare()
        if self.variant == "printed":
            self.sensitivity = 2.0 * self.risk.lipschitz
            self.gaussian = False  # steps do not use every record

    def uncapped(self, budget: Budget) -> float:
        """T of Theorem 10; inf without privacy."""
        if math.isinf(budget.epsilon):
            return math.inf
        return printed_steps(budget, self.risk.samples, self.domain.dimension)

    def noise(self, budget: Budget, iterations: int) -> float:
        """Line 1."""
        if self.variant != "printed":
            return super().noise(budget, iterations)
        return 0.0 if math.isinf(budget.epsilon) else batch_deviation(budget, self.risk.samples, self.risk.lipschitz)

    def steps(self, noise: float, iterations: int) -> Array:
        """eta of Theorem 10, (T,)."""
        if self.variant != "printed":
            return super().steps(noise, iterations)
        return np.full(iterations, self.domain.diameter / self.risk.lipschitz * math.sqrt(0.5 / iterations))

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p)."""
        if self.variant != "printed":
            return super().fit(generators)
        settings = zip(self.plans, self.budgets, strict=True)
        return np.concatenate([self._descend(*setting, copy.deepcopy(generators)) for setting in settings])

    def _descend(self, plan: Plan, budget: Budget, generators: Sequence[np.random.Generator]) -> Array:
        """The average of a setting, (1, runs, p)."""
        samples = self.risk.samples
        batch = printed_batch(budget, samples, plan.iterations)  # line 2
        drawn_records = batch if batch < samples else 0
        points = np.tile(self.domain.center(), (1, self.runs, 1))  # line 3
        total = np.zeros_like(points)
        for now, step in enumerate(plan.steps):  # line 4
            if now % CHUNK == 0:
                records = np.stack(
                    [each.integers(samples, size=(CHUNK, drawn_records)) for each in generators], axis=-1
                )
                units = np.stack([each.standard_normal((CHUNK, self.domain.dimension)) for each in generators], axis=1)
            total += points
            drawn = records[now % CHUNK]  # line 5
            if drawn_records:
                mean = sum(self.risk.record_gradient(points[0], chosen) for chosen in drawn) / batch
            else:
                mean = self.risk.gradient(points)
            points = self.domain.project(points - step * (mean + plan.noise * units[now % CHUNK]))  # line 6
        return total / plan.iterations  # line 7

    def bound(self) -> list[float]:
        """Of corrected: as in mirror_descent.py; none is known for noise that is not private."""
        return [math.nan] * len(self.plans) if self.variant == "printed" else super().bound()

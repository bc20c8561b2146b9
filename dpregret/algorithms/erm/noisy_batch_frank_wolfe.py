"""Noisy Frank-Wolfe from one pass: a noisy gradient that one batch of fresh records after the other keeps up to date.

Problem     F(theta) = E f(theta; z) on a convex set of l2 diameter M, met through n fresh records; f convex, its
            gradient at most L0 in l2, where it moves by at most L1 times the distance.
Algorithm   Bassily, Guzman & Nandi 2021, Alg. 3 (noisySFW) at p = 2, where kappa = 1 and the generalised Gaussian
            mechanism is the Gaussian one; with x for theta:
            line 1   eta = ln(n) / (2 sqrt(n))
            line 2   x_0 in the set: its center
            line 3   B_0 = n/2 of the records
            line 4   sigma_0^2 = 32 L0^2 ln(1/delta) / (n eps)^2
            line 5   d_0 = mean of grad f(x_0; z) over B_0 + N(0, sigma_0^2 I)
            line 6   x_1 = (1 - eta) x_0 + eta argmin over the set of <d_0, v>
            line 8   sigma^2 = 32 (L1 M eta)^2 ln(1/delta) / (n eps^2)
            line 9   for t = 1..sqrt(n)
            line 10    B_t = the next sqrt(n)/2 records
            line 11    Delta_t = mean of grad f(x_t; z) - grad f(x_{t-1}; z) over B_t + N(0, sigma^2 I)
            line 12    d_t = d_{t-1} + Delta_t
            line 13    v_t = argmin over the set of <d_t, v>
            line 14    x_{t+1} = (1 - eta) x_t + eta v_t
            line 15  release x_{sqrt(n)+1}
Privacy     Unit: one record; neighbours: it is replaced by another. A record enters one mean only, which it moves by
            2 L0/|B_0| or by 2 min(L1 M eta, 2 L0)/|B_t|, since |x_t - x_{t-1}| <= M eta. No composition: exact Gaussian
            DP of the louder of the two.
Guarantee   Theorem 11: (eps, delta)-DP. Theorem 12: excess O((L1 M^2 ln n + L0 M)/sqrt(n) + L1 M^2 ln(n)
            sqrt(d ln(1/delta))/(eps n^(3/4))) at p = 2. Ours, in expectation: g_{t+1} = (1 - eta) g_t +
            eta (M sqrt(V_t) + eta L1 M^2/2), g_0 = L0 max |x_0 - x|, V_t = L0^2/|B_0| + d sigma_0^2 +
            t (A^2/|B_t| + d sigma^2),
            A = min(L1 M eta, 2 L0): the error of d_t is a martingale, and |x_t - x_{t-1}| <= M eta.
Deviations  printed: the box; sqrt(n) and batches rounded down, noise for the batches in use, with A for L1 M eta.
            corrected: the least noise, by exact Gaussian DP: less than printed for eps of at most 8 at delta = 1e-6,
            more for large eps.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dpregret.algorithms.erm.erm_learner import OnePassLearner, Records
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget, Release, calibrate, unit_noise
from dpregret.numerics.arrays import Array

CHUNK = 1 << 15  # most numbers of gradients held at a time: they stay in the cache


@dataclass(frozen=True)
class Batches:
    """Records of B_0, of each B_t, and how many of these there are; moves: of the two means by one record, in l2."""

    first: int
    later: int
    steps: int
    moves: tuple[float, float]


class NoisyBatchFrankWolfe(OnePassLearner):
    """Raises ValueError for a single record, and for losses with kinks; printed: for delta = 0."""

    card = Card(
        name="noisy-sfw",
        title="noisy batch FW",
        paper="Bassily, Guzman & Nandi 2021",
        reference="Alg. 3",
        variants={
            "printed": "Alg. 3 to the letter, p = 2",
            "corrected": "exact Gaussian-DP noise",
        },
        needs=frozenset({"smooth"}),
        default="corrected",
    )

    def prepare(self) -> None:
        super().prepare()
        n, risk, self.wide = self.risk.samples, self.risk, self.domain.diameter
        if n < 2:
            raise ValueError(f"{self.card.name} needs at least two records")
        self.eta = math.log(n) / (2 * math.sqrt(n))  # line 1
        first, later = n // 2, max(1, int(math.sqrt(n) / 2))  # lines 3, 10
        self.change = min(risk.smoothness * self.wide * self.eta, 2 * risk.lipschitz)
        moves = 2 * risk.lipschitz / first, 2 * self.change / later
        self.batches = Batches(first, later, math.isqrt(n), moves)
        self.scales = np.array([[self._scale(budget, move) for move in moves] for budget in self.budgets])

    def _scale(self, budget: Budget, move: float) -> float:
        """Lines 4 and 8: sqrt(2 ln(1/delta)) move / eps; corrected: move / mu."""
        if self.variant != "printed":
            return calibrate("gaussian", budget, move, 1)
        if math.isinf(budget.epsilon):
            return 0.0
        if budget.delta == 0:
            raise ValueError(f"{self.card.name} ({self.variant}) needs delta > 0")
        return math.sqrt(2 * math.log(1 / budget.delta)) * move / budget.epsilon  # lines 4, 8

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p). Settings share records and unit noises (common random numbers)."""
        before = np.tile(self.domain.center(), (len(self.budgets), self.runs, 1))  # line 2
        noise = unit_noise("gaussian", generators, self.batches.steps + 1, self.domain.dimension)
        early, late = self.scales[:, 0, None, None], self.scales[:, 1, None, None]
        records = self.fresh.stream()
        gradient = self._mean(records, self.batches.first, [before]) + early * noise[0]  # lines 3, 5
        point = self._moved(before, gradient)  # line 6
        for unit in noise[1:]:  # line 9
            change = self._mean(records, self.batches.later, [point, before])  # lines 10, 11
            gradient = gradient + change + late * unit  # lines 11, 12
            before, point = point, self._moved(point, gradient)  # lines 13, 14
        return point  # line 15

    def _moved(self, point: Array, gradient: Array) -> Array:
        return (1 - self.eta) * point + self.eta * self.domain.linear_oracle(gradient)

    def _mean(self, records: Records, count: int, points: Sequence[Array]) -> Array:
        """Mean over the next records of their gradients at points (settings, runs, d), less those at another."""
        total, remaining = np.zeros_like(points[0]), count
        while remaining:
            block = records.take(min(remaining, max(1, CHUNK // total.size)))
            remaining -= block.shape[2]
            for record in np.moveaxis(block, 2, 0):
                total += self.fresh.gradients(points[0], record)
                for other in points[1:]:
                    total -= self.fresh.gradients(other, record)
        return total / count

    def iterations(self) -> list[int]:
        """Steps of each setting."""
        return [self.batches.steps + 1] * len(self.budgets)

    def ledger(self) -> list[Release]:
        """Of the mean with the louder loss of a record, one line a setting."""
        return [self._line(scales) for scales in self.scales.tolist()]

    def _line(self, scales: Iterable[float]) -> Release:
        lines = [Release("gaussian", scale, move, 1) for scale, move in zip(scales, self.batches.moves, strict=True)]
        return max((line for line in lines if line.sensitivity), key=lambda line: line.sensitivity / (line.scale or 1))

    def bound(self) -> list[float]:
        """Our guarantee."""
        return [self._bound(*scales) for scales in self.scales.tolist()]

    def _bound(self, early: float, late: float) -> float:
        size, risk, eta = self.domain.dimension, self.risk, self.eta
        variance = risk.lipschitz**2 / self.batches.first + size * early**2
        gap = risk.lipschitz * self.domain.max_distance_from(self.domain.center())
        for _ in range(self.batches.steps + 1):
            gap = (1 - eta) * gap + eta * (self.wide * math.sqrt(variance) + eta * risk.smoothness * self.wide**2 / 2)
            variance += self.change**2 / self.batches.later + size * late**2
        return gap

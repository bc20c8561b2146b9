"""Phased SGD: each record is met once, in one of log2 n ever shorter phases, which end with a noisy average each.

Problem     min over a convex set of F(theta) = E loss(theta; z), met through n fresh records; losses convex,
            L-Lipschitz in l2 and beta-smooth.
Algorithm   Feldman, Koren & Talwar 2020, Sec. 4.1 (localisation), in our own lines:
            line 1  x_0 = center of the set; k = floor(log2 n)
            line 2  for i = 1..k: n_i = floor(n / 2^i) records that no phase has met, step eta_i = eta / 4^i
            line 3    from x_(i-1): one projected gradient step of size eta_i for each of them
            line 4    xbar_i = the average of the points at which gradients were taken
            line 5    x_i = Proj(xbar_i + N(0, s_i^2 I)), s_i = 2 L eta_i / mu
            line 6  release x_k
Privacy     Unit: one record; neighbours: it is replaced by another. A gradient step of size at most 2 / beta and a
            projection move no two points apart, so after the step of the replaced record, which moves the point by
            2 L eta_i, all points of its phase stay within that distance, and so does their average: line 5 is mu-GDP.
            Later phases meet other records and start from x_i: post-processing. No composition: what is released is
            mu-GDP, and mu is the largest for which mu-GDP is (epsilon, delta)-DP.
Guarantee   With D0 the largest distance of the set to x_0, e_0 = D0^2 and e_i = p s_i^2,
              E F(x_k) - min F <= sum_i (e_(i-1) / (2 eta_i n_i) + eta_i L^2 / 2) + L sqrt(p) s_k:
            a phase costs |x_(i-1) - xbar_(i-1)|^2 / (2 eta_i n_i) + eta_i L^2 / 2 beyond F(xbar_(i-1)), with x* in
            the place of xbar_0, and the last noise costs L times its length. For n a power of two this is
              4 D0^2 / (eta n) + eta L^2 (1 / 6 + 16 p / (mu^2 n)) and what is smaller by a factor of n,
            so at the best eta
              4 D0 L sqrt(1 / (6 n) + 16 p / (mu n)^2) <= 1.64 D0 L / sqrt(n) + 16 D0 L sqrt(p) / (mu n).
Deviations  eta minimises the guarantee, whatever n; at most 8 / beta, so that the first phase may take it. The noise
            is that of exact Gaussian DP.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpregret.algorithms.erm.erm_learner import OnePassLearner, Records
from dpregret.algorithms.erm.mirror_descent import CHUNK_ENTRIES, Descent
from dpregret.algorithms.geometry import make_potential
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Release, gaussian_mu, unit_noise
from dpregret.numerics.arrays import Array


class PhasedSgd(OnePassLearner):
    """One pass of projected steps in phases; a step shrinks fourfold from phase to phase, a phase by half."""

    card = Card(
        name="phased-sgd",
        title="phased SGD",
        paper="Feldman, Koren & Talwar 2020",
        reference="Sec. 4.1",
        variants={"corrected": "exact Gaussian-DP noise, the step that minimises the guarantee"},
        needs=frozenset({"smooth"}),
    )

    def prepare(self) -> None:
        super().prepare()
        if self.fresh.samples < 2:
            raise ValueError(f"{self.card.name} needs at least two records")
        phases = np.arange(1, self.fresh.samples.bit_length())  # line 1
        self.lengths = [self.fresh.samples >> int(phase) for phase in phases]  # line 2
        self.falls = 0.25**phases  # eta_i / eta
        self.inverse_mu = [1.0 / gaussian_mu(budget) for budget in self.budgets]
        self.steps = np.array([self._best_step(inverse) for inverse in self.inverse_mu])
        self.scales = 2.0 * self.fresh.lipschitz * self.steps * np.array(self.inverse_mu)  # s_i 4^i

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p). Settings share records and unit noises (common random numbers)."""
        points = np.tile(self.domain.center(), (len(self.budgets), self.runs, 1))
        noises = unit_noise("gaussian", generators, len(self.lengths), self.domain.dimension)
        records = self.fresh.stream()
        for length, fall, noise in zip(self.lengths, self.falls, noises, strict=True):
            average = self._phase(records, length, fall * self.steps, points) / length  # lines 3, 4
            points = self.domain.project(average + fall * self.scales[:, None, None] * noise)  # line 5
        return points  # line 6

    def _phase(self, records: Records, length: int, steps: Array, points: Array) -> Array:
        """The sum of the points at which the next `length` records are met, from `points` on; steps (settings,)."""
        sums, none = np.zeros_like(points), np.empty((0, self.runs, self.domain.dimension))
        silence, potential = np.zeros(len(steps)), make_potential(self.domain, "euclidean")
        while length:
            chunk = records.take(max(1, min(length, CHUNK_ENTRIES // points.size)))
            length -= (count := chunk.shape[2])
            descent = Descent(self._risk_of(chunk), self.domain, potential, points, sums, averaged=True)
            self.apart += descent.follow(np.tile(steps, (count, 1)), silence, none)
            points, sums = descent.states(), descent.output()
        return sums

    def _risk_of(self, records: Array) -> Any:
        """Losses of records (settings or 1, runs, count, p), one a step, or a function that gives their gradients."""
        in_turn = np.moveaxis(records, 2, 0)
        losses = self.fresh.losses(in_turn.reshape(len(in_turn), -1, in_turn.shape[-1]))
        numbers = iter(in_turn)
        return (lambda points: self.fresh.gradients(points, next(numbers))) if losses is None else losses

    def _best_step(self, inverse_mu: float) -> float:
        """eta: sqrt(A / B) of a guarantee A / eta + B eta, at most 8 / beta."""
        start, drift = self._guarantee(inverse_mu)
        smoothness = self.fresh.smoothness
        return min(math.sqrt(start / drift), 8.0 / smoothness if smoothness > 0.0 else math.inf)

    def _guarantee(self, inverse_mu: float) -> tuple[float, float]:
        """A and B of the guarantee A / eta + B eta."""
        steep, falls, lengths = self.fresh.lipschitz, self.falls, np.array(self.lengths)
        noises = 2.0 * steep * inverse_mu * falls  # s_i / eta
        radius = self.domain.max_distance_from(self.domain.center())
        start = radius**2 / (2.0 * falls[0] * lengths[0])
        phases = self.domain.dimension * (noises[:-1] ** 2 / (2.0 * falls[1:] * lengths[1:])).sum()
        last = steep * math.sqrt(self.domain.dimension) * noises[-1]
        return float(start), float(phases + 0.5 * steep**2 * falls.sum() + last)

    def ledger(self) -> list[Release]:
        """The average of the first phase, one line a setting; a record of another phase is in as loud a noise."""
        sensitivities = 0.5 * self.fresh.lipschitz * self.steps  # 2 L eta_1
        return [
            Release("gaussian", 0.25 * scale, sensitivity, 1)
            for scale, sensitivity in zip(self.scales.tolist(), sensitivities.tolist(), strict=True)
        ]

    def bound(self) -> list[float]:
        """A / eta + B eta."""
        parts = [self._guarantee(inverse) for inverse in self.inverse_mu]
        return [start / step + drift * step for (start, drift), step in zip(parts, self.steps.tolist(), strict=True)]

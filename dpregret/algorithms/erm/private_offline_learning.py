"""Private offline learning (POL): one pass of implicit gradient descent, its average released with noise.

Problem     min over a convex set of radius r about its center c of F(theta) = E loss(theta; z), met through n fresh
            records; losses convex and L-Lipschitz. The set is the paper's ball of radius |x*|.
Algorithm   Jain, Kothari & Thakurta 2012, Alg. 6; n is its T, epsilon its epsilon_p:
            line 4   x_1 in the set, here c
            line 5   alpha = epsilon_g / r^2
            line 6   s = x_1
            line 7   for t = 1..n-1
            line 8     eta_t = 1 / (alpha t)
            line 9     x_{t+1} = argmin over the set of |x - x_t|^2 / 2 + eta_t (loss(x; z_t) + (alpha/2) |x - c|^2)
            line 10    s = s + x_{t+1}
            line 12  tilde x = s / n
            line 13  bar x = tilde x + N(0, beta^2 I)
            line 14  release Proj(bar x)
Privacy     Unit: one record; neighbours: it is replaced by another. Two steps of line 9 from one point end within
            2 L eta_s / (1 + alpha eta_s) = 2 L / (alpha (s + 1)) of each other, as the regulariser is the same; a later
            step j contracts by j / (j + 1). So x_{t+1} moves by at most 2 L / (alpha (t + 1)), t >= s, and tilde x by
            2 L (H_n - 1) / (alpha n), H_n the harmonic number. The paper has 2 (L + alpha r) ln(n) / n, without the
            alpha of its Lemma 4 (eq. (37)).
Guarantee   Theorem 5: (epsilon, delta)-DP. Theorem 6: excess risk epsilon_g with probability 1 - gamma, where n is at
            least C max( sqrt(d) L (L + epsilon_g / r) sqrt(ln(1/gamma) ln(1/delta)) / (epsilon_g epsilon),
            (L + epsilon_g / r)^2 r^2 ln n ln(ln(n) / gamma) / epsilon_g^2 ). Ours, in expectation, with G = L + alpha r
            and the regret of implicit steps (pocp.py): alpha r^2 / 2 + (alpha r^2 + G^2 (1 + ln n) / alpha) / (2 n) +
            L sqrt(d) beta.
Deviations  Line 9 is solved for linear losses and for (b/2) |theta - z|^2 only.
            printed: beta = sqrt(8) (L + alpha r) ln(n) sqrt(ln(1/delta) + epsilon) / (n epsilon), epsilon_g the
            smallest that Theorem 6 allows with C = 1 and gamma = 1/20.
            corrected: exact Gaussian DP with the sensitivity above; alpha minimises our guarantee.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpregret.algorithms.erm.erm_learner import OnePassLearner
from dpregret.algorithms.erm.objective_perturbation import scaled_noise
from dpregret.algorithms.learner import Card, LedgerLine
from dpregret.algorithms.privacy import Budget, Release, calibrate
from dpregret.numerics.arrays import Array

GAMMA = 0.05
"""Failure probability of Theorem 6, where the printed epsilon_g is tuned."""
STRONGEST = 1e3
"""Times L / r: the largest alpha that is tried; beyond it nothing moves."""


class Tuning(NamedTuple):
    """alpha, and the noise beta."""

    alpha: float
    noise: float


class PrivateOfflineLearning(OnePassLearner):
    """Average of implicit steps, plus noise. Raises ValueError for losses that bend otherwise than stated."""

    card = Card(
        name="pol",
        title="POL",
        paper="Jain, Kothari & Thakurta 2012",
        reference="Alg. 6",
        variants={"corrected": "sensitivity with 1/alpha, exact Gaussian DP", "printed": "noise and alpha as printed"},
        needs=frozenset({"smooth"}),
    )
    gaussian = True

    def prepare(self) -> None:
        super().prepare()
        risk = self.risk
        self.samples, self.steep, self.dimension = risk.samples, risk.lipschitz, self.domain.dimension
        if risk.smoothness != risk.strong_convexity:
            raise ValueError(f"{self.card.name} needs losses that are linear or (b/2) |theta - z|^2")
        if self.samples < 2:
            raise ValueError(f"{self.card.name} needs at least two records")
        self.radius = self.domain.max_distance_from(self.domain.center())
        tune = self.as_printed if self.variant == "printed" else self.tuned
        self.tunings = [tune(budget) for budget in self.budgets]

    def sensitivity(self, alpha: float) -> float:
        """2 L (H_n - 1) / (alpha n)."""
        return 2 * self.steep * float((1 / np.arange(2.0, self.samples + 1)).sum()) / (alpha * self.samples)

    def as_printed(self, budget: Budget) -> Tuning:
        """Line 5, and beta of line 13; 0 for epsilon = inf."""
        alpha = self.stated_error(budget) / self.radius**2  # line 5
        size = math.sqrt(8) * (self.steep + alpha * self.radius) * math.log(self.samples) / self.samples
        noise = 0.0 if math.isinf(budget.epsilon) else size * math.sqrt(self._log(budget) + budget.epsilon)
        return Tuning(alpha, noise / budget.epsilon)

    def stated_error(self, budget: Budget) -> float:
        """The smallest epsilon_g that Theorem 6 allows for n records, C = 1."""
        from scipy import optimize  # late: most learners need a fifth of a second less

        logs = math.log(self.samples) * math.log(math.log(self.samples) / GAMMA)
        private = math.sqrt(self.dimension * math.log(1 / GAMMA) * self._log(budget)) / budget.epsilon

        def short(error: float) -> float:
            lipschitz = self.steep + error / self.radius
            needed = max(self.steep * lipschitz * private / error, (lipschitz * self.radius / error) ** 2 * logs)
            return needed / self.samples - 1

        high = self.steep * self.radius
        while short(high) > 0 and high < STRONGEST * self.steep * self.radius:
            high *= 2
        return high if short(high) > 0 else float(optimize.brentq(short, 1e-12 * high, high, xtol=1e-15, rtol=1e-12))

    def _log(self, budget: Budget) -> float:
        """ln(1/delta); nothing needs it for epsilon = inf. Raises ValueError for delta = 0, as other Gaussian noise."""
        if math.isinf(budget.epsilon):
            return 0.0
        if budget.delta == 0:
            raise ValueError("Gaussian noise needs delta > 0")
        return math.log(1 / budget.delta)

    def tuned(self, budget: Budget) -> Tuning:
        """The alpha with the smallest guarantee, at the noise that it needs."""
        from scipy import optimize  # late, as above

        def tuning_at(log_alpha: float) -> Tuning:
            alpha = math.exp(log_alpha) * self.steep / self.radius
            return Tuning(alpha, calibrate("gaussian", budget, self.sensitivity(alpha), 1))

        ends = (-math.log(2.0 * self.samples), math.log(STRONGEST))
        return tuning_at(
            float(
                optimize.minimize_scalar(lambda now: self._guarantee(tuning_at(now)), bounds=ends, method="bounded").x
            )
        )

    def _guarantee(self, tuning: Tuning) -> float:
        alpha, square = tuning.alpha, self.radius**2
        regret = alpha * square + (self.steep + alpha * self.radius) ** 2 * (1 + math.log(self.samples)) / alpha
        noisy = self.steep * math.sqrt(self.dimension) * tuning.noise
        return 0.5 * alpha * square + regret / (2 * self.samples) + noisy

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p); settings share records and unit noises."""
        center, bend = self.domain.center(), self.risk.strong_convexity
        alpha = np.array([tuning.alpha for tuning in self.tunings])[:, None, None]
        points = np.tile(center, (len(self.budgets), self.runs, 1))  # line 4
        total = points.copy()  # line 6
        for t, record in enumerate(self.one_by_one(), 1):  # line 7
            if t == self.samples:
                break
            eta = 1 / (alpha * t)  # line 8
            pull = (1 + eta * bend) * points + eta * (alpha * center - self.fresh.gradients(points, record))
            points = self.domain.project(pull / (1 + eta * (bend + alpha)))  # line 9
            total += points  # line 10
        average = total / self.samples  # line 12
        scales = [tuning.noise for tuning in self.tunings]
        noisy = average + scaled_noise("gaussian", scales, generators, self.dimension)  # line 13
        return self.domain.project(noisy)  # line 14

    def ledger(self) -> Sequence[LedgerLine]:
        """One Gaussian release, one line a setting."""
        return [Release("gaussian", noise, self.sensitivity(alpha), 1) for alpha, noise in self.tunings]

    def bound(self) -> list[float]:
        """Our guarantee."""
        return [self._guarantee(tuning) for tuning in self.tunings]

"""Objective perturbation: one exact minimisation, noise in the objective.

Problem     min over a convex set C of L(theta) = (1/n) sum_i loss(theta; d_i), losses L-Lipschitz in l2 and
            lambda-smooth, generalised linear: a record's Hessian has rank one and its gradients lie on one line (an
            assumption that the paper omits).
Algorithm   Talwar, Thakurta & Zhang 2015, Alg. 2:
            line 1  the ridge zeta = 2 lambda / (n epsilon) (records of rank one have no convexity to deduct)
            line 2  release argmin over C of L(theta) + (zeta / 2) |theta - theta_0|^2 + <b, theta>, b ~ N(0, s^2 I),
                    theta_0 the set's center
Privacy     Unit: one record; neighbours: it is replaced by another. That moves b, for given theta, by at most 2 L / n
            within the plane of two feature vectors, and changes the Jacobian of b in theta, which the ridge pays for.
            Delivered is ln(1 + lambda / (n zeta)) = ln(1 + epsilon / 2) plus `planar_epsilon` of 2 L / (n s), proved
            for all admissible data. For linear losses b moves by a fixed vector, and exact Gaussian DP, which is less,
            applies. A hard constraint does no harm by the limit argument of Kifer, Smith & Thakurta 2012, so the
            constants need hold on the set only. All this assumes the exact minimiser; here it is certified to
            TOLERANCE in the objective, on the set, and what that leaves is not in the ledger.
Guarantee   See `PerturbedObjective.bound`: Theorem 4.1 with constants.
Deviations  corrected: the smallest s for which the accounted epsilon is that of the budget.
            printed: s = L sqrt(2 ln(1/delta)) / (n epsilon).
            kst: s = L sqrt(8 ln(2/delta) + 4 epsilon) / (n epsilon), Kifer, Smith & Thakurta 2012, Alg. 1 and Thm 2, as
            printed there: their neighbours are one record apart (|D sym. diff. D'| = 1), and b moves by L / n.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from dpregret.algorithms.erm.erm_learner import ErmLearner
from dpregret.algorithms.erm.projected_gradient import minimum_of
from dpregret.algorithms.geometry import gaussian_width
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import (
    Budget,
    NoiseDistribution,
    Release,
    root_mean_square_norm,
    unit_noise,
)
from dpregret.algorithms.privacy.planar import planar_epsilon, planar_shift
from dpregret.numerics.arrays import Array

TOLERANCE = 1e-10


def scaled_noise(
    distribution: NoiseDistribution, scales: Sequence[float], generators: Sequence[np.random.Generator], dimension: int
) -> Array:
    """One vector a run, (settings, runs, dimension); settings share the unit draws."""
    return np.array(scales)[:, None, None] * unit_noise(distribution, generators, 1, dimension)


class PerturbedObjective(ErmLearner):
    """argmin over C of L(theta) + (ridge / 2) |theta - theta_0|^2 + <b, theta>, theta_0 the set's center.

    A learner is its ridges and the scales of b, one a setting.
    """

    distribution: ClassVar[NoiseDistribution]
    ridges: list[float]
    scales: list[float]

    def prepare(self) -> None:
        if (rank := self.risk.hessian_rank) not in (0, 1):
            raise ValueError(f"{self.card.name} needs losses whose Hessians have rank one, not {rank}")
        self.sensitivity = 2.0 * self.risk.lipschitz / self.risk.samples

    def _jacobian_epsilon(self, ridge: float) -> float:
        """ln(1 + lambda / (n ridge)), the largest change of the Jacobian's logarithm by one record of rank one."""
        return math.log1p(self.risk.smoothness / (self.risk.samples * ridge)) if ridge else 0.0

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        center = self.domain.center()
        ridges = np.array(self.ridges)[:, None, None]
        noise = scaled_noise(self.distribution, self.scales, generators, len(center))

        def gradient(points: Array) -> Array:
            return self.risk.gradient(points) + ridges * (points - center) + noise

        start = np.tile(center, (len(self.budgets), self.runs, 1))
        return minimum_of(self.problem, gradient, start, TOLERANCE, ridges)[0]  # line 2

    def ledger(self) -> list[Release]:
        """The noise; the Jacobian's share comes on top."""
        return [Release(self.distribution, scale, self.sensitivity, 1) for scale in self.scales]

    def bound(self) -> list[float]:
        """E max_C <b, theta - theta_0> + (ridge / 2) r^2, r = max_C |theta - theta_0|: Theorem 4.1 with constants.

        The first term is s G_C for Gaussian noise and at most s p r for norm-Gamma noise. For D-strongly convex risks
        the smaller of this and (sqrt(E|b|^2) + ridge r)^2 / (2 D).
        """
        radius = self.domain.max_distance_from(self.domain.center())
        width = gaussian_width(self.domain)[0] if self.distribution == "gaussian" else self.domain.dimension * radius
        size, convexity = root_mean_square_norm(self.distribution, self.domain.dimension), self.risk.strong_convexity
        bounds = []
        for scale, ridge in zip(self.scales, self.ridges, strict=True):
            plain = scale * width + 0.5 * ridge * radius**2
            strong = (scale * size + ridge * radius) ** 2 / (2.0 * convexity) if convexity > 0 else math.inf
            bounds.append(min(plain, strong) + TOLERANCE)
        return bounds


class ObjectivePerturbation(PerturbedObjective):
    """Gaussian noise, (epsilon, delta)-DP."""

    distribution = "gaussian"
    card = Card(
        name="objective-perturbation",
        title="objective perturbation",
        paper="Talwar, Thakurta & Zhang 2015",
        reference="Alg. 2",
        variants={
            "corrected": "noise for replacing a record, Jacobian's share paid for",
            "printed": "noise as printed in Alg. 2",
            "kst": "noise of Kifer, Smith & Thakurta 2012",
        },
        needs=frozenset({"rank-one", "smooth"}),
    )

    def prepare(self) -> None:
        super().prepare()
        risk = self.risk
        self.ridges = [2.0 * risk.smoothness / (risk.samples * budget.epsilon) for budget in self.budgets]  # line 1
        self.scales = [self._scale(budget, ridge) for budget, ridge in zip(self.budgets, self.ridges, strict=True)]

    def _scale(self, budget: Budget, ridge: float) -> float:
        if math.isinf(budget.epsilon):
            return 0.0
        if budget.delta == 0:
            raise ValueError("Gaussian noise needs delta > 0")
        unit = self.risk.lipschitz / self.risk.samples
        if self.variant == "printed":
            return unit * math.sqrt(2.0 * budget.log_over_delta()) / budget.epsilon
        if self.variant == "kst":
            return unit * math.sqrt(8.0 * budget.log_over_delta(2.0) + 4.0 * budget.epsilon) / budget.epsilon
        return self.sensitivity / planar_shift(budget.epsilon - self._jacobian_epsilon(ridge), budget.delta)

    def delivered_epsilon(self) -> list[float]:
        """The Jacobian's share and the noise's."""
        return [self.epsilon_at(budget.delta)[setting] for setting, budget in enumerate(self.budgets)]

    def epsilon_at(self, delta: float) -> list[float]:
        """The same at any delta > 0."""
        return [
            self._jacobian_epsilon(ridge) + planar_epsilon(line.mu(), delta) if line.scale else math.inf
            for ridge, line in zip(self.ridges, self.ledger(), strict=True)
        ]

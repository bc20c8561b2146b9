"""Objective and output perturbation: one exact minimisation, noise in the objective or on the minimiser.

Problem     min over a convex set C of L(theta) = (1/n) sum_i loss(theta; d_i), losses L-Lipschitz in l2 and
            lambda-smooth. Objective perturbation: generalised linear losses, so that a record's Hessian has rank one
            and its gradients lie on one line (an assumption that Talwar, Thakurta & Zhang 2015, Alg. 2, omit).
Privacy     Replace one record. All three methods assume the exact minimiser; here it is certified to TOLERANCE in
            the objective, on the set, and what that leaves is not in the ledger.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from dpregret.algorithms.erm.base import ErmLearner, ErmProblem
from dpregret.algorithms.erm.projected_gradient import minimise_on, require_smooth, usable_smoothness
from dpregret.algorithms.geometry import gaussian_width
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import (
    Budget,
    NoiseDistribution,
    Release,
    calibrate,
    largest_within,
    root_mean_square_norm,
    smallest_epsilon,
    unit_noise,
)
from dpregret.core.arrays import Array

TOLERANCE = 1e-10


def planar_delta(epsilon: float, shift: float) -> float:
    """Delta of standard Gaussian noise whose shift may depend on the noise, within a fixed plane.

    With |shift| <= u the privacy loss is at most u r + u^2 / 2, r = |projection of the noise on the plane| ~ chi_2.
    So delta(epsilon) <= E(1 - e^(epsilon - u r - u^2 / 2))_+, which is, with r0 = max(0, epsilon / u - u / 2),
    e^(-r0^2 / 2) - e^epsilon (e^(-(r0 + u)^2 / 2) - u sqrt(2 pi) Phi(-(r0 + u))). epsilon any real number.
    """
    least = max(0.0, epsilon / shift - 0.5 * shift)
    # both exponents are at most 0 although e^epsilon alone may overflow
    first = math.exp(epsilon - 0.5 * (least + shift) ** 2)
    second = math.exp(epsilon + float(log_ndtr(-least - shift))) * shift * math.sqrt(2 * math.pi)
    return math.exp(-0.5 * least**2) - first + second


def planar_shift(epsilon: float, delta: float) -> float:
    """The largest shift with planar_delta(epsilon, shift) <= delta. Raises ValueError for delta = 0."""
    if delta == 0:
        raise ValueError("Gaussian noise needs delta > 0")
    return largest_within(lambda shift: planar_delta(epsilon, shift), delta)


def planar_epsilon(shift: float, delta: float) -> float:
    """The smallest epsilon >= 0 with planar_delta(epsilon, shift) <= delta."""
    return smallest_epsilon(lambda epsilon: planar_delta(epsilon, shift), delta)


def require_rank_one(name: str, problem: ErmProblem) -> None:
    """Raise ValueError, naming the learner, unless every record's Hessian has rank at most one."""
    if problem.risk.hessian_rank not in (0, 1):
        raise ValueError(f"{name} needs losses whose Hessians have rank one, not {problem.risk.hessian_rank}")


class PerturbedObjective(ErmLearner):
    """argmin over C of L(theta) + (ridge / 2) |theta - theta_0|^2 + <b, theta>, theta_0 the set's center.

    b has independent scaled draws; a learner is its ridges and scales, one a setting. Replacing a record
    moves b, for given theta, by at most 2 L / n within the plane of two feature vectors, and changes the Jacobian of b
    in theta, which the ridge pays for. That a hard constraint does no harm is the limit argument of Kifer, Smith &
    Thakurta 2012; so the constants need hold on the set only.
    """

    distribution: ClassVar[NoiseDistribution]
    ridges: list[float]
    scales: list[float]

    def __init__(self, problem: ErmProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        require_rank_one(self.card.name, problem)
        require_smooth(self.card.name, problem)
        self.sensitivity = 2.0 * problem.risk.lipschitz / problem.risk.samples

    def _jacobian_epsilon(self, ridge: float) -> float:
        """ln(1 + lambda / (n ridge)), the largest change of the Jacobian's logarithm by one record of rank one."""
        return math.log1p(self.risk.smoothness / (self.risk.samples * ridge)) if ridge else 0.0

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p)."""
        center = self.domain.center()
        ridges = np.array(self.ridges)[:, None, None]
        noise = _noise(self.distribution, self.scales, generators, len(center))

        def gradient(points: Array) -> Array:
            return self.risk.gradient(points) + ridges * (points - center) + noise

        start = np.tile(center, (len(self.budgets), self.runs, 1))
        smoothness = usable_smoothness(self.problem) + ridges
        return minimise_on(self.domain, gradient, start, smoothness, TOLERANCE)[0]

    def ledger(self) -> list[Release]:
        """The noise; the Jacobian's share comes on top."""
        return [Release(self.distribution, scale, self.sensitivity, 1) for scale in self.scales]

    def bound(self) -> list[float]:
        """E max_C <b, theta - theta_0> + (ridge / 2) r^2, r = max_C |theta - theta_0|: Theorem 4.1 with constants.

        The first term is s G_C for Gaussian noise and at most s p r for norm-Gamma noise. For D-strongly convex risks
        the smaller of this and (sqrt(E|b|^2) + ridge r)^2 / (2 D).
        """
        reach = self.domain.reach(self.domain.center())
        width = gaussian_width(self.domain)[0] if self.distribution == "gaussian" else self.domain.dimension * reach
        size, convexity = root_mean_square_norm(self.distribution, self.domain.dimension), self.risk.strong_convexity
        bounds = []
        for scale, ridge in zip(self.scales, self.ridges, strict=True):
            plain = scale * width + 0.5 * ridge * reach**2
            strong = (scale * size + ridge * reach) ** 2 / (2.0 * convexity) if convexity > 0 else math.inf
            bounds.append(min(plain, strong) + TOLERANCE)
        return bounds


class ObjectivePerturbation(PerturbedObjective):
    """Gaussian b ~ N(0, s^2 I), ridge zeta = 2 lambda / (n epsilon) (records of rank one have no convexity to deduct).

    Delivered is ln(1 + lambda / (n zeta)) = ln(1 + epsilon / 2) plus `planar_epsilon` of 2 L / (n s), proved for all
    admissible data. For linear losses b moves by a fixed vector, and exact Gaussian DP, which is less, applies.

    corrected: the smallest s for which this is epsilon. printed: s = L sqrt(2 ln(1/delta)) / (n epsilon).
    kst: s = L sqrt(8 ln(2/delta) + 4 epsilon) / (n epsilon) of Kifer, Smith & Thakurta 2012, where b moves by L / n:
    a record is added or removed.
    """

    distribution = "gaussian"
    card = Card(
        name="objective-perturbation",
        title="Objective perturbation",
        paper="Talwar, Thakurta & Zhang 2015",
        reference="Alg. 2",
        variants={
            "corrected": "noise for replacing a record, Jacobian's share paid for",
            "printed": "noise as printed in Alg. 2",
            "kst": "noise of Kifer, Smith & Thakurta 2012",
        },
        needs=frozenset({"rank-one", "smooth"}),
    )

    def __init__(self, problem: ErmProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        self.ridges = [2.0 * self.risk.smoothness / (self.risk.samples * budget.epsilon) for budget in budgets]
        self.scales = [self._scale(budget, ridge) for budget, ridge in zip(budgets, self.ridges, strict=True)]

    def _scale(self, budget: Budget, ridge: float) -> float:
        if math.isinf(budget.epsilon):
            return 0.0
        if budget.delta == 0:
            raise ValueError("Gaussian noise needs delta > 0")
        unit = self.risk.lipschitz / self.risk.samples
        if self.variant == "printed":
            return unit * math.sqrt(2.0 * math.log(1.0 / budget.delta)) / budget.epsilon
        if self.variant == "kst":
            return unit * math.sqrt(8.0 * math.log(2.0 / budget.delta) + 4.0 * budget.epsilon) / budget.epsilon
        return self.sensitivity / planar_shift(budget.epsilon - self._jacobian_epsilon(ridge), budget.delta)

    def delivered_epsilon(self) -> list[float]:
        """The Jacobian's share and the noise's."""
        return [
            self._jacobian_epsilon(ridge) + planar_epsilon(line.mu(), budget.delta) if line.scale else math.inf
            for ridge, line, budget in zip(self.ridges, self.ledger(), self.budgets, strict=True)
        ]


class Chaudhuri(PerturbedObjective):
    """Norm-Gamma b, pure epsilon-DP: |b|_2 ~ Gamma(p, 2 L / (n e)), e = epsilon - ln(1 + 2 c / (n R) + c^2 / (n R)^2).

    c the smoothness, R the ridge. The original leaves R to the user and raises it to c / (n (e^(epsilon/4) - 1)) where
    it is too small; here, where the set takes the place of a regulariser, it is that, and e = epsilon / 2. The original
    minimises over all of R^p.
    """

    distribution = "gamma"
    card = Card(
        name="chaudhuri",
        title="Objective perturbation (pure)",
        paper="Chaudhuri, Monteleoni & Sarwate 2011",
        reference="Alg. 2",
        variants={"plain": "norm-Gamma noise, minimum over the set"},
        needs=frozenset({"rank-one", "smooth"}),
    )

    def __init__(self, problem: ErmProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        smoothness, samples = self.risk.smoothness, self.risk.samples
        self.ridges = [smoothness / (samples * math.expm1(budget.epsilon / 4.0)) for budget in budgets]
        self.scales = [
            self.sensitivity / (budget.epsilon - self._jacobian_epsilon(ridge))
            for budget, ridge in zip(budgets, self.ridges, strict=True)
        ]

    @property
    def pure(self) -> bool:
        """Always."""
        return True

    def _jacobian_epsilon(self, ridge: float) -> float:
        """ln(1 + 2 c / (n R) + c^2 / (n R)^2), twice what losses of rank one need."""
        return 2.0 * super()._jacobian_epsilon(ridge)

    def delivered_epsilon(self) -> list[float]:
        """The Jacobian's share and the noise's."""
        return [
            line.epsilon(0.0) + self._jacobian_epsilon(ridge)
            for line, ridge in zip(self.ledger(), self.ridges, strict=True)
        ]


class OutputPerturbation(ErmLearner):
    """Minimiser of a D-strongly convex risk, plus noise, projected onto the set.

    The minimiser moves by at most 2 L / (n D); D must hold for every data set. Bound: L E|z|, z the noise.
    """

    card = Card(
        name="output-perturbation",
        title="Output perturbation",
        paper="Chaudhuri, Monteleoni & Sarwate 2011",
        reference="Alg. 1",
        variants={"corrected": "Gaussian noise, exact Gaussian DP", "gamma": "norm-Gamma noise, pure epsilon-DP"},
        needs=frozenset({"strongly-convex", "smooth"}),
    )

    def __init__(self, problem: ErmProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        require_smooth(self.card.name, problem)
        risk = problem.risk
        if not risk.strong_convexity > 0:
            raise ValueError(f"{self.card.name} needs a strongly convex risk")
        self.distribution: NoiseDistribution = "gamma" if variant == "gamma" else "gaussian"
        sensitivity = 2.0 * risk.lipschitz / (risk.samples * risk.strong_convexity)
        scales = [calibrate(self.distribution, budget, sensitivity, 1) for budget in budgets]
        self._ledger = [Release(self.distribution, scale, sensitivity, 1) for scale in scales]

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p)."""
        center = self.domain.center()
        start = np.tile(center, (self.runs, 1))
        smoothness = usable_smoothness(self.problem)
        minimum = minimise_on(self.domain, self.risk.gradient, start, smoothness, TOLERANCE)[0]
        noise = _noise(self.distribution, [release.scale for release in self._ledger], generators, len(center))
        return self.domain.project(minimum + noise)

    @property
    def pure(self) -> bool:
        """Norm-Gamma noise."""
        return self.distribution == "gamma"

    @property
    def gaussian(self) -> bool:
        """The minimiser, unless the noise is norm-Gamma."""
        return self.distribution == "gaussian"

    def ledger(self) -> list[Release]:
        """The privacy ledger, one line a setting."""
        return self._ledger

    def delivered_epsilon(self) -> list[float]:
        """Exact Gaussian DP, or sensitivity over scale."""
        return [release.epsilon(budget.delta) for release, budget in zip(self._ledger, self.budgets, strict=True)]

    def bound(self) -> list[float]:
        """L E|z|, at most L s sqrt(p) for Gaussian noise, L s p for norm-Gamma noise."""
        size = self.domain.dimension if self.distribution == "gamma" else math.sqrt(self.domain.dimension)
        return [self.risk.lipschitz * release.scale * size + TOLERANCE for release in self._ledger]


def _noise(
    distribution: NoiseDistribution, scales: Sequence[float], generators: Sequence[np.random.Generator], dimension: int
) -> Array:
    """One vector a run, (settings, runs, dimension); settings share the unit draws."""
    noise: Array = np.array(scales)[:, None, None] * unit_noise(distribution, generators, 1, dimension)
    return noise

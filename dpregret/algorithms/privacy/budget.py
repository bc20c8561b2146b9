"""The privacy cost of a release, and the noise that it needs.

Neighbouring streams differ in one item, replaced by any admissible one. A mechanism touches an item in k releases
(tree nodes), each of which moves by at most `sensitivity` in l2 norm.

Gaussian noise is priced by exact Gaussian differential privacy (Dong, Roth & Su 2022): k releases of standard
deviation sigma are mu-GDP with mu = sqrt(k) sensitivity / sigma, whatever the adaptivity, and mu-GDP is
(epsilon, delta)-DP exactly when delta >= Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)
(Balle & Wang 2018, Theorem 8). Norm-Gamma and Laplace noise compose by adding epsilons.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from dpregret.algorithms.privacy.noise import NoiseDistribution


@dataclass(frozen=True)
class Budget:
    """A target (epsilon, delta); epsilon = inf buys no privacy and costs no noise.

    Raises ValueError unless epsilon > 0 and 0 <= delta < 1.
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be positive, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must lie in [0, 1), got {self.delta}")


def largest_within(cost: Callable[[float], float], allowed: float) -> float:
    """The parameter > 0 at which a continuous cost that grows with it reaches `allowed`, to 14 digits."""
    high = 1.0
    while cost(high) < allowed:
        high *= 2
    low = high
    while cost(low) > allowed:
        low /= 2
    return float(brentq(lambda parameter: cost(parameter) - allowed, low, high, xtol=1e-15, rtol=1e-14))


def smallest_epsilon(delta_at: Callable[[float], float], delta: float) -> float:
    """The smallest epsilon >= 0 with delta_at(epsilon) <= delta, for a privacy curve that falls with epsilon."""
    if delta_at(0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_at(high) > delta:
        high *= 2
    return float(brentq(lambda epsilon: delta_at(epsilon) - delta, 0.0, high, xtol=1e-14, rtol=1e-14))


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The smallest delta for which mu-GDP gives (epsilon, delta)-DP."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def gaussian_mu(budget: Budget) -> float:
    """The largest mu whose mu-GDP implies the budget: the exact inverse of `gaussian_delta`.

    epsilon = inf gives inf. Raises ValueError when delta = 0, which no Gaussian noise delivers.
    """
    if math.isinf(budget.epsilon):
        return math.inf
    if budget.delta == 0:
        raise ValueError("Gaussian noise needs delta > 0")
    return largest_within(lambda mu: gaussian_delta(budget.epsilon, mu), budget.delta)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The epsilon that mu-GDP delivers at delta (0 when mu is so small that delta alone covers it)."""
    if mu == 0:
        return 0.0
    if math.isinf(mu):
        return math.inf
    return smallest_epsilon(lambda epsilon: gaussian_delta(epsilon, mu), delta)


def zcdp_rho(budget: Budget) -> float:
    """The rho of zCDP that implies the budget: (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))^2.

    Bun & Steinke 2016, Proposition 1.3, solved for rho.
    """
    log_term = math.log(1 / budget.delta)
    return float((math.sqrt(log_term + budget.epsilon) - math.sqrt(log_term)) ** 2)


@dataclass(frozen=True)
class Release:
    """One line of the privacy ledger: an item meets `nodes` releases of noise `scale` (0: none at all).

    nodes: a count, or for other linear mechanisms under Gaussian noise any squared l2 norm of what an item moves, in
    units of its sensitivity.
    scale: standard deviation (gaussian), radius scale (gamma) or coordinate scale (laplace, where the sensitivity
    is the l1 one).
    """

    distribution: NoiseDistribution
    scale: float
    sensitivity: float
    nodes: float

    def mu(self) -> float:
        """The Gaussian-DP parameter sqrt(nodes) sensitivity / scale; NaN for laws that have none."""
        if self.distribution != "gaussian":
            return math.nan
        return math.inf if self.scale == 0 else math.sqrt(self.nodes) * self.sensitivity / self.scale

    def epsilon(self, delta: float) -> float:
        """The epsilon delivered: exact at delta for Gaussian noise; nodes * sensitivity / scale for the pure laws."""
        if self.scale == 0:
            return math.inf
        if self.distribution == "gaussian":
            return gaussian_epsilon(self.mu(), delta)
        return self.nodes * self.sensitivity / self.scale


def calibrate(distribution: NoiseDistribution, budget: Budget, sensitivity: float, nodes: float) -> float:
    """The smallest valid scale: sensitivity sqrt(nodes) / mu(epsilon, delta), or sensitivity nodes / epsilon.

    epsilon = inf gives 0, so the private learner runs its non-private counterpart in the same code.
    """
    if math.isinf(budget.epsilon):
        return 0.0
    if distribution == "gaussian":
        return sensitivity * math.sqrt(nodes) / gaussian_mu(budget)
    return sensitivity * nodes / budget.epsilon

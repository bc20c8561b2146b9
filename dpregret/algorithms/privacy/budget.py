"""The privacy cost of a release, and the noise that it needs.

Neighbouring streams differ in one item, replaced by any admissible one. A mechanism touches an item in k releases
(tree nodes), each of which moves by at most `sensitivity` in l2 norm.

Gaussian noise is priced by exact Gaussian differential privacy (Dong, Roth & Su 2022): k releases of standard
deviation sigma are mu-GDP with mu = sqrt(k) sensitivity / sigma, whatever the adaptivity, and mu-GDP is
(epsilon, delta)-DP exactly when delta >= Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)
(Balle & Wang 2018, Theorem 8). Norm-Gamma and Laplace noise compose by adding epsilons.

Composition of many private calls is exact, too. Where every call answers yes or no, and k calls are independent, their
number of yeses is Binomial(k, p) on one input and Binomial(k, q) on the other, and is sufficient. `binomial_epsilon` is
the exact privacy loss of that pair.

Calls that are e-DP each, chosen adaptively, lose together at most what k randomised responses of e lose, which is such
a pair with p = 1 - q = 1 / (1 + exp(-e)), and the bound is attained (Kairouz, Oh & Viswanath 2015, Theorem 3.3; Murtagh
& Vadhan 2016). It is never above k e, nor above advanced composition, nor above e^2/2-zCDP.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from scipy.optimize import brentq
from scipy.special import betainc, expit, log_ndtr, ndtr

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


@dataclass(frozen=True)
class Release:
    """One line of the privacy ledger: an item meets `nodes` releases of noise `scale` (0: none at all).

    nodes: a count, or for other linear mechanisms under Gaussian noise any squared l2 norm of what an item moves, in
    units of its sensitivity.
    scale: standard deviation (gaussian), radius scale (gamma) or coordinate scale (laplace, where the sensitivity
    is the l1 one).
    apart: no two items meet the same release.
    """

    distribution: NoiseDistribution
    scale: float
    sensitivity: float
    nodes: float
    apart: bool = False

    def of_record(self, participations: int) -> "Release":
        """The line of a record that is that many items, wherever they lie.

        Gaussian noise on items apart: mu grows by sqrt(participations), exactly. Otherwise a release moves by up to
        `participations` times as much, and mu, or the epsilon of the pure laws, grows as much at most.
        """
        if self.apart and self.distribution == "gaussian":
            return replace(self, nodes=participations * self.nodes)
        return replace(self, sensitivity=participations * self.sensitivity)

    def mu(self) -> float:
        """The Gaussian-DP parameter sqrt(nodes) sensitivity / scale; NaN for laws that have none."""
        if self.distribution != "gaussian":
            return math.nan
        return math.inf if self.scale == 0 else math.sqrt(self.nodes) * self.sensitivity / self.scale

    def epsilon(self, delta: float) -> float:
        """The epsilon delivered: exact at delta for Gaussian noise; nodes * sensitivity / scale for the pure laws."""
        if self.nodes == 0:
            return 0.0
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


def group_epsilon(epsilon_at: Callable[[float], float], members: int, delta: float) -> float:
    """An epsilon at delta of inputs that differ in `members` items: group privacy (Vadhan 2017, Lemma 2.2).

    epsilon_at: what one item loses at a delta. With e = epsilon_at(d), members differ by
    (members e, d (e^{members e} - 1) / (e^e - 1)). The largest d whose second number is at most delta is searched; inf
    where there is none.
    """
    if members == 1:
        return epsilon_at(delta)
    if delta == 0:
        return members * epsilon_at(0.0)

    def total(exponent: float) -> float:
        """ln of the group's delta, for d = delta exp(-exponent)."""
        epsilon = epsilon_at(delta * math.exp(-exponent))
        if math.isinf(epsilon):
            return math.inf
        grown = math.log(members) if epsilon == 0 else _log_expm1(members * epsilon) - _log_expm1(epsilon)
        return math.log(delta) - exponent + grown

    low, high = 0.0, math.log(members)
    while total(high) > math.log(delta):
        low, high = high, 2 * high
        if delta * math.exp(-high) == 0:
            return math.inf
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if total(middle) <= math.log(delta) else (middle, high)
    return members * epsilon_at(delta * math.exp(-high))


def _log_expm1(x: float) -> float:
    """ln(e^x - 1) for x > 0."""
    return x + math.log(-math.expm1(-x))


def binomial_delta(calls: int, first: float, second: float, epsilon: float) -> float:
    """Smallest delta at epsilon of Binomial(calls, first) and Binomial(calls, second), the worse direction."""
    delta = 0.0
    for p, q in ((first, second), (second, first)):
        if p < q:  # few yeses then: count the noes
            p, q = 1 - p, 1 - q
        if p == q:  # to the last bit: no privacy loss
            continue
        delta = max(delta, _delta(calls, p, q, math.log(p / q), math.log((1 - q) / (1 - p)), epsilon))
    return delta


def binomial_epsilon(calls: int, first: float, second: float, delta: float) -> float:
    """Smallest epsilon >= 0 at delta of the same pair: exact, and 0 where the two are equal."""
    if first == second:
        return 0.0
    return smallest_epsilon(lambda epsilon: binomial_delta(calls, first, second, epsilon), delta)


def optimal_delta(call_epsilon: float, calls: int, epsilon: float) -> float:
    """Smallest delta at epsilon that holds for all `calls` adaptive calls of call_epsilon-DP."""
    return _delta(calls, float(expit(call_epsilon)), float(expit(-call_epsilon)), call_epsilon, call_epsilon, epsilon)


def optimal_epsilon(call_epsilon: float, calls: int, delta: float) -> float:
    """Smallest epsilon >= 0 at delta that holds for all `calls` adaptive calls of call_epsilon-DP."""
    if delta == 0 or math.isinf(call_epsilon):
        return calls * call_epsilon
    return smallest_epsilon(lambda epsilon: optimal_delta(call_epsilon, calls, epsilon), delta)


def largest_call_epsilon(epsilon: float, delta: float, calls: int) -> float:
    """The largest epsilon of a call whose `calls` adaptive calls are (epsilon, delta)-DP together."""
    if delta == 0:
        return epsilon / calls
    return largest_within(lambda call: optimal_delta(call, calls, epsilon), delta)


def _delta(calls: int, likely: float, rare: float, up: float, down: float, epsilon: float) -> float:
    """sum over j of (P(j) - e^epsilon Q(j))_+ for P, Q of `likely` > `rare`: j with j up - (calls - j) down > epsilon.

    up = ln(likely / rare), down = ln((1 - rare) / (1 - likely)): arguments, as differences near 1 lose digits.
    """
    last = math.floor((epsilon + calls * down) / (up + down))  # the largest number of yeses that does not count
    if last >= calls:
        return 0.0
    first, second = (_more_than(last, calls, share) for share in (likely, rare))
    return max(0.0, first - (math.exp(epsilon + math.log(second)) if second > 0 else 0.0))


def _more_than(count: int, calls: int, share: float) -> float:
    """P(Binomial(calls, share) > count)."""
    return 1.0 if count < 0 else float(betainc(count + 1, calls - count, share))

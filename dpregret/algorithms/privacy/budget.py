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
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.special import betainc, expit

from dpregret.algorithms.privacy.noise import NoiseDistribution
from dpregret.numerics.compiled import compiled


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

    def log_over_delta(self, number: float = 1.0) -> float:
        """ln(number / delta), of printed formulas. Raises ValueError when delta = 0."""
        if self.delta == 0:
            raise ValueError("Gaussian noise needs delta > 0")
        return math.log(number / self.delta)


_LEGENDRE = np.polynomial.legendre.leggauss(20)
_NODES, _WEIGHTS = (1 + _LEGENDRE[0]) / 2, _LEGENDRE[1] / 2  # on [0, 1]
SPACING: Final = 2.0**-52
"""Of floating-point numbers near 1."""
TINY: Final = 2.0**-1000
"""Smaller scales of noise lose digits, as floating-point numbers below 2^-1022 do."""


def largest_within(cost: Callable[[float], float], allowed: float) -> float:
    """The largest parameter > 0 with cost(parameter) <= allowed, for a continuous cost that grows with it.

    Args:
        cost: of a parameter, such as the delta of a scale of noise.
        allowed: the most that it may be.

    Returns:
        The parameter to 14 digits, whatever its size, and from below: its cost, as computed, is never above `allowed`;
        inf where every cost is below it, 0 where none is.
    """
    high = 1.0
    while cost(high) < allowed:
        high *= 2
        if math.isinf(high):
            return high
    low = high
    while cost(low) > allowed:
        low /= 2
        if low == 0:
            return low
    root = _crossing(lambda parameter: cost(parameter) - allowed, low, high)
    return _safe(root, -1, lambda parameter: cost(parameter) <= allowed)


def smallest_epsilon(delta_at: Callable[[float], float], delta: float) -> float:
    """The smallest epsilon >= 0 with delta_at(epsilon) <= delta, for a privacy curve that falls with epsilon.

    Args:
        delta_at: epsilon -> delta.
        delta: the most that it may be.

    Returns:
        epsilon to 14 digits, whatever its size, and from above: delta_at(epsilon), as computed, is never above `delta`;
        inf where no epsilon serves.
    """
    if delta_at(0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_at(high) > delta:
        high *= 2
        if math.isinf(high):
            return high
    low = high / 2
    while delta_at(low) <= delta:
        low /= 2
    root = _crossing(lambda epsilon: delta_at(epsilon) - delta, low, high)
    return _safe(root, 1, lambda epsilon: delta_at(epsilon) <= delta)


def _crossing(excess: Callable[[float], float], low: float, high: float) -> float:
    below = excess(low)
    if below == 0 or low == high:
        return low
    root, converged = _brent(excess, low, high)
    if not converged:
        while high > 2 * low:  # hundreds of orders of magnitude apart: halve their number
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (middle, high) if (excess(middle) > 0) == (below > 0) else (low, middle)
        root, _ = _brent(excess, low, high)
    return root


def _brent(excess: Callable[[float], float], low: float, high: float) -> tuple[float, bool]:
    """The root to 15 digits whatever its size, and whether the search came to its end."""
    from scipy.optimize import brentq  # late: most of what imports this file searches nothing

    tolerance = 4 * math.ulp(0.0)
    root, search = brentq(
        excess, low, high, xtol=tolerance, rtol=4 * SPACING, maxiter=1000, full_output=True, disp=False
    )
    return float(root), bool(search.converged)


def _safe(root: float, side: int, fits: Callable[[float], bool]) -> float:
    """The root, or the first number beyond it on that side that fits."""
    step, parameter = max(SPACING * root, math.ulp(0.0)), root
    while not fits(parameter):
        parameter, step = root + side * step, 2 * step
    return parameter


@compiled
def _falls(x: float, distance: float) -> tuple[float, float]:
    """R(x + distance), and ln(R(x) - R(x + distance)) to all its digits, R(s) = (1 - Phi(s)) / phi(s), Mills' ratio."""
    second, difference = mills(x + distance)[0], 0.0
    first = mills(x)[0]
    if second < 0.5 * first:
        return second, np.log(first - second)
    for k in range(len(_NODES)):  # of the slope, which has one sign: no digit is lost where the two are close
        difference += _WEIGHTS[k] * mills(x + distance * _NODES[k])[1]
    return second, np.log(distance) + np.log(difference)


@compiled
def mills(x: float) -> tuple[float, float]:
    """R(x) and -R'(x) = 1 - x R(x): a continued fraction, where the closed form would cancel; x above -38."""
    if x < 3.0:
        ratio = math.sqrt(0.5 * math.pi) * math.exp(0.5 * x * x) * math.erfc(x / math.sqrt(2.0))
        return ratio, 1.0 - x * ratio
    lower = x
    for k in range(100 if x < 6.0 else 40, 1, -1):
        lower = x + k / lower
    ratio = 1.0 / (x + 1.0 / lower)
    return ratio, ratio / lower


@compiled
def _gaussian(epsilon: float, mu: float) -> tuple[float, float, float]:
    """ln(delta) of mu-GDP at epsilon, 1 - delta, and the relative error of delta or of 1 - delta by rounding, at most.

    delta = phi(x) (R(x) - R(x + mu)) and 1 - delta = Phi(x) + phi(x) R(x + mu) with x = epsilon / mu - mu / 2, which
    is Balle & Wang 2018, Theorem 8, written without differences of equal numbers.
    """
    x = epsilon / mu - 0.5 * mu
    error = 2.0**-52 * (3.0 * (epsilon / mu + 0.5 * mu) * (abs(x) + 1.0) + 128.0)
    if x > 40.0:  # delta is below all numbers, and now 1 - delta is
        return -np.inf, 1.0, 0.0
    if x < -38.0:
        return 0.0, 0.0, 0.0
    second, log_fall = _falls(x, mu)
    rest = 0.5 * math.erfc(-x / math.sqrt(2.0)) + math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * second
    log_delta = log_fall - 0.5 * x * x - 0.5 * math.log(2.0 * math.pi) if x > -1.0 else np.log1p(-rest)
    return log_delta, rest, error


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The smallest delta for which mu-GDP gives (epsilon, delta)-DP (Balle & Wang 2018, Theorem 8).

    Args:
        epsilon: at least 0; inf gives 0.
        mu: the parameter of Gaussian differential privacy, sensitivity over standard deviation of one release.

    Returns:
        delta in [0, 1].
    """
    if mu == 0 or math.isinf(epsilon):
        return 0.0
    return 1.0 if math.isinf(mu) else math.exp(_gaussian(epsilon, mu)[0])


def _excess(epsilon: float, mu: float, delta: float, errors: float) -> float:
    """Above 0 unless mu-GDP gives (epsilon, delta)-DP, rounded to the safe side by so many rounding errors."""
    log_delta, rest, error = _gaussian(epsilon, mu)
    if delta <= 0.5:
        return float(log_delta + math.log1p(errors * error) - math.log(delta))
    return float((1 - delta) - rest * (1 - errors * error))


CALIBRATED: Final = 4.0
"""Rounding errors that calibrations keep away from the budget; conversions keep one."""


@lru_cache
def gaussian_mu(budget: Budget) -> float:
    """The largest mu whose mu-GDP implies the budget, from below: the inverse of `gaussian_delta`.

    Args:
        budget: (epsilon, delta); epsilon = inf gives inf.

    Returns:
        mu > 0. Noise of standard deviation sensitivity / mu on one release keeps the budget.

    Raises:
        ValueError: delta = 0, which no Gaussian noise keeps.
    """
    if math.isinf(budget.epsilon):
        return math.inf
    if budget.delta == 0:
        raise ValueError("Gaussian noise needs delta > 0")
    return largest_within(lambda mu: _excess(budget.epsilon, mu, budget.delta, CALIBRATED), 0.0)


@lru_cache
def gaussian_epsilon(mu: float, delta: float) -> float:
    """The epsilon that mu-GDP implies at delta, from above.

    Args:
        mu: the parameter of Gaussian differential privacy; 0: nothing is released.
        delta: in [0, 1].

    Returns:
        epsilon >= 0: 0 where delta alone covers it, inf at delta = 0.
    """
    if mu == 0 or delta >= 1:
        return 0.0
    if math.isinf(mu) or delta == 0:
        return math.inf
    return smallest_epsilon(lambda epsilon: _excess(epsilon, mu, delta, 1.0), 0.0)


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

    def composes_exactly(self, delta: float) -> bool:
        """Whether `of_record` is the loss itself: items apart, under Gaussian noise, or purely."""
        return self.apart and (self.distribution == "gaussian" or delta == 0)

    def mu(self) -> float:
        """The Gaussian-DP parameter sqrt(nodes) sensitivity / scale; NaN for laws that have none."""
        if self.distribution != "gaussian":
            return math.nan
        return self._over_scale(math.sqrt(self.nodes) * self.sensitivity)

    def _over_scale(self, moved: float) -> float:
        return math.inf if self.scale == 0 or math.isinf(moved) else moved / self.scale

    def epsilon(self, delta: float) -> float:
        """The epsilon delivered: exact at delta for Gaussian noise; nodes * sensitivity / scale for the pure laws."""
        if self.nodes == 0:
            return 0.0
        if self.distribution == "gaussian":
            return gaussian_epsilon(self.mu(), delta)
        return self._over_scale(self.nodes * self.sensitivity)


def calibrate(distribution: NoiseDistribution, budget: Budget, sensitivity: float, nodes: float) -> float:
    """The smallest valid scale: sensitivity sqrt(nodes) / mu(epsilon, delta), or sensitivity nodes / epsilon.

    Args:
        distribution: `gaussian`, or pure noise: `laplace` a coordinate, `gamma` (the radius) in l2.
        budget: of one item that is replaced; epsilon = inf gives 0, so the private learner runs its non-private
            counterpart in the same code.
        sensitivity: how far an item moves a release, in l2 (laplace: l1).
        nodes: releases that an item is in, or for Gaussian noise any squared l2 norm of what it moves; 0 gives 0.

    Returns:
        Standard deviation of a coordinate, or the scale of pure noise, in units of the sensitivity; rounded up.

    Raises:
        ValueError: Gaussian noise at delta = 0, or no floating-point number is the scale.
    """
    if math.isinf(budget.epsilon):
        return 0.0
    gaussian = distribution == "gaussian"
    price = gaussian_mu(budget) if gaussian else budget.epsilon
    if nodes == 0 or sensitivity == 0:
        return 0.0
    moved = sensitivity * (math.sqrt(nodes) if gaussian else nodes)
    scale = moved / price if moved > 0 and price > 0 else math.nan
    if not TINY < scale < math.inf:
        raise ValueError(f"no floating-point scale of noise serves epsilon {budget.epsilon:.3g} at {moved:.3g}")
    while not gaussian and nodes * sensitivity / scale > budget.epsilon:  # by the last bit
        scale = math.nextafter(scale, math.inf)
    return scale


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


def binomial_delta(calls: int, first: float, second: float, epsilon: float, errors: float = 0.0) -> float:
    """Smallest delta at epsilon of Binomial(calls, first) and Binomial(calls, second), the worse direction.

    errors: so many rounding errors are added, as in all that follows.
    """
    delta = 0.0
    for p, q in ((first, second), (second, first)):
        if p < q:  # few yeses then: count the noes
            p, q = 1 - p, 1 - q
        if p == q:  # to the last bit: no privacy loss
            continue
        if q == 0:  # a yes is told apart for certain
            found = -math.expm1(calls * math.log1p(-p)) if p < 1 else 1.0
        elif p == 1:  # only yeses: so likely as epsilon allows
            found = -math.expm1(min(0.0, epsilon + calls * math.log(q)))
        else:
            up = math.log(p / q) if p / q < math.inf else math.log(p) - math.log(q)
            found = _delta(calls, p, q, up, math.log((1 - q) / (1 - p)), epsilon, errors)
        delta = max(delta, found)
    return delta


def binomial_epsilon(calls: int, first: float, second: float, delta: float) -> float:
    """Smallest epsilon >= 0 at delta of the same pair: exact, from above, and 0 where the two are equal."""
    if first == second or delta >= 1:
        return 0.0
    low, high = sorted((first, second))
    certain = low == 0 or high == 1
    pure = math.inf if certain else calls * max(math.log(high / low), math.log((1 - low) / (1 - high)))
    if delta == 0:
        return pure * (1 + 4 * SPACING)
    return min(pure, smallest_epsilon(lambda epsilon: binomial_delta(calls, first, second, epsilon, 1.0), delta))


def optimal_delta(call_epsilon: float, calls: int, epsilon: float, errors: float = 0.0) -> float:
    """Smallest delta at epsilon that holds for all `calls` adaptive calls of call_epsilon-DP."""
    if call_epsilon == 0 or math.isinf(epsilon):
        return 0.0
    likely, rare = float(expit(call_epsilon)), float(expit(-call_epsilon))
    return _delta(calls, likely, rare, call_epsilon, call_epsilon, epsilon, errors)


def optimal_epsilon(call_epsilon: float, calls: int, delta: float) -> float:
    """Smallest epsilon >= 0 at delta that holds for all `calls` adaptive calls of call_epsilon-DP, from above."""
    if delta >= 1 or call_epsilon == 0:
        return 0.0
    if math.isinf(call_epsilon):
        return math.inf
    pure = calls * call_epsilon
    if pure < math.inf and Fraction(pure) < calls * Fraction(call_epsilon):
        pure = math.nextafter(pure, math.inf)
    if delta == 0:
        return pure
    return min(pure, smallest_epsilon(lambda epsilon: optimal_delta(call_epsilon, calls, epsilon, 1.0), delta))


def largest_call_epsilon(epsilon: float, delta: float, calls: int) -> float:
    """The largest epsilon of a call whose `calls` adaptive calls are (epsilon, delta)-DP together, from below."""
    if math.isinf(epsilon):
        return math.inf
    pure = epsilon / calls
    if calls * Fraction(pure) > Fraction(epsilon):
        pure = math.nextafter(pure, 0.0)
    return (
        pure
        if delta == 0
        else max(pure, largest_within(lambda call: optimal_delta(call, calls, epsilon, CALIBRATED), delta))
    )


def _delta(
    calls: int, likely: float, rare: float, up: float, down: float, epsilon: float, errors: float = 0.0
) -> float:
    """sum over j of (P(j) - e^epsilon Q(j))_+ for P, Q of `likely` > `rare`: j with j up - (calls - j) down > epsilon.

    up = ln(likely / rare), down = ln((1 - rare) / (1 - likely)): arguments, as differences near 1 lose digits. A
    rounding error is what the incomplete beta function may have: against 40 digits less than a tenth of it was seen.
    """
    # the largest number of yeses that does not count; where the last bit decides, it counts
    least, a_yes = epsilon + calls * down, up + down
    if epsilon < math.inf and (math.isinf(least) or math.isinf(a_yes)):  # a quarter of each is a number still
        least, a_yes = epsilon / calls / 4 + down / 4, (up / 4 + down / 4) / calls
    last = math.floor(min(float(calls), least / a_yes * (1 - (8 * SPACING if errors else 0.0))))
    if last >= calls:
        return 0.0
    first, second = (_more_than(last, calls, share) for share in (likely, rare))
    error = errors * SPACING * (64 + 200 * math.sqrt(calls)) * first
    return max(0.0, first - (math.exp(min(700.0, epsilon + math.log(second))) if second > 0 else 0.0)) + error


def _more_than(count: int, calls: int, share: float) -> float:
    """P(Binomial(calls, share) > count)."""
    return 1.0 if count < 0 else float(betainc(count + 1, calls - count, share))

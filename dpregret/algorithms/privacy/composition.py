"""Composition of many private calls, exactly: two Binomials told apart.

Where every call answers yes or no, and k calls are independent, their number of yeses is Binomial(k, p) on one input
and Binomial(k, q) on the other, and is sufficient. `binomial_epsilon` is the exact privacy loss of that pair.

Calls that are e-DP each, chosen adaptively, lose together at most what k randomised responses of e lose, which is such
a pair with p = 1 - q = 1 / (1 + exp(-e)), and the bound is attained (Kairouz, Oh & Viswanath 2015, Theorem 3.3; Murtagh
& Vadhan 2016). It is never above k e, nor above advanced composition, nor above e^2/2-zCDP.
"""

import math

from scipy.special import betainc, expit

from dpregret.algorithms.privacy.budget import largest_within, smallest_epsilon


def binomial_delta(calls: int, first: float, second: float, epsilon: float) -> float:
    """Smallest delta at epsilon of Binomial(calls, first) and Binomial(calls, second), the worse direction."""
    found = 0.0
    for one, other in ((first, second), (second, first)):
        if one < other:  # few yeses tell then: count the noes
            one, other = 1 - one, 1 - other
        if one == other:  # to the last bit: nothing tells them apart
            continue
        found = max(found, _delta(calls, one, other, math.log(one / other), math.log((1 - other) / (1 - one)), epsilon))
    return found


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

    up = ln(likely / rare), down = ln((1 - rare) / (1 - likely)): given, since differences of numbers near 1 are lost.
    """
    last = math.floor((epsilon + calls * down) / (up + down))  # the largest number of yeses that does not count
    if last >= calls:
        return 0.0
    first, second = (_more_than(last, calls, share) for share in (likely, rare))
    return max(0.0, first - (math.exp(epsilon + math.log(second)) if second > 0 else 0.0))


def _more_than(count: int, calls: int, share: float) -> float:
    """P(Binomial(calls, share) > count)."""
    return 1.0 if count < 0 else float(betainc(count + 1, calls - count, share))

"""The exact loss of noisy-min Frank-Wolfe with Laplace noise on one pair of neighbouring data sets.

The theorem is in docs/proofs/frank_wolfe_privacy.md. The set is the l1 ball in the plane with corners +-e1 and +-e2;
all losses are linear. All scores are 0 in the one data set; replacing a record moves the scores of e1 and e2 up by the
sensitivity s = 2 L1 |C|_1 / n, and those of -e1 and -e2 down. Every choice falls into the raised pair with probability
`raised_pair(2 s / b)` in the second data set, b the scale of the noise, and with probability 1/2 in the first; which
corner of its pair it is says nothing. Steps 1/(T+2) let the released point reveal all choices (`choices_told`), so that
it loses what Binomial(T-1, 1/2) and Binomial(T-1, q) lose.

Scales are in units of the sensitivity s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpregret.algorithms.privacy import Budget, gaussian_mu, largest_within
from dpregret.algorithms.privacy.budget import binomial_epsilon, largest_call_epsilon
from dpregret.algorithms.privacy.selection import RANGES, calibrate_selection, largest_rho

INFORMATION = 49 / 36
"""Squared derivative over variance, (7/12)^2 / (1/4), of a choice in the pair above, in units of (s / b)^2."""


def raised_pair(gap: float) -> float:
    """P(the smallest of four Laplace(1) scores is one of two that stand higher by `gap` >= 0 than the other two).

    The integral of 2 f(y - gap) S(y - gap) S(y)^2, f the density and S the tail of Laplace(1): 1/2 at 0, slope -7/24.
    """
    return 5 / 6 * math.exp(-gap) - (1 / 3 + gap / 8) * math.exp(-2 * gap)


def attained_epsilon(scale: float, rounds: int, delta: float) -> float:
    """The exact loss of the released point of T = `rounds` rounds at delta on the pair above."""
    return binomial_epsilon(rounds - 1, 0.5, raised_pair(2 / scale), delta)


def printed_scale(budget: Budget, rounds: int) -> float:
    """L1 |C|_1 sqrt(8 T ln(1/delta)) / (n eps) of Alg. 4, in units of s."""
    return math.sqrt(8 * rounds * math.log(1 / budget.delta)) / (2 * budget.epsilon)


def refuted_scale(budget: Budget, rounds: int) -> float:
    """The largest scale that the pair above shows to be too small: a valid one is at least this."""
    small = largest_within(lambda inverse: attained_epsilon(1 / inverse, rounds, budget.delta), budget.epsilon)
    return 1 / small


def proved_scale(budget: Budget, rounds: int) -> float:
    """The smallest scale that is proved valid: by zCDP of bounded range, or optimal composition of pure choices."""
    return calibrate_selection("laplace", budget, 1.0, rounds - 1)


def ranged_scale(budget: Budget, rounds: int, spread: float) -> float:
    """The valid scale if the loss of a choice had a range of `spread` s / b: by zCDP, or pure composition."""
    ranged = spread / 2 * math.sqrt((rounds - 1) / (2 * largest_rho(budget)))
    return min(ranged, purely_proved_scale(budget, rounds))


def purely_proved_scale(budget: Budget, rounds: int) -> float:
    """The proved scale for choices that are 2 s / b - DP, without a bound on their range."""
    return 2 / largest_call_epsilon(budget.epsilon, budget.delta, rounds - 1)


def proved_epsilon(delta: float) -> float:
    """The epsilon up to which the printed scale is proved private, for every T, since T - 1 choices are made."""

    def ratio(epsilon: float) -> float:
        budget = Budget(epsilon, delta)
        return RANGES["laplace"] / 2 / math.sqrt(2 * largest_rho(budget)) / printed_scale(budget, 1)

    return largest_within(ratio, 1.0)


def distance(budget: Budget) -> float:
    """Distance of the two unit Gaussians to which the pair tends as T grows, at the printed scale."""
    return budget.epsilon * math.sqrt(INFORMATION / (2 * math.log(1 / budget.delta)))


def failing_epsilon(delta: float) -> float:
    """The epsilon beyond which the printed scale fails for every T that is large enough."""

    def ratio(epsilon: float) -> float:
        budget = Budget(epsilon, delta)
        return distance(budget) / gaussian_mu(budget)

    return largest_within(ratio, 1.0)


def choices_told(point: Sequence[Fraction], rounds: int) -> list[tuple[int, ...]]:
    """The corners s_1..s_{T-1} of the unit l1 ball that led from 0 to `point` in steps of 1/(T+2), in exact arithmetic.

    (T+2)^(T-1) theta_T = sum over t of s_t (T+1)^(T-1-t) (T+2)^(t-1): modulo T+2 only s_1 stays, times (-1)^(T-2).
    """
    base = rounds + 2
    left = [coordinate * base ** (rounds - 1) for coordinate in point]
    found = []
    for now in range(1, rounds):
        weight = (rounds + 1) ** (rounds - 1 - now)
        sign = -1 if (rounds - 1 - now) % 2 else 1
        corner = tuple(sign * _centred(coordinate, base) for coordinate in left)
        found.append(corner)
        left = [(coordinate - weight * step) / base for coordinate, step in zip(left, corner, strict=True)]
    return found


def _centred(number: Fraction, base: int) -> int:
    """The remainder of a whole number that lies next to 0."""
    rest = int(number) % base
    return rest - base if 2 * rest > base else rest

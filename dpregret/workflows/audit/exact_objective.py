"""The exact loss of objective perturbation in one dimension on one pair of neighbouring data sets.

One record is replaced, all others are zero. On the one data set its loss has slope -L up to a point c, then curvature
lambda until its slope is +L; on the other its slope is +L everywhere. The released theta reveals the noise b of either
data set, which is affine in theta before, within and after the curved stretch: the sets on which one density exceeds
e^epsilon times the other are intervals, and the loss is exact. Losses with a continuous second derivative come as
close as one likes. The set is an interval so long that its ends do not matter.

Units: L / n = 1, lambda / n = 1; the ridge is 2 / epsilon by line 1 of Algorithm 2.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from dpregret.algorithms.privacy import Budget, smallest_epsilon


def printed_deviation(budget: Budget) -> float:
    """Standard deviation of b in Algorithm 2 of Talwar, Thakurta & Zhang 2015, in units of L / n."""
    return math.sqrt(2 * math.log(1 / budget.delta)) / budget.epsilon


def original_deviation(budget: Budget) -> float:
    """That of Kifer, Smith & Thakurta 2012, for a record that is added or removed."""
    return math.sqrt(8 * math.log(2 / budget.delta) + 4 * budget.epsilon) / budget.epsilon


def curved_delta(epsilon: float, ridge: float, deviation: float, bend: float) -> float:
    """Smallest delta at epsilon > 0 of the curved data set against the straight one.

    bend: the noise of the curved data set, in standard deviations, for which theta is c.
    """
    start, factor = bend * deviation, math.exp(epsilon)
    # before the bend the noises are x and x - 2: the densities' ratio exceeds e^epsilon below a point
    end = 1 - epsilon * deviation**2 / 2
    found = 0.0
    if start < end:
        found += _between(start, end, deviation) - factor * _between(start - 2, end - 2, deviation)
    # beyond it, after h = theta - c in [0, 2]: start - (1 + ridge) h and start - 2 - ridge h, after the bend the same
    needed = 2 * deviation**2 * (epsilon - math.log1p(1 / ridge))
    middle, constant = 2 * ridge * (2 - start) + 2 * (1 + ridge) * start, (start - 2) ** 2 - start**2 - needed
    inside = middle**2 + 4 * (1 + 2 * ridge) * constant
    if inside > 0:
        roots = (middle + np.array([-1.0, 1.0]) * math.sqrt(inside)) / (2 * (1 + 2 * ridge))
        first, last = np.clip(roots, 0, 2)
        curved = _between(start - (1 + ridge) * last, start - (1 + ridge) * first, deviation)
        found += curved - factor * _between(start - 2 - ridge * last, start - 2 - ridge * first, deviation)
    return max(0.0, found)


def attained_epsilon(budget: Budget, deviation: float) -> float:
    """The largest loss at the budget's delta over all places of the bend."""
    ridge = 2 / budget.epsilon

    def lost(bend: float) -> float:
        return smallest_epsilon(lambda epsilon: curved_delta(epsilon, ridge, deviation, bend), budget.delta)

    bends = np.linspace(-8, 2, 41)
    best = float(bends[np.argmax([lost(bend) for bend in bends])])
    found = minimize_scalar(lambda bend: -lost(bend), bounds=(best - 0.25, best + 0.25), method="bounded")
    return max(-float(found.fun), lost(best))


def _between(low: float, high: float, deviation: float) -> float:
    """P(low < b < high)."""
    return float(ndtr(high / deviation) - ndtr(low / deviation))

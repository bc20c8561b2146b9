"""What the printed noise of ApolySFW loses on one pair of neighbours: Bassily, Guzman & Nandi 2021, Theorem 3.

The l1 ball of radius 1 in R^p, linear losses, L0 = 1, L1 = 0 (the limit of small L1). All records are zero but one,
whose slope is 1 in every coordinate, or -1. Gradients do not depend on the points, so that the choices are independent:
in step t the scores of p corners stand 2 u_t above those of the p others, or below them, with u_t the move of line 11.
Which corner of its half is chosen says nothing. A choice falls into the raised half with probability q_t =
`raised_half(2 u_t / b_t)`: all of them tell as much as signs that are 1 with probability q_t, or 1 - q_t.

Choices lose what these signs lose: log-likelihood ratios are rounded down to a grid, so that the number bounds the loss
of this pair from below. The released point tells the sum of its coordinates, the signs weighted by
(1 - eta)^(n/2 - t): half-lines of it bound the loss of what is released from below, whatever else it tells. Weights are
rounded to a grid, and half-lines moved by all that the rounding can add up to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.one_sample_frank_wolfe import OneSampleFrankWolfe
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget, smallest_epsilon
from dpregret.numerics.arrays import Array

DELTA = 1e-6
DIMENSION = 16
"""That of the paper's experiments here."""
CASES = tuple((samples, epsilon) for epsilon in (1.0, 8.0, 512.0) for samples in (2**6, 2**9))
LOSSES, WEIGHTS = 2**16, 2**19
"""Points of the grids."""
NODES, SHARES = np.polynomial.legendre.leggauss(48)


@dataclass(frozen=True)
class Slopes:
    """Linear losses of slopes at most 1 in every coordinate; see FreshRisk. Their values are not asked for."""

    samples: int
    dimension: int = DIMENSION
    lipschitz: float = 1.0
    lipschitz_l1: float = 1.0
    smoothness: float = 0.0
    curvature: float = 0.0
    strong_convexity: float = 0.0

    def stream(self) -> Any:
        """No records."""
        raise NotImplementedError


def printed(samples: int, epsilon: float, dimension: int = DIMENSION) -> OneSampleFrankWolfe:
    """The learner, for its plan of noise and its ledger."""
    problem = ErmProblem(make_set("l1-ball", dimension), cast("Any", Slopes(samples, dimension)))
    return OneSampleFrankWolfe(problem, [Budget(epsilon, DELTA)], 1, "printed")


def raised_half(gap: Array, count: int) -> Array:
    """P(the smallest of 2 k Laplace(1) scores is one of the k that stand higher by `gap` >= 0), k = `count`.

    The integral of k f(y - gap) S(y - gap)^(k-1) S(y)^k, f the density and S the tail of Laplace(1), below 0, between 0
    and the gap, and above.
    """
    gap = np.asarray(gap, dtype=float)[..., None]
    low = (1 + NODES) / 4  # u = e^y / 2 in (0, 1/2)
    fallen = np.exp(-gap)
    below = count * fallen * (1 - low * fallen) ** (count - 1) * (1 - low) ** count @ SHARES / 4
    between = gap * (1 + NODES) / 2
    near = np.exp(between - gap) / 2
    inner = count * near * (1 - near) ** (count - 1) * (np.exp(-between) / 2) ** count
    above = np.exp(-count * gap[..., 0]) / 2 ** (2 * count + 1)
    return np.asarray(below + (inner * gap / 2) @ SHARES + above)


def moves(learner: OneSampleFrankWolfe, record: int) -> Array:
    """u_t of the record of step `record`, 0: one of the first batch; (steps + 1,)."""
    plan = learner.plans[0]
    if record == 0:
        return plan.kept / plan.first
    later = np.arange(plan.steps + 1) - record
    return np.where(later >= 0, plan.eta * (1 - plan.eta) ** np.maximum(later, 0.0), 0.0)


def signs(learner: OneSampleFrankWolfe, record: int) -> Array:
    """q_t of every choice."""
    gaps = 2 * moves(learner, record) / learner.plans[0].scales
    return np.minimum(raised_half(gaps, learner.domain.dimension), 0.5)  # which rounding may exceed


def sum_of_signs(weights: np.ndarray, chances: Array) -> Array:
    """Law of a sum of whole weights, each counted with its chance."""
    law, filled = np.zeros(int(weights.sum()) + 1), 1
    law[0] = 1.0
    for weight, chance in zip(weights, chances, strict=True):
        counted = chance * law[:filled]
        law[:filled] *= 1 - chance
        law[weight : weight + filled] += counted
        filled += weight
    return law


def choices_lose(learner: OneSampleFrankWolfe, record: int) -> float:
    """Epsilon at delta that all choices lose at least."""
    rare = signs(learner, record)
    ratios = np.log1p(-rare) - np.log(rare)  # of a sign that is likely: rounded down, those of rare ones up
    step = 2 * ratios.sum() / LOSSES
    counted = np.floor(2 * ratios / step).astype(int)
    law = sum_of_signs(counted, 1 - rare)
    losses = step * np.arange(len(law)) - ratios.sum()
    delta = learner.budgets[0].delta
    return smallest_epsilon(lambda epsilon: float(law @ -np.expm1(np.minimum(epsilon - losses, 0.0))), delta)


def point_loses(learner: OneSampleFrankWolfe, record: int) -> float:
    """Epsilon at delta that the released point loses at least."""
    rare, plan = signs(learner, record), learner.plans[0]
    weights = plan.kept[::-1] * WEIGHTS / plan.kept.sum()
    counted = np.rint(weights).astype(int)
    error = int(np.ceil(np.abs(weights - counted).sum()))
    law = sum_of_signs(counted, 1 - rare)  # on the other data set it is that of the total minus the sum
    likely, seldom = (np.cumsum(each[::-1])[::-1] for each in (law, law[::-1]))
    likely, seldom = likely[2 * error :], seldom[: len(seldom) - 2 * error]  # >= a + error, >= a - error

    above_delta = likely > learner.budgets[0].delta  # likely - e^epsilon seldom <= delta for all half-lines
    return max(0.0, float(np.log((likely[above_delta] - learner.budgets[0].delta) / seldom[above_delta]).max()))


def choices() -> pd.DataFrame:
    """A row per epsilon and n: stated, by our ledger, and at least; of the point, for the worse of two records."""
    rows = []
    for samples, epsilon in CASES:
        learner = printed(samples, epsilon)
        steps = learner.plans[0].steps
        row = {"n": samples, "stated eps": epsilon, "our ledger": learner.delivered_epsilon()[0]}
        row["choices lose, at least"] = choices_lose(learner, 1)  # the record of step 1 meets all later ones
        records = steps // 4, steps // 2
        row["point loses, at least"] = max(point_loses(learner, record) for record in records)
        rows.append(row)
    return pd.DataFrame(rows)

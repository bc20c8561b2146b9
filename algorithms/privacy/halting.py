"""The compiled walk of a threshold test along a query that grows by the losses of successive rounds."""

import math

import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled

FAR = 60.0  # in units of the noise: further below the threshold a query halts with less than 5e-27


@compiled
def _rate(epsilon: float, gap: float) -> float:
    """`AboveThreshold.rates` of one query."""
    if np.isinf(epsilon):
        return math.inf if gap < 0 else 0.0
    scaled = gap * (epsilon / 4)
    return -math.log1p(-0.5 * math.exp(-scaled)) if scaled >= 0 else math.log(2.0) - scaled


@compiled
def ask(epsilon: float, levels: Array, left: Array, queries: Array) -> None:
    """One query a run, (runs,): take its rate from what is left of the exponential variate."""
    for run in range(len(levels)):
        left[run] -= _rate(epsilon, levels[run] - queries[run])


@compiled
def stay(epsilon: float, level: float, left: float, query: float, rounds: int) -> tuple[int, float]:
    """`walk` for the same query in all rounds, in closed form: the halting round is geometric."""
    rate = _rate(epsilon, level - query)
    if rate * rounds >= left:
        return int(min(rounds, max(1.0, np.ceil(left / rate)))) - 1, left  # rounding may lead past the end
    return -1, left - rate * rounds


@compiled
def walk(epsilon: float, level: float, left: float, query: float, losses: Array, rounds: int) -> tuple[int, float]:
    """The first of `rounds` rounds in which a query halts (-1: none), and what is left of the exponential variate.

    The query of a round is `query` plus the losses (non-negative; one number: the same in all rounds) of those before
    it. Queries that are FAR below the threshold are passed over: all of 2^40 would halt with less than 1e-14.
    """
    constant = len(losses) == 1
    if constant and losses[0] == 0.0:
        return stay(epsilon, level, left, query, rounds)
    near = level if np.isinf(epsilon) else level - FAR * 4 / epsilon
    gathered, now = 0.0, 0
    if constant:
        now = int(min(max((near - query) / losses[0] - 1, 0.0), rounds))
        gathered = now * losses[0]
    while now < rounds:
        if query + gathered > near:
            left -= _rate(epsilon, level - (query + gathered))
            if left <= 0:
                return now, left
        gathered += losses[0] if constant else losses[now]
        now += 1
    return -1, left

"""The compiled walk of a threshold test along a query that grows by the losses of successive rounds."""

import math

import numpy as np

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.elementary import exp_of, log_of

FAR = 60.0  # in units of the noise: further below the threshold a query halts with less than 5e-27
LOST = 38.0  # where less than e^-LOST of what is left is taken, subtraction changes no bit of it
CHUNK = 64  # rounds whose chances are computed side by side


@compiled
def _rate(epsilon: float, gap: float) -> float:
    """`AboveThreshold.rates` of one query."""
    if np.isinf(epsilon):
        return math.inf if gap < 0 else 0.0
    scaled = gap * (epsilon / 4)
    return -math.log1p(-0.5 * math.exp(-scaled)) if scaled >= 0 else math.log(2.0) - scaled


@inlined
def _rate_at(scaled: float) -> float:
    """The same at a finite epsilon, of gap * epsilon / 4; several can go side by side."""
    halved = -0.5 * exp_of(-max(scaled, 0.0))
    rest = 1.0 + halved
    lost = 1.0 if rest == 1.0 else halved / (rest - 1.0)  # what rounding took from 1 + halved
    return -min(scaled, 0.0) - (halved if rest == 1.0 else log_of(rest) * lost)


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
    it. Queries that are FAR below the threshold are passed over: all of 2^40 would halt with less than 1e-14;
    so are those that rounding would lose.
    """
    constant = len(losses) == 1
    if constant and losses[0] == 0.0:
        return stay(epsilon, level, left, query, rounds)
    sharp = np.isinf(epsilon)
    near = level if sharp else level - min(FAR, LOST - math.log(left)) * 4 / epsilon
    gathered, now = 0.0, 0
    if constant:
        now = int(min(max((near - query) / losses[0] - 1, 0.0), rounds))
        gathered = now * losses[0]
    rates = np.empty(CHUNK)
    while now < rounds:
        if query + gathered <= near:
            gathered += losses[0] if constant else losses[now]
            now += 1
            continue
        if sharp:
            return now, -np.inf
        count = min(CHUNK, rounds - now)
        if constant:
            for k in range(count):
                rates[k] = _rate_at((level - (query + (gathered + k * losses[0]))) * (epsilon / 4))
            gathered += count * losses[0]
        else:
            for k in range(count):
                rates[k] = level - (query + gathered)
                gathered += losses[now + k]
            for k in range(count):
                rates[k] = _rate_at(rates[k] * (epsilon / 4))
        for k in range(count):
            left -= rates[k]
            if left <= 0:
                return now + k, left
        now += count
    return -1, left

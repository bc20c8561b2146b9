"""Compiled rounds of learners whose expected losses are known: `plain_losses` of hedge.py is the definition."""

import numpy as np

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.elementary import exp_of
from dpregret.numerics.sums import dot

CHUNK = 256  # rounds side by side
FAR = -700.0  # a weight of e^FAR is lost in every sum; smaller ones, which are denormal, cost the processor far more


@inlined
def largest_of(numbers: Array) -> float:
    """The largest number, four by four."""
    a = b = c = d = numbers[0]
    whole = len(numbers) // 4 * 4
    for k in range(0, whole, 4):
        a = numbers[k] if numbers[k] > a else a
        b = numbers[k + 1] if numbers[k + 1] > b else b
        c = numbers[k + 2] if numbers[k + 2] > c else c
        d = numbers[k + 3] if numbers[k + 3] > d else d
    for k in range(whole, len(numbers)):
        a = numbers[k] if numbers[k] > a else a
    largest: float = max(max(a, b), max(c, d))
    return largest


@inlined
def _weigh(sizes: Array, logs: Array, eta: float, seen: Array, weights: Array, ones: Array) -> float:
    """Write size * exp(-eta * loss so far) of all groups, over the largest of them; return their sum."""
    if np.isinf(eta):
        for group in range(len(seen)):
            weights[group] = -seen[group]
        largest = largest_of(weights)
        for group in range(len(seen)):
            weights[group] = sizes[group] if weights[group] == largest else 0.0
    else:
        for group in range(len(seen)):
            weights[group] = logs[group] - eta * seen[group]
        largest = largest_of(weights)
        for group in range(len(seen)):
            weights[group] = exp_of(max(weights[group] - largest, FAR))
    total: float = dot(weights, ones)
    return total


@inlined
def _alike(row: Array, rounds: int, sizes: Array, logs: Array, eta: float, seen: Array) -> float:
    """Expected loss of rounds of equal losses with a draw in each; chunks of them side by side."""
    clock, most, mass, charged = np.arange(CHUNK) * 1.0, np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    endless, total, starts = np.isinf(eta), 0.0, np.empty(len(row))
    rate = -1.0 if endless else -eta
    for first in range(0, rounds, CHUNK):
        most[:], mass[:], charged[:] = -np.inf, 0.0, 0.0
        for group in range(len(row)):
            slope = rate * row[group]
            start = (0.0 if endless else logs[group]) + rate * seen[group] + slope * first
            starts[group] = start
            for now in range(CHUNK):
                logit = start + slope * clock[now]
                most[now] = logit if logit > most[now] else most[now]
        for group in range(len(row)):
            start, slope, loss, size = starts[group], rate * row[group], row[group], sizes[group]
            if endless:
                for now in range(CHUNK):
                    weight = size if start + slope * clock[now] == most[now] else 0.0
                    mass[now] += weight
                    charged[now] += weight * loss
            else:
                for now in range(CHUNK):
                    weight = exp_of(max((start + slope * clock[now]) - most[now], FAR))
                    mass[now] += weight
                    charged[now] += weight * loss
        for now in range(min(CHUNK, rounds - first)):
            total += charged[now] / mass[now]
    return total


@compiled
def hedge_block(
    losses: Array, rounds: int, sizes: Array, logs: Array, eta: float, batch: int, played: int, seen: Array,
    weights: Array, masses: Array, total: Array,
) -> None:  # fmt: skip
    """Play a block, `played` rounds after the first one: draws are due every `batch` rounds.

    losses (rounds | 1, runs | 1, groups). Changed in place: seen (runs, groups), the losses so far; weights (runs,
    groups) and their sums masses (runs,), of the law in play; total (runs,), the expected loss.
    """
    alike, ones = len(losses) == 1, np.ones(len(sizes))
    for run in range(len(seen)):
        column = min(run, losses.shape[1] - 1)
        own, law = seen[run], weights[run]
        now = 0
        if alike and batch == 1:
            row, now = losses[0, column], rounds
            total[run] += _alike(row, rounds, sizes, logs, eta, own)
            for group in range(len(own)):
                own[group] += float(rounds) * row[group]
        while now < rounds:
            since = (played + now) % batch
            if since == 0:
                masses[run] = _weigh(sizes, logs, eta, own, law, ones)
            stop = min(rounds, now + batch - since)
            charged = 0.0
            if alike:
                row, times = losses[0, column], float(stop - now)
                charged = times * dot(law, row)
                for group in range(len(own)):
                    own[group] += times * row[group]
            else:
                for index in range(now, stop):
                    row = losses[index, column]
                    charged += dot(law, row)
                    for group in range(len(own)):
                        own[group] += row[group]
            total[run] += charged / masses[run]
            now = stop

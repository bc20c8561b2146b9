"""Compiled rounds of leaders on noisy sums."""

from typing import Any

import numpy as np

from dpregret.algorithms.experts.kernels import FAR, largest_of
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.elementary import exp_of
from dpregret.numerics.sums import dot


@compiled
def lead(
    losses: Array, member: Any, units: Array, scale: float, eta: float, seen: Array, last: Array, total: Array
) -> None:
    """Play some rounds: every round sees the noise of the one before.

    losses (rounds, runs | 1, groups), member (d,): the group of each expert. units (runs, at least rounds, d), times
    scale: noise. Changed in place: seen (runs, d), the losses so far; last (runs, d), noise of the last round; total
    (runs,), what is lost.
    """
    experts = len(member)
    lost, weights, ones = np.empty(experts), np.empty(experts), np.ones(experts)
    for run in range(len(seen)):
        own, noise, column = seen[run], last[run], min(run, losses.shape[1] - 1)
        for now in range(len(losses)):
            row, unit = losses[now, column], units[run, now]
            for expert in range(experts):
                lost[expert] = row[member[expert]]
            if np.isinf(eta):
                best = 0
                for expert in range(experts):
                    weights[expert] = own[expert] + noise[expert]
                    best = expert if weights[expert] < weights[best] else best
                total[run] += lost[best]
            else:
                for expert in range(experts):
                    weights[expert] = -eta * (own[expert] + noise[expert])
                largest = largest_of(weights)
                for expert in range(experts):
                    weights[expert] = exp_of(max(weights[expert] - largest, FAR))
                total[run] += dot(weights, lost) / dot(weights, ones)
            for expert in range(experts):
                own[expert] += lost[expert]
                noise[expert] = scale * unit[expert]

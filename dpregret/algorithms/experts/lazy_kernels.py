"""Compiled batches of L2P over multiplicative weights: expected losses and draws. `plain_play` of l2p.py defines it."""

from dpregret.algorithms.experts.kernels import FAR, largest_of
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.elementary import exp_of


@inlined
def _normalise(logs: Array, eta: float, seen: Array, law: Array) -> None:
    """Write P(group) ~ size exp(-eta * loss so far)."""
    for group in range(len(seen)):
        law[group] = logs[group] - eta * seen[group]
    largest, total = largest_of(law), 0.0
    for group in range(len(seen)):
        law[group] = exp_of(max(law[group] - largest, FAR))
        total += law[group]
    for group in range(len(seen)):
        law[group] /= total


@compiled
def lazy_block(
    losses: Array, rounds: int, logs: Array, eta: float, batch: int, keep: float, renew: float, played: int,
    horizon: int, seen: Array, lost: Array, law: Array, copy: Array, total: Array, draws: Array,
) -> None:  # fmt: skip
    """Play a block, `played` rounds after the first one; decisions are due every `batch` rounds, the last one is not.

    losses (rounds | 1, runs | 1, groups). keep: the chance to keep x is keep exp(-eta (lost by x - lost by y)), renew:
    that to draw y again. Changed in place: seen, lost (runs, groups), losses up to the batch and in it; law, copy
    (runs, groups), the laws of x and of y; total, draws (runs,), expected loss and number of draws of x.
    """
    alike = len(losses) == 1
    for run in range(len(seen)):
        column, now = min(run, losses.shape[1] - 1), 0
        while now < rounds:
            since = (played + now) % batch
            stop = min(rounds, now + batch - since)
            for index in range(now, now + 1 if alike else stop):
                times = float(stop - now) if alike else 1.0
                row, charged = losses[0 if alike else index, column], 0.0
                for group in range(len(row)):
                    charged += law[run, group] * row[group]
                    lost[run, group] += times * row[group]
                total[run] += times * charged
            now = stop
            if (played + now) % batch == 0 and played + now < horizon:
                stays, other = 0.0, 0.0
                for group in range(len(logs)):
                    stays += law[run, group] * exp_of(-eta * lost[run, group])
                    other += copy[run, group] * exp_of(eta * lost[run, group])
                    seen[run, group] += lost[run, group]
                    lost[run, group] = 0.0
                draws[run] += 1.0 - keep * stays * other
                _normalise(logs, eta, seen[run], law[run])
                for group in range(len(logs)):
                    copy[run, group] = (1.0 - renew) * copy[run, group] + renew * law[run, group]

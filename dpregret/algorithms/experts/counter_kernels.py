"""The first noisy count above a threshold."""

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled


@compiled
def first_above(
    count: float, losses: Array, rounds: int, unasked: int, noise: Array, threshold: float
) -> tuple[int, float]:
    """The first of some rounds whose noisy count, of the losses before it, is above the threshold; and the last count.

    losses: (rounds,), or (1,) where all are alike; count: before the first of them. The first `unasked` rounds have no
    count; noise (rounds - unasked,). -1: there is none.
    """
    lost = 0.0
    for now in range(rounds):
        if now >= unasked and count + lost + noise[now - unasked] > threshold:
            return now, count + lost
        lost += losses[0] if len(losses) == 1 else losses[now]
    return -1, count + lost

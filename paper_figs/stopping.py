"""When there are enough runs: batches that double their number, until the means of all cells are known well enough.

The rule alone; workflows/precision.py applies it to the rows of a job, stopping_coverage.py simulates it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpregret.core.arrays import Array


def batches(least: int, most: int) -> Iterator[range]:
    """Numbers of the runs of batch after batch: `least`, then each time as many as all before, `most` in all.

    Which numbers of runs there can be does not depend on what is measured, so that a play that asks for less stops on
    the way of one that asks for more.
    """
    done = 0
    while done < most:
        after = min(most, 2 * done or least)
        yield range(done, after)
        done = after


def enough(means: Array, spreads: Array, runs: int, error: float) -> bool:
    """Whether s / sqrt(runs) <= error |mean| in every cell, s the standard deviation of the response over runs.

    means, spreads: (cells,). A response that is equal in all runs needs no more of them, even if it is zero.
    """
    return bool((spreads <= error * runs**0.5 * abs(means)).all())

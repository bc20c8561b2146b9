"""When there are enough runs: batches that double their number, until the means of all cells are known well enough.

The rule alone; workflows/precision.py applies it to the rows of a job, stopping_coverage.py simulates it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpregret.core.arrays import Array

NDArrayBool = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


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
    """Whether the standard error s / sqrt(runs) is at most error |mean| in every cell, with what few runs do not tell.

    That is: half a 95 % t interval is at most 1.96 error |mean|, s the standard deviation of the response over runs.
    means, spreads: (cells,). A response that is equal in all runs needs no more of them, even if it is zero.
    """
    return bool(precise(means, spreads, runs, error).all())


def precise(means: Array, spreads: Array, runs: int, error: float) -> NDArrayBool:
    """The same, cell by cell, for arrays of any shape."""
    found: NDArrayBool = caution(runs) * spreads <= error * runs**0.5 * abs(means)
    return found


def caution(runs: int) -> float:
    """The t quantile of a 95 % interval over the normal one: 1.2 at 8 runs, 1.09 at 16, 1.01 at 128."""
    from scipy.special import ndtri, stdtrit  # slow to import, and whoever reads a configuration asks for batches

    return float(stdtrit(runs - 1, 0.975) / ndtri(0.975))

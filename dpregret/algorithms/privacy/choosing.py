"""The compiled choice of a group of candidates."""

import numpy as np

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.elementary import log_of


@compiled
def best_group(sizes: Array, scores: Array, scale: float, spent: Array) -> int:
    """The first group of largest ln size - score / scale - ln spent; scale 0: among those of smallest score.

    sizes, scores, spent: (groups,); spent: unit exponential variates, whose - ln are Gumbel noise.
    """
    smallest = scores[0]
    for group in range(1, len(scores)):
        smallest = min(smallest, scores[group])
    chosen, best = 0, -np.inf
    for group in range(len(sizes)):
        behind = scores[group] - smallest
        if scale == 0.0 and behind > 0.0:
            continue
        logit = log_of(sizes[group]) - (behind / scale if scale != 0.0 else 0.0) - log_of(spent[group])
        if logit > best:
            chosen, best = group, logit
    return chosen

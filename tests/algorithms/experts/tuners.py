"""Does a tuner of batched lazy learners skip only what cannot win?"""

import itertools
import math

import numpy as np

from dpregret.algorithms.experts.batched_dartboard import tuned
from dpregret.algorithms.experts.shrinking_dartboard import Tuning


def check_that_nothing_better_is_affordable(kind: type[Tuning], horizon: int, epsilon: float, chances: int) -> None:
    """Against all batches, so many probabilities of a fake switch and a grid of eta."""
    found = tuned(horizon, 100, epsilon, 1e-6, kind)
    assert found is not None
    assert not found.too_dear(horizon, epsilon, 1e-6)
    least = found.guarantee(horizon, 100)
    for k, p in itertools.product(range(horizon.bit_length()), np.logspace(-6, 0, chances)):
        best = math.sqrt(8 * math.log(100) / (horizon << k))
        tried = [kind(2**k, float(p), best * share) for share in (1.0, 0.5, 0.2, 0.05)]
        better = [each for each in tried if each.guarantee(horizon, 100) < least * (1 - 1e-8)]
        assert all(each.too_dear(horizon, epsilon, 1e-6) for each in better)

"""A loss and a stream: the smooth hinge, with ridge, on the records of this study.

f(x) = h(y <v, x>) + (mu/2) |x|^2, where h(m) = 1/2 - m below 0, (1 - m)^2 / 2 up to 1, and 0 above 1. |h'| <= 1 and
h'' <= 1; the rows v of the records have norm at most 1.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpregret.core.losses import PerRun, PerRunNumber, loss
from dpregret.core.oracles import inner, slope_at
from dpregret.datasets.bundled import load
from dpregret.datasets.pool_streams import PoolStream


@loss
class SmoothHinge(NamedTuple):
    """One round. Fields of a run come first; then the numbers that all runs share."""

    features: PerRun
    labels: PerRunNumber
    strong_convexity: float

    # h as the search for the best point needs it: NumPy, on whole arrays
    @staticmethod
    def loss(scores, labels):
        """h of the margins."""
        short = np.clip(1.0 - labels * scores, 0.0, None)
        return np.where(short < 1.0, 0.5 * short**2, short - 0.5)

    @staticmethod
    def slope(scores, labels):
        """Its derivative in the score."""
        return -labels * np.clip(1.0 - labels * scores, 0.0, 1.0)

    @staticmethod
    def bend():
        """Upper bound on h''."""
        return 1.0

    @staticmethod
    def steepest(largest_score):
        """Upper bound on |h'| for scores up to `reach`."""
        return 1.0


@slope_at.add
def _slope_at_smooth_hinge(loss: SmoothHinge, x, gradient, value, scratch):
    """f and its gradient at the columns of x (d, runs): plain loops, which are compiled."""
    inner(x, x, value, scratch)
    inner(x, loss.features, scratch[8], scratch)
    for r in range(x.shape[1]):
        label = loss.labels[0, r]
        short = max(1.0 - label * scratch[8, r], 0.0)
        ridge = 0.5 * loss.strong_convexity * value[r]
        value[r] = (0.5 * short * short if short < 1.0 else short - 0.5) + ridge
        scratch[8, r] = -label * min(short, 1.0)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = scratch[8, r] * loss.features[k, r] + loss.strong_convexity * x[k, r]


class MyHinge(PoolStream):
    """The records of a data set of data.yaml, the option `source`, in a fresh order each pass."""

    name = "my-hinge"
    title = "smooth hinge of my records"
    real = True

    def __init__(self, domain, strong_convexity, source: str, data_dir):
        super().__init__(domain, strong_convexity, load(source, Path(data_dir)), SmoothHinge)

"""From the times of plays that took turns to a verdict: ratios, and how far they go astray by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpregret.numerics.arrays import Array

ALLOWED = 0.05
"""Change in log time that is never held against anyone: what a moved function or a fuller cache can do."""
ERRORS = 3.0
MEDIAN = 1.2533  # standard deviation of a median over that of a mean, Gaussian
SPREAD = 1.4826  # Gaussian standard deviation over the median distance from the median


@dataclass(frozen=True)
class Verdict:
    """ratio: time of head over that of base, the median over blocks. band: the factor that chance explains."""

    ratio: float
    band: float

    @property
    def word(self) -> str:
        """What the two numbers say."""
        return "slower" if self.ratio > self.band else "faster" if self.ratio < 1 / self.band else "same"


def judge(base: Sequence[float], again: Sequence[float], head: Sequence[float]) -> Verdict:
    """Compare the times of one play, one a block and process; `again` is a second process of the base.

    band = exp(ALLOWED + ERRORS standard errors of a median + |median log(again/base)|): the spread between blocks and
    the offset between processes are those of the two that run the same code.
    Raises ValueError for fewer than three blocks, or times that are not positive.
    """
    times = np.array([base, again, head], dtype=float)
    if times.shape[1] < 3 or not (times > 0).all():
        raise ValueError(f"at least three positive times each are needed, got {times.tolist()}")
    first, second, other = np.log(times)
    alike: Array = second - first
    offset = float(np.median(alike))
    error = MEDIAN * SPREAD * float(np.median(np.abs(alike - offset))) / np.sqrt(len(alike))
    ratio = float(np.median(other - (first + second) / 2))
    return Verdict(float(np.exp(ratio)), float(np.exp(ALLOWED + ERRORS * error + abs(offset))))

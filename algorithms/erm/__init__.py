"""Private empirical risk minimisation: Talwar, Thakurta & Zhang 2015 and what it is compared with."""

import sys
from functools import cache

from dpregret.algorithms.catalogue import collect
from dpregret.algorithms.erm.base import ErmLearner


@cache
def catalogue() -> dict[str, type[ErmLearner]]:
    """All learners of this folder by their card's name."""
    learners: dict[str, type[ErmLearner]] = collect(sys.modules[__name__], ErmLearner)
    return learners

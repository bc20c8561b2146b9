"""Constrained online convex optimisation: Lou & Cheung 2020 and what it is compared with."""

import sys
from functools import cache

from dpregret.algorithms.catalogue import collect
from dpregret.algorithms.learner import Learner


@cache
def catalogue() -> dict[str, type[Learner]]:
    """All learners of this folder by their card's name."""
    learners: dict[str, type[Learner]] = collect(sys.modules[__name__], Learner)
    return learners

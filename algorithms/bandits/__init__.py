"""Bandit convex optimisation: Ene, Nguyen & Vladu 2021 and what it is compared with."""

import sys
from functools import cache

from dpregret.algorithms.bandits.base import BanditLearner
from dpregret.algorithms.catalogue import collect


@cache
def catalogue() -> dict[str, type[BanditLearner]]:
    """All learners of this folder by their card's name."""
    learners: dict[str, type[BanditLearner]] = collect(sys.modules[__name__], BanditLearner)
    return learners

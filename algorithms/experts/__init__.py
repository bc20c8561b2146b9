"""Prediction with expert advice: Asi, Feldman, Koren & Talwar 2023 and what it is compared with."""

import sys
from functools import cache

from dpregret.algorithms.catalogue import collect
from dpregret.algorithms.experts.base import ExpertLearner


@cache
def catalogue() -> dict[str, type[ExpertLearner]]:
    """All learners of this folder by their card's name."""
    learners: dict[str, type[ExpertLearner]] = collect(sys.modules[__name__], ExpertLearner)
    return learners

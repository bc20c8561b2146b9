"""Discovery of learners: a new file in a folder of learners is picked up by itself."""

from functools import cache

from dpregret.algorithms.learner import BaseLearner
from dpregret.core.discovery import discover


@cache
def learners(family: str) -> dict[str, type[BaseLearner]]:
    """All learners of the folder algorithms/<family> by their card's name."""
    return discover(f"dpregret.algorithms.{family}", BaseLearner, "card")

"""Constrained online convex optimisation: Lou & Cheung 2020 and what it is compared with."""

import importlib
import pkgutil
from functools import cache

from dpregret.algorithms.learner import Learner


@cache
def catalogue() -> dict[str, type[Learner]]:
    """All learners of this folder by their card's name: a new file is picked up by itself.

    Raises ValueError when two learners share a name.
    """
    found: dict[str, type[Learner]] = {}
    for module in pkgutil.iter_modules(__path__):
        for item in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if not (isinstance(item, type) and issubclass(item, Learner) and "card" in vars(item)):
                continue
            if found.setdefault(item.card.name, item) is not item:
                raise ValueError(f"two learners are named {item.card.name}")
    return dict(sorted(found.items()))

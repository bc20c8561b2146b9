"""A learner's own bound at a setting that no experiment has: the learner is made as a job would make it."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd

from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Draws
from dpregret.workflows.families.fields import Experiment
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.facts import family_of
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.paper_names import PROFILES

MOST_NUMBERS: Final = 2**24
"""Rounds (or numbers of a data set) beyond which nothing is made for the sake of a bound."""


class Wanted(Protocol):
    """The part of a request that decides a bound."""

    @property
    def rounds(self) -> int:
        """T, or the number of records."""

    @property
    def dimension(self) -> int:
        """d."""

    @property
    def epsilon(self) -> float:
        """Of the budget."""

    @property
    def delta(self) -> float:
        """Of the budget; 0 for pure privacy."""


class Bounds:
    """Makes learners on the problems of the profile `full`, whose experiments say with what options."""

    def __init__(self, data_dir: Path | None = None):
        self.data_dir = data_dir

    @cached_property
    def config(self) -> Config:
        """The profile `full`, unchecked."""
        return load_config(PROFILES / "full.yaml", check=False)

    def of(self, cell: pd.Series, learner: str, variant: str, wanted: Wanted, window: int) -> float | None:
        """The bound on the stream and set of a measured cell; None where it is unknown or too large to be made.

        window 0: the whole sequence. Raises ValueError where the learner refuses the setting.
        """
        family = FAMILIES[family_of(str(cell["feedback"]))]
        numbers = wanted.rounds * (wanted.dimension if family.name == "erm" else 1)
        found = self._experiment(cell, family.name)
        if found is None or max(numbers, wanted.dimension) > MOST_NUMBERS:
            return None
        asked = found.model_copy(update=_changes(found, cell, wanted, window))
        learner_class, draws = family.learners[learner], Draws(self.config.seed, 2, self.data_dir)
        play = next(iter(family.cells(asked, learner_class.card)))
        try:
            problem = family.problem(play, asked, draws)
        except (ValueError, OSError):  # a stream that has no such size, or data that are not there
            return None
        made: Any = family.learner(learner_class, problem, play, asked, variant)
        value = made.bound(wanted.rounds)[:, -1] if family.anytime else made.bound()
        bound = float(np.asarray(value, dtype=float)[0])
        return bound if math.isfinite(bound) else None

    def _experiment(self, cell: pd.Series, family: str) -> Experiment | None:
        """One on the cell's stream and set, if possible with a list of options that has the cell's."""
        names = set(_options(cell))
        every = [each for settings in self.config.papers.values() for each in settings.experiments.values()]
        found = [
            each for each in every
            if each.family == family and cell["stream"] in each.streams and cell["set"] in getattr(each, "sets", ())
        ]  # fmt: skip
        return max(found, key=lambda each: len(names & {*each.options, *type(each).model_fields}), default=None)


def _options(cell: pd.Series) -> dict[str, float | str]:
    """Of a cell, by name."""
    pairs = (word.partition("=") for word in str(cell["options"]).split())
    return {name: _number(value) for name, _, value in pairs}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _changes(found: Any, cell: pd.Series, wanted: Wanted, window: int) -> dict[str, Any]:
    """Fields of an experiment that make it one of the wanted setting alone."""
    fields, options = type(found).model_fields, _options(cell)
    changed: dict[str, Any] = {
        "horizon": (wanted.rounds,), "dimension": (wanted.dimension,), "epsilon": (wanted.epsilon,),
        "streams": (str(cell["stream"]),), "runs": 2, "delta": wanted.delta or found.deltas[0],
        "window": (window or "horizon",), "sets": (str(cell["set"]),), "dimension_growth": None,
        "strong_convexity": options.pop("strong_convexity", None), "best_loss": (options.pop("best_loss", None),),
    }  # fmt: skip
    changed = {name: value for name, value in changed.items() if name in fields and value not in (None, (None,))}
    for name in ("options", "set_options"):
        if name in fields:
            changed[name] = {key: options.get(key, value) for key, value in getattr(found, name).items()}
    return changed

"""The size of a configuration, before any of it is computed: rounds, cells, memory, hours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Final

from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.fields import Experiment, ExperimentOnSets, Mistake
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.limits import GIGABYTE, Limits

NUMBERS_A_SECOND: Final = 1e9  # that a learner moves at most
ROW_BYTES: Final = 240  # of a table of runs
CURVES: Final = 4  # of one number a round and setting, that a play recorded on the way holds


def size_problems(config: Config, limits: Limits) -> Iterator[Mistake]:
    """Everything that is too large, found without computing any of it."""
    amounts: list[tuple[KeyPath, str, float]] = []
    if config.audit is not None:
        amounts += [
            (("audit", "runs"), "runs", config.audit.runs),
            (("audit", "repeats"), "runs", config.audit.repeats),
        ]
    if config.validation is not None:
        amounts.append((("validation", "simulations"), "runs", config.validation.simulations))
    for paper, settings in config.papers.items():
        for name, dimensions in settings.oracle_costs.items():
            amounts += [
                (("papers", paper, "oracle_costs", name, index), "dimension", each)
                for index, each in enumerate(dimensions)
            ]
        for name, experiment in settings.experiments.items():
            found = list(_amounts(experiment, limits))
            amounts += [(("papers", paper, "experiments", name, *path), kind, each) for path, kind, each in found]
    for path, kind, value in amounts:
        if said := limits.beyond(kind, value):
            yield path, said


def _amounts(experiment: Experiment, limits: Limits) -> Iterator[tuple[KeyPath, str, float]]:
    """(key, limit, value): the values of an experiment, then what they multiply to, unless one is too large already."""
    own: list[tuple[KeyPath, str, float]] = [
        ((experiment.key("horizon"), index), "rounds", each) for index, each in enumerate(experiment.horizon)
    ]
    own.append((("runs",), "runs", experiment.runs))
    for index, each in enumerate(experiment.epsilon):
        if math.isfinite(each):
            own.append((("epsilon", index), "epsilon", max(each, 1 / each)))
    cells, settings = _cells(experiment)
    own.append(((), "cells", cells * settings))
    if not any(limits.beyond(kind, value) for _, kind, value in own):
        own += [(path, "dimension", dimension) for path, _, dimension in experiment.places()]
    yield from own
    if not any(limits.beyond(kind, value) for _, kind, value in own):
        yield from _products(experiment, cells, settings)


def _cells(experiment: Experiment) -> tuple[int, int]:
    """How many plays an experiment has, and how many privacy settings each of them."""
    window = getattr(experiment, "window", None) or (None,)
    lists = [experiment.streams, experiment.horizon, getattr(experiment, "best_loss", None) or (None,)]
    curvature = getattr(experiment, "strong_convexity", None)
    lists.append(curvature if isinstance(curvature, tuple) else (None,))
    lists += [each if isinstance(each, tuple) else (None,) for each in experiment.all_options()]
    places = len({(name, dimension) for _, name, dimension in _some(experiment)}) if isinstance(
        experiment, ExperimentOnSets) else len(getattr(experiment, "dimension", (None,)))  # fmt: skip
    return math.prod(map(len, lists)) * max(1, places), len(experiment.epsilon) * len(experiment.deltas) * len(window)


def _some(experiment: Experiment) -> Iterator[tuple[KeyPath, str, int]]:
    return itertools.islice(experiment.places(), 10**5)


def _products(experiment: Experiment, cells: int, settings: int) -> Iterator[tuple[KeyPath, str, float]]:
    longest, dimensions = max(experiment.horizon), [dimension for _, _, dimension in experiment.places()] or [1]
    anytime = FAMILIES[experiment.family].anytime
    state = 8.0 * settings * experiment.runs * max(dimensions)
    curves = 8.0 * CURVES * (settings + 1) * longest * anytime
    checkpoints = math.log2(longest) + 1 if anytime else 1.0
    played = float(cells * settings) * experiment.runs
    yield (), "memory_gb", (state + curves + ROW_BYTES * played * checkpoints) / GIGABYTE
    numbers = played * longest * (sum(dimensions) / len(dimensions))
    yield (), "hours", numbers / NUMBERS_A_SECOND / 3600

"""What a well-formed experiment with bandit feedback can still get wrong."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpregret.core.errors import not_allowed, one_line
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.registry import Registry

if TYPE_CHECKING:
    from dpregret.workflows.experiments import BanditExperiment

Problem = tuple[KeyPath, str]


def bandit_problems(experiment: BanditExperiment, registry: Registry) -> Iterator[Problem]:
    """Yield (key path, message): names first; where these are right, whatever a set, stream or learner refuses."""
    named = [*_names(experiment, registry)]
    yield from named
    if not named:
        yield from dict.fromkeys(_refusals(experiment, registry))


def _names(experiment: BanditExperiment, registry: Registry) -> Iterator[Problem]:
    for position, name in enumerate(experiment.sets):
        if name not in registry.sets:
            yield ("set", position), not_allowed("set", name, registry.sets)
    for position, name in enumerate(experiment.streams):
        if name not in registry.bandit_streams:
            yield ("streams", position), not_allowed("stream of bandit losses", name, registry.bandit_streams)
    for learner, variants in experiment.learners.items():
        if learner not in registry.bandit_learners:
            yield ("learners", learner), not_allowed("bandit learner", learner, registry.bandit_learners)
            continue
        for position, variant in enumerate(variants):
            allowed = registry.bandit_learners[learner].variants
            if variant not in allowed:
                yield ("learners", learner, position), not_allowed("variant", variant, allowed)
    if isinstance(experiment.dimension, dict):
        for name in experiment.sets:
            if name not in experiment.dimension:
                yield ("dimension",), f"has no dimensions for the set {name!r}"


def _refusals(experiment: BanditExperiment, registry: Registry) -> Iterator[Problem]:
    """Build every set, stream and learner at every horizon, before any work starts."""
    for set_name, stream in itertools.product(experiment.sets, experiment.streams):
        for position, dimension in enumerate(experiment.dimensions(set_name)):
            named = isinstance(experiment.dimension, dict)
            where: KeyPath = ("dimension", set_name, position) if named else ("dimension", position)
            try:
                registry.try_set(set_name, dimension)
            except ValueError as error:
                yield where, f"the set {set_name!r} refuses {dimension}: {one_line(error)}"
                continue
            for place, horizon in enumerate(experiment.horizon):
                try:
                    problem = registry.try_bandit_stream(stream, set_name, dimension, horizon, experiment.options)
                except (ValueError, TypeError) as error:
                    yield ("streams",), one_line(error)
                    break
                for learner, variants in experiment.learners.items():
                    for variant in variants:
                        try:
                            registry.try_bandit_learner(
                                problem, learner, variant, experiment.epsilon, experiment.delta, experiment.runs
                            )
                        except ValueError as error:
                            yield ("horizon", place), one_line(error)

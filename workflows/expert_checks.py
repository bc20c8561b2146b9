"""What a well-formed experiment with expert advice can still get wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpregret.core.errors import not_allowed, one_line
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.registry import Registry

if TYPE_CHECKING:
    from dpregret.workflows.experiments import ExpertExperiment

Problem = tuple[KeyPath, str]


def expert_problems(experiment: ExpertExperiment, registry: Registry) -> Iterator[Problem]:
    """Yield (key path, message): names first; where these are right, whatever a stream or a learner refuses."""
    named = [*_names(experiment, registry)]
    yield from named
    if not named:
        told: set[Problem] = set()
        for path, where, refusal in _refusals(experiment, registry):
            if (path, refusal) not in told:  # once, at the first cell, not once a cell
                told.add((path, refusal))
                yield path, f"{where}: {refusal}"


def _names(experiment: ExpertExperiment, registry: Registry) -> Iterator[Problem]:
    for position, name in enumerate(experiment.streams):
        if name not in registry.expert_streams:
            yield ("streams", position), not_allowed("stream of experts", name, registry.expert_streams)
    for learner, variants in experiment.learners.items():
        if learner not in registry.expert_learners:
            yield ("learners", learner), not_allowed("learner of experts", learner, registry.expert_learners)
            continue
        for position, variant in enumerate(variants):
            allowed = registry.expert_learners[learner].variants
            if variant not in allowed:
                yield ("learners", learner, position), not_allowed("variant", variant, allowed)


def _refusals(experiment: ExpertExperiment, registry: Registry) -> Iterator[tuple[KeyPath, str, str]]:
    """Build every stream and every learner of every cell, before any work starts: (key path, cell, refusal)."""
    choices = [
        [(name, value) for value in (values if isinstance(values, tuple) else (values,))]
        for name, values in experiment.options.items()
    ]
    grid = itertools.product(experiment.streams, enumerate(experiment.dimension), experiment.horizon)
    for stream, (place, experts), horizon in grid:
        for best_loss, epsilon in itertools.product(experiment.best_loss or (None,), experiment.epsilon):
            for options in itertools.product(*choices):
                where = f"on {stream!r}, {experts} experts, T = {horizon}, epsilon = {epsilon:g}"
                try:
                    problem = registry.try_expert_stream(stream, experts, horizon, epsilon, best_loss, dict(options))
                except (ValueError, TypeError) as error:
                    yield _key_of(error, place), where, one_line(error)
                    continue
                for learner, variants in experiment.learners.items():
                    for position, variant in enumerate(variants):
                        try:
                            if not registry.expert_learners[learner].private:  # plays against no epsilon at all
                                registry.try_expert_stream(stream, experts, horizon, math.inf, best_loss, dict(options))
                            registry.try_expert_learner(
                                problem, learner, variant, epsilon, experiment.delta, experiment.runs
                            )
                        except ValueError as error:
                            yield ("learners", learner, position), where, one_line(error)


def _key_of(error: Exception, place: int) -> KeyPath:
    """The key that a stream's refusal is about: its message begins with the name of the argument."""
    first = str(error).split(maxsplit=1)[0].rstrip(":")
    return {"experts": ("experts", place), "best_loss": ("best_loss",), "horizon": ("horizon",)}.get(
        first, ("options",)
    )

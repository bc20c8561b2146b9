"""What a well-formed experiment of empirical risk minimisation can still get wrong."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpregret.core.errors import not_allowed, one_line
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.registry import Registry

if TYPE_CHECKING:
    from dpregret.workflows.experiments import ErmExperiment

Problem = tuple[KeyPath, str]
LARGEST_DIMENSION = 2**17  # points of all runs must fit into memory


def erm_problems(experiment: ErmExperiment, registry: Registry) -> Iterator[Problem]:
    """Yield (key path, message): names first; where these are right, whatever a set, risk or learner refuses."""
    named = [*_names(experiment, registry)]
    yield from named
    if not named:
        yield from _refusals(experiment, registry)


def _names(experiment: ErmExperiment, registry: Registry) -> Iterator[Problem]:
    for key, names, known in (
        ("set", experiment.sets, registry.sets),
        ("risks", experiment.streams, registry.risks),
        ("learners", tuple(experiment.learners), registry.erm_learners),
    ):
        for position, name in enumerate(names):
            if name not in known:
                yield (key, name if key == "learners" else position), not_allowed(key.rstrip("s"), name, known)
    for learner, variants in experiment.learners.items():
        allowed = registry.erm_learners[learner].variants if learner in registry.erm_learners else variants
        for position, variant in enumerate(variants):
            if variant not in allowed:
                yield ("learners", learner, position), not_allowed("variant", variant, allowed)
    if isinstance(experiment.dimension, dict):
        for name in experiment.sets:
            if name not in experiment.dimension:
                yield ("dimension",), f"has no dimensions for the set {name!r}"


def _refusals(experiment: ErmExperiment, registry: Registry) -> Iterator[Problem]:
    """Build the smallest problem of every set and risk, and every learner on it, before any work starts."""
    samples = min(experiment.horizon)
    options = {name: value[0] if isinstance(value, tuple) else value for name, value in experiment.options.items()}
    for set_name, risk in itertools.product(experiment.sets, experiment.streams):
        dimension = min(experiment.dimensions(set_name, samples))
        largest = max(max(experiment.dimensions(set_name, each)) for each in experiment.horizon)
        if largest > LARGEST_DIMENSION:
            yield ("dimension",), f"{largest} is more than {LARGEST_DIMENSION}"
            return
        try:
            problem = registry.try_risk(set_name, risk, dimension, samples, options)
        except (ValueError, TypeError) as error:
            key = "options" if "option" in str(error) or isinstance(error, TypeError) else "risks"
            yield (key,), f"{risk!r} on the set {set_name!r}, dimension {dimension}, n = {samples}: {one_line(error)}"
            continue
        if problem is None:  # data of a file: only the job can tell
            continue
        for learner, variants in experiment.learners.items():
            for position, variant in enumerate(variants):
                where = f"on {risk!r}, set {set_name!r}, n = {samples}"
                try:
                    wanted = registry.try_erm_learner(
                        problem, learner, variant, min(experiment.epsilon), experiment.delta
                    )
                except ValueError as error:
                    yield ("learners", learner, position), f"{where}: {one_line(error)}"
                    continue
                if wanted is not None and wanted < 1:
                    message = f"{where}: n is too small, the number of iterations would be {wanted:.2g} < 1"
                    yield ("learners", learner, position), message

"""What a well-formed configuration can still get wrong: names, combinations, and sweeps too short for a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpregret.core.errors import not_allowed, one_line
from dpregret.core.yaml_source import KeyPath
from dpregret.paper_figs.runs import OPTIONS
from dpregret.workflows.bandit_checks import bandit_problems
from dpregret.workflows.erm_checks import erm_problems
from dpregret.workflows.expert_checks import expert_problems
from dpregret.workflows.registry import Registry

if TYPE_CHECKING:
    from dpregret.workflows.config import Config
    from dpregret.workflows.experiments import AnyExperiment, Experiment, ExpertExperiment

Problem = tuple[KeyPath, str]
CELLS_FOR_A_FIT = 4
TRAITS = ("smooth", "quadratic", "strongly-convex", "best-loss", "quadratic-sums")
"""What a learner may need of its losses."""


def semantic_problems(config: Config, registry: Registry) -> Iterator[Problem]:
    """Yield (key path, message) for everything that the models alone cannot see."""
    for paper, settings in config.papers.items():
        for path, message in _oracle_costs(settings.oracle_costs, registry):
            yield ("papers", paper, "oracle_costs", *path), message
        for name, experiment in settings.experiments.items():
            where: KeyPath = ("papers", paper, "experiments", name)
            for check in CHECKS[experiment.family]:
                for path, message in check(experiment, registry):
                    yield (*where, *path), message
            if not config.allow_few_cells:
                for path, message in _cells(experiment):
                    yield (*where, *path), message


def _oracle_costs(oracle_costs: Mapping[str, Sequence[int]], registry: Registry) -> Iterator[Problem]:
    for name, dimensions in oracle_costs.items():
        if name not in registry.sets:
            yield (name,), not_allowed("set", name, registry.sets)
            continue
        for position, dimension in enumerate(dimensions):
            try:
                registry.try_set(name, dimension)
            except ValueError as error:
                yield (name, position), f"the set {name!r} refuses {dimension}: {one_line(error)}"


def _names(experiment: Experiment, registry: Registry) -> Iterator[Problem]:
    for position, name in enumerate(experiment.sets):
        if name not in registry.sets:
            yield ("set", position), not_allowed("set", name, registry.sets)
    for position, name in enumerate(experiment.streams):
        if name not in registry.streams:
            yield ("streams", position), not_allowed("stream", name, registry.streams)
    for learner, variants in experiment.learners.items():
        if learner not in registry.learners:
            yield ("learners", learner), not_allowed("learner", learner, registry.learners)
            continue
        for position, variant in enumerate(variants):
            if variant not in registry.learners[learner].variants:
                message = not_allowed("variant", variant, registry.learners[learner].variants)
                yield ("learners", learner, position), message


def _dimensions(experiment: Experiment, registry: Registry) -> Iterator[Problem]:
    if not isinstance(experiment.dimension, dict):
        return
    for name in experiment.dimension:
        if name not in experiment.sets:
            yield ("dimension", name), not_allowed("set of this experiment", name, experiment.sets)
    for name in experiment.sets:
        if name not in experiment.dimension:
            yield ("dimension",), f"has no dimensions for the set {name!r}"


def _values(experiment: Experiment, registry: Registry) -> Iterator[Problem]:
    """Find dimensions and options that a set or a stream refuses; names that do not exist are reported elsewhere."""
    for set_name in (name for name in experiment.sets if name in registry.sets):
        named = isinstance(experiment.dimension, dict)
        if named and set_name not in experiment.dimension:
            continue
        for position, dimension in enumerate(experiment.dimensions(set_name)):
            where: KeyPath = ("dimension", set_name, position) if named else ("dimension", position)
            try:
                registry.try_set(set_name, dimension)
            except ValueError as error:
                yield where, f"the set {set_name!r} refuses {dimension}: {one_line(error)}"
                continue
            for stream in (name for name in experiment.streams if name in registry.streams):
                needed = registry.streams[stream].dimension
                if needed not in (None, dimension):
                    yield (
                        where,
                        f"the stream {stream!r} has {needed} features: give dimension [{needed}], not {dimension}",
                    )
                    continue
                try:
                    registry.try_stream(stream, set_name, dimension, experiment.strong_convexity, experiment.options)
                except (ValueError, TypeError) as error:
                    yield ("options",), f"the stream {stream!r} refuses: {one_line(error)}"


def _windows(experiment: Experiment, registry: Registry) -> Iterator[Problem]:
    longest = max(experiment.horizon)
    for position, window in enumerate(experiment.window):
        if isinstance(window, int) and window > longest:
            yield (
                ("window", position),
                f"{window} is larger than the largest horizon, {longest} (for W = T write horizon)",
            )


def _sweep(experiment: Experiment | ExpertExperiment, registry: Registry) -> Iterator[Problem]:
    several = {"set": experiment.sets, "stream": experiment.streams}
    if len(several.get(experiment.sweep, "ab")) < 2:
        key = {"set": "set", "stream": "streams"}[experiment.sweep]
        yield (key,), f"a sweep over {key} needs at least two of them"


def _options(experiment: ExpertExperiment, registry: Registry) -> Iterator[Problem]:
    """Find options that vary but tell no rows apart, and a sweep over options of which none varies."""
    varied = [name for name, values in experiment.options.items() if isinstance(values, tuple)]
    for name in varied:
        if name not in OPTIONS:
            yield ("options", name), f"may not be a list: options that may are {', '.join(OPTIONS)}"
    if experiment.sweep == "option" and not varied:
        yield ("options",), "a sweep over an option needs a list of its values"


def _cells(experiment: AnyExperiment) -> Iterator[Problem]:
    cells: dict[KeyPath, int] = {}
    if experiment.sweep in ("horizon", "samples"):
        cells = {(experiment.sweep,): len(experiment.horizon)}
    elif experiment.sweep == "experts":
        cells = {("experts",): len(experiment.dimension)}
    elif experiment.sweep == "best-loss":
        cells = {("best_loss",): len(experiment.best_loss or ())}
    elif experiment.sweep == "epsilon":
        cells = {("epsilon",): len(experiment.epsilon)}
    elif experiment.sweep == "window":
        cells = {("window",): sum(isinstance(window, int) for window in experiment.window)}
    elif experiment.sweep == "dimension" and isinstance(experiment.dimension, dict):
        cells = {("dimension", name): len(values) for name, values in experiment.dimension.items()}
    elif experiment.sweep == "dimension" and experiment.dimension is not None:
        cells = {("dimension",): len(experiment.dimension)}
    for path, count in cells.items():
        if count < CELLS_FOR_A_FIT:
            yield (
                path,
                f"too few cells for a fit: {count}, at least {CELLS_FOR_A_FIT} are needed "
                "(or allow_few_cells: true at the top)",
            )


def _combinations(experiment: Experiment, registry: Registry) -> Iterator[Problem]:
    for learner in experiment.learners:
        entry = registry.learners.get(learner)
        needs = entry.needs if entry else frozenset()
        for name in experiment.sets:
            if "local-oracle" in needs and registry.sets.get(name) is False:
                able = sorted(each for each, has_oracle in registry.sets.items() if has_oracle)
                yield (
                    ("learners", learner),
                    f"needs a local linear optimisation oracle, which the set {name!r} "
                    f"has not; sets that have one: {', '.join(able)}",
                )
        for name in experiment.streams:
            stream = registry.streams.get(name)
            for need in TRAITS:
                trait = need.replace("-", "_")
                if stream is not None and need in needs and not getattr(stream, trait):
                    able = sorted(each for each, traits in registry.streams.items() if getattr(traits, trait))
                    yield (
                        ("learners", learner),
                        f"needs {need} losses, which the stream {name!r} has not; "
                        f"streams that have them: {', '.join(able)}",
                    )


CHECKS: Mapping[str, Sequence[Callable[[Any, Registry], Iterator[Problem]]]] = {
    "online": (_names, _dimensions, _values, _windows, _sweep, _combinations),
    "erm": (erm_problems,),
    "experts": (expert_problems, _sweep, _options),
    "bandits": (bandit_problems,),
}
"""Kind of experiment -> what is checked of it."""

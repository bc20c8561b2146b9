"""Mistakes of a well-formed configuration: names, combinations, sizes, and sweeps too short for a fit.

Names first; where these are right, the problems and learners of every experiment are built as its jobs build them. The
size of a configuration, in rounds, cells, memory and hours, is known before any of it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

from dpregret.core.errors import not_allowed, one_line, raised
from dpregret.core.machine import GIGABYTE, TooMuch, bounded_memory, bounded_time, lifted_by, machine_gb
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import Draws, Experiment, ExperimentOnSets, Family, Mistake, as_tuple
from dpregret.workflows.plan.config import Config, Limits

CELLS_FOR_A_FIT = 4
TRIAL_DIMENSION = 12  # every kind of set has a member of this dimension
NUMBERS_A_SECOND: Final = 1e9  # that a learner moves at most
PLAY_SECONDS, CELL_SECONDS = 1.25, 0.07  # of a play and of each of its cells: medians of the 71 jobs of full
ROW_BYTES: Final = 240  # of a table of runs
CURVES: Final = 4  # of one number a round and setting, that a play recorded on the way holds
STEEPEST: Final = 1e100  # strong convexity, which bounds square


def semantic_problems(
    config: Config, unplayed: Callable[[Config, str, str], Collection[str]], on_progress: Callable[[str], None]
) -> Iterator[Mistake]:
    """Yield (key path, message) for everything that the models alone cannot see.

    unplayed: the learners of a paper's experiment that were not played as they are. on_progress: receives what is
    checked next.
    """
    for paper, settings in config.papers.items():
        parts: dict[KeyPath, Callable[[], Iterator[Mistake]]] = {}
        parts["oracle_costs",] = partial(_oracle_costs, settings.oracle_costs)
        for name, experiment in settings.experiments.items():
            check = partial(within, config.limits, experiment, config.allow_few_cells)
            if not list(_names(experiment, FAMILIES[experiment.family])):
                new = unplayed(config, paper, name)
                check = partial(check, learners=new) if new else partial(_few_cells, experiment, config.allow_few_cells)
            parts["experiments", name] = check
        for path, find_mistakes in parts.items():
            on_progress(f"while {'.'.join((paper, *map(str, path)))} was checked")
            for subpath, message in list(find_mistakes()):
                yield ("papers", paper, *path, *subpath), message


def within(
    limits: Limits,
    experiment: Experiment,
    allow_few_cells: bool,
    given: Sequence[str] = (),
    learners: Collection[str] | None = None,
) -> Iterator[Mistake]:
    """The mistakes of an experiment, or that they cannot be found with little memory in a short time.

    given: data sets that the caller holds, beside those that are declared. learners: those that are built; all where
    none are named. Outside of the main thread the time is not
    bounded; where the system has no such bound the memory is not.
    """
    try:
        with bounded_memory(min(limits.check_gb, machine_gb() / 2)), bounded_time(limits.check_seconds):
            yield from list(experiment_mistakes(experiment, allow_few_cells, given, learners))
    except (TooMuch, MemoryError) as error:
        name, unit = ("check_seconds", "s") if isinstance(error, TooMuch) else ("check_gb", "GB")
        most = getattr(limits, name)
        yield (), f"making its problems and learners takes more than {most:g} {unit} ({lifted_by(name, most)})"


def experiment_mistakes(
    experiment: Experiment,
    allow_few_cells: bool = False,
    given: Sequence[str] = (),
    learners: Collection[str] | None = None,
) -> Iterator[Mistake]:
    """Yield (key path in the experiment, message). Arguments as of `within`."""
    family = FAMILIES[experiment.family]
    mistakes = [*_names(experiment, family, given), *experiment.mistakes()]
    if not mistakes:
        mistakes = [*_places(experiment, family), *_combinations(experiment, family)]
    built = experiment.learners if learners is None else {name: experiment.learners[name] for name in learners}
    yield from mistakes or _refusals(experiment.model_copy(update={"learners": built}), family)
    yield from _few_cells(experiment, allow_few_cells)


def _few_cells(experiment: Experiment, allow_few_cells: bool) -> Iterator[Mistake]:
    """Sweeps that are too short for a fit."""
    for path, count in experiment.swept().items():
        if count < CELLS_FOR_A_FIT and not allow_few_cells:
            message = f"too few cells for a fit: {count}, at least {CELLS_FOR_A_FIT} are needed"
            yield path, f"{message} (or allow_few_cells: true at the top)"


def set_names() -> list[str]:
    """Names of the constraint sets."""
    from dpregret.algorithms.geometry import SETS

    return [*SETS]


@cache
def has_local_oracle(name: str) -> bool:
    """Whether a constraint set has a local linear optimisation oracle."""
    from dpregret.algorithms.geometry import make_set

    return _attempt(lambda: make_set(name, TRIAL_DIMENSION).local_oracle())[1] is None


def _refused_set(name: str, dimension: int) -> str | None:
    """The objection of a set to a dimension."""
    from dpregret.algorithms.geometry import make_set

    _, error = _attempt(make_set, name, dimension)
    return None if error is None else f"the set {name!r} refuses {dimension}: {raised(error)}"


def _attempt(make: Callable[..., Any], *arguments: Any) -> tuple[Any, Exception | SystemExit | None]:
    """The result of a user's code, or what it raises; a MemoryError is raised again."""
    try:
        return make(*arguments), None
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        return None, error


def _oracle_costs(oracle_costs: Mapping[str, Sequence[int]]) -> Iterator[Mistake]:
    for name, dimensions in oracle_costs.items():
        if name not in set_names():
            yield (name,), not_allowed("set", name, set_names())
            continue
        for position, dimension in enumerate(dimensions):
            if refusal := _refused_set(name, dimension):
                yield (name, position), refusal


def _names(experiment: Experiment, family: Family[Any, Any, Any], given: Sequence[str] = ()) -> Iterator[Mistake]:
    if isinstance(experiment, ExperimentOnSets):
        for position, name in enumerate(experiment.sets):
            if name not in set_names():
                yield (experiment.key("sets"), position), not_allowed("set", name, set_names())
    key = experiment.key("streams")
    for position, name in enumerate(experiment.streams):
        if name not in family.streams:
            yield (key, position), _unknown(key.rstrip("s"), name, family.streams, "streams")
    source = experiment.options.get("source")
    if source is not None and source not in given and source not in (names := _sources()):
        yield ("options", "source"), not_allowed("data set", source, names)
    for learner, variants in experiment.learners.items():
        if learner not in family.learners:
            yield ("learners", learner), _unknown("learner", learner, family.learners, "learners")
            continue
        allowed = family.learners[learner].card.variants
        for position, variant in enumerate(variants):
            if variant not in allowed:
                yield ("learners", learner, position), not_allowed("variant", variant, allowed)


def _sources() -> list[str]:
    """Names of data sets that the option `source` may have."""
    from dpregret.datasets.bundled import BUNDLED
    from dpregret.datasets.fetch import Source
    from dpregret.datasets.records import declared

    return [*declared(), *Source.read_all(), *BUNDLED]


def _unknown(noun: str, name: str, allowed: Collection[str], mapping: str) -> str:
    families = [f"family: {family.name}" for family in FAMILIES.values() if name in getattr(family, mapping)]
    return not_allowed(noun, name, allowed) + (f" ({name!r} needs {' or '.join(families)})" if families else "")


def _places(experiment: Experiment, family: Family[Any, Any, Any]) -> Iterator[Mistake]:
    """Find dimensions that a set refuses, or that the data of a stream do not have."""
    for path, name, dimension in experiment.sets_and_dimensions():
        if refusal := _refused_set(name, dimension):
            yield path, refusal
            continue
        for stream in experiment.streams:
            columns = family.streams[stream].columns or _columns(experiment)
            if columns not in (None, dimension):
                yield path, f"the stream {stream!r} has {columns} features: give dimension [{columns}], not {dimension}"


def _columns(experiment: Experiment) -> int | None:
    """The number of features of the study's records that an experiment names."""
    if "source" not in experiment.options:
        return None
    from dpregret.datasets.records import declared

    source = declared().get(experiment.options["source"])
    return None if source is None else len(source.features)


def _combinations(experiment: Experiment, family: Family[Any, Any, Any]) -> Iterator[Mistake]:
    """Find needs of learners that a set or a stream does not serve, and windows that no learner has."""
    windows = getattr(experiment, "window", ())
    cards = [family.learners[learner].card for learner in experiment.learners]
    private = [card for card in cards if card.private]
    if private and not any(card.windowed for card in private):
        message = "has no effect: every private learner of the experiment protects all rounds; write horizon"
        yield from ((("window", at), message) for at, window in enumerate(windows) if window != "horizon")
    for learner in experiment.learners:
        needs = family.needs(family.learners[learner])
        if "local-oracle" in needs and isinstance(experiment, ExperimentOnSets):
            for name in [set_name for set_name in experiment.sets if not has_local_oracle(set_name)]:
                suitable = sorted(filter(has_local_oracle, set_names()))
                message = f"needs a local linear optimisation oracle, which the set {name!r} does not have"
                yield ("learners", learner), f"{message}; sets that have one: {', '.join(suitable)}"
        for need in sorted(needs):
            suitable = sorted(name for name, stream in family.streams.items() if need in stream.traits)
            for name in [stream for stream in experiment.streams if suitable and stream not in suitable]:
                message = f"needs {need} losses, which the stream {name!r} does not have"
                yield ("learners", learner), f"{message}; streams that have them: {', '.join(suitable)}"


def _refusals(experiment: Experiment, family: Family[Any, Any, Any]) -> Iterator[Mistake]:
    """The refusals of problems and learners that cannot be built; each refusal once, at the first cell."""
    first: dict[Mistake, str] = {}
    for path, where, refusal in _tried(family.trial(experiment), experiment, family):
        first.setdefault((path, refusal), where)
    yield from ((path, f"{where}: {refusal}") for (path, refusal), where in first.items())


def _tried(
    trial: Experiment, experiment: Experiment, family: Family[Any, Any, Any]
) -> Iterator[tuple[KeyPath, str, str]]:
    """Build the problem and the learner of every cell of a trial: (key path, cell, refusal)."""
    from dpregret.datasets.source import UnreadDataError

    def doubt_of(*arguments: Any) -> str | None:
        return family.warning_for(family.learner(*arguments))

    problems: dict[Any, Any] = {}
    draws = Draws(0, trial.runs)
    for learner, variants in trial.learners.items():
        learner_class = family.learners[learner]
        for cell in family.cells(trial, learner_class.card):
            where = f"on {cell}"
            if cell not in problems:
                problems[cell], error = _attempt(family.problem, cell, trial, draws)
                if error is not None and not isinstance(error, UnreadDataError):  # only the job can tell
                    yield (
                        family.key_of_error(error, cell, experiment) or ("learners", learner, 0),
                        where,
                        _message(error),
                    )
            for position, variant in enumerate(variants if problems[cell] is not None else ()):
                path: KeyPath = ("learners", learner, position)
                warning_for, error = _attempt(doubt_of, learner_class, problems[cell], cell, trial, variant)
                if error is not None:
                    yield family.blame_learner(error, cell, experiment) or path, where, _message(error)
                elif warning_for:
                    yield path, where, warning_for


def _message(error: Exception | SystemExit) -> str:
    """The message of an error in building a problem or a learner; a TypeError is mostly about an option that is
    none."""
    return one_line(error) if isinstance(error, TypeError) else raised(error)


def size_problems(config: Config, limits: Limits) -> Iterator[Mistake]:
    """Everything that is too large, without computing any of it."""
    for paper, settings in config.papers.items():
        for name, experiment in settings.experiments.items():
            for path, message in experiment_sizes(experiment, limits):
                yield ("papers", paper, "experiments", name, *path), message


def experiment_sizes(experiment: Experiment, limits: Limits) -> Iterator[Mistake]:
    """Everything of one experiment that is too large."""
    if any(value > STEEPEST for value in as_tuple(getattr(experiment, "strong_convexity", ()))):
        yield ("strong_convexity",), f"must be at most {STEEPEST:g}: its square must be a number"
    cells, settings = _cells(experiment)
    for kind, value in {"cells": cells * settings, **_products(experiment, cells, settings)}.items():
        if message := limits.beyond(kind, value):
            yield (), message


def _cells(experiment: Experiment) -> tuple[int, int]:
    """How many plays an experiment has, and how many privacy settings each of them."""
    window = getattr(experiment, "window", None) or (None,)
    fields = [getattr(experiment, name, None) for name in ("best_loss", "strong_convexity")]
    lists = [experiment.streams, experiment.horizon, *map(as_tuple, [*fields, *experiment.all_options()])]
    count = len({setting[1:] for setting in experiment.sets_and_dimensions()}) or len(
        getattr(experiment, "dimension", (None,))
    )
    return math.prod(map(len, lists)) * count, len(experiment.epsilon) * len(experiment.deltas) * len(window)


def predicted(experiment: Experiment) -> tuple[float, float]:
    """Gigabytes of one play of an experiment beyond the interpreter, and about how many CPU seconds it takes.

    Beside the jobs of full the seconds are 1.2 times too many in the median, and within a factor of two for two thirds.
    """
    cells, settings = _cells(experiment)
    amounts = _products(experiment, cells, settings)
    return amounts["memory_gb"], PLAY_SECONDS + CELL_SECONDS * cells + 3600 * amounts["hours"]


def _products(experiment: Experiment, cells: int, settings: int) -> dict[str, float]:
    """What the values of an experiment multiply to: gigabytes of a play, and hours."""
    longest = max(experiment.horizon)
    dimensions = [dimension for _, _, dimension in experiment.sets_and_dimensions()] or [1]
    anytime = FAMILIES[experiment.family].anytime
    state = 8.0 * settings * experiment.runs * max(dimensions)
    curves = 8.0 * CURVES * (settings + 1) * longest * anytime
    checkpoints = math.log2(longest) + 1 if anytime else 1.0
    played = float(cells * settings) * experiment.runs
    numbers = played * longest * (sum(dimensions) / len(dimensions))
    return {
        "memory_gb": (state + curves + ROW_BYTES * played * checkpoints) / GIGABYTE,
        "hours": numbers / NUMBERS_A_SECOND / 3600,
    }

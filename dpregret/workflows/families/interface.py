"""The interface of a kind of problem: its experiments and their fields, cells, problems, learners, plays and audit.

Every job of a run reads the configuration, and with it the modules of this folder. So these import the learners, the
sets and the streams where they need them, not at their tops.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import math
import pickle
import random
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal, TypeVar

import numpy as np
import pandas as pd
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, field_validator

from dpregret.core.errors import as_text, not_allowed, raised
from dpregret.core.files import atomic_write
from dpregret.core.learner_output import LearnerFault, StreamFault, finite, numbers
from dpregret.core.yaml_source import KeyPath, expand
from dpregret.paper_figs.judge.runs import check_rows

if TYPE_CHECKING:
    from dpregret.algorithms.geometry import CountedSet
    from dpregret.algorithms.learner import BaseLearner, Card
    from dpregret.algorithms.privacy import Budget
    from dpregret.datasets.source import Source
    from dpregret.workflows.audit.neighbours import Audited

T = TypeVar("T")
Mistake = tuple[KeyPath, str]
"""Where in an experiment something is wrong, and what."""


def _as_tuple(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError("give a list, for example [4]")
    return tuple(value)


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str) else _as_tuple(value)


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{value!r} is given twice")
        seen.add(value)
    return values


def _plain(value: object) -> object:
    if not isinstance(value, bool | int | float | str):
        raise ValueError("must be a number, a word, true or false")
    return value


def _window(value: object) -> object:
    if value == "horizon":
        return value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("must be a positive whole number or the word horizon")
    return value


def _price(value: float) -> float:
    if not (1 / MOST_EPSILON <= value <= MOST_EPSILON or math.isinf(value)):
        raise ValueError(f"must lie between {1 / MOST_EPSILON:g} and {MOST_EPSILON:g}, or be .inf")
    return value


def _form(value: object) -> str:
    return "<list>" if isinstance(value, list | tuple) else "<plain>"


MOST_EPSILON: Final = 1e9
"""Of finite ones; 1 over it is the least."""
_unique = Field(min_length=1, max_length=1000, json_schema_extra={"uniqueItems": True})
Several = Annotated[tuple[T, ...], _unique, AfterValidator(_distinct), BeforeValidator(_as_tuple)]
OneOrMore = Annotated[Annotated[T, Tag("<plain>")] | Annotated[Several[T], Tag("<list>")], Discriminator(_form)]
PositiveInteger = Annotated[int, Field(gt=0, le=2**40)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Delta = Annotated[float, Field(ge=0, lt=1)]
Runs = Annotated[int, Field(ge=2, le=10**9)]  # an interval needs two
Plain = Annotated[bool | int | float | str, BeforeValidator(_plain)]
Window = Annotated[int | Literal["horizon"], BeforeValidator(_window)]
Integers = Several[PositiveInteger]
Sizes = Several[Annotated[int, Field(gt=0, le=2**1000)]]
Words = Several[str]
Sets = Annotated[
    tuple[str, ...],
    _unique,
    AfterValidator(_distinct),
    BeforeValidator(_one_or_more, json_schema_input_type=str | list[str]),
]
Windows = Several[Window]
Epsilons = Several[Annotated[float, Field(gt=0), AfterValidator(_price)]]
Losses = Several[Annotated[float, Field(ge=0, allow_inf_nan=False)]]
SetSizes = Several[Annotated[int, Field(gt=0, le=2**24)]]
Dimensions = Annotated[
    Annotated[SetSizes, Tag("<list>")] | Annotated[dict[str, SetSizes], Field(min_length=1), Tag("<mapping>")],
    Discriminator(lambda value: "<mapping>" if isinstance(value, dict) else "<list>"),
]
Options = tuple[tuple[str, Any], ...]
"""Of a cell: names with values."""


def as_tuple(value: Any) -> tuple[Any, ...]:
    """The values of a field that may be a list."""
    return value if isinstance(value, tuple) else (value,)


def choices_of(options: Mapping[str, Any]) -> list[Options]:
    """Every combination of the values of options, of which each may be a list."""
    pairs = [[(name, value) for value in as_tuple(values)] for name, values in options.items()]
    return list(itertools.product(*pairs))


class Settings(BaseModel):
    """Base of every model: frozen, strict, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_by_name=False, ser_json_inf_nan="constants"
    )


class Experiment(Settings):
    """One sweep: a grid of settings, the streams, and the learners (with variants) that are played.

    ``epsilon`` values > 0 (``.inf``: not private), ``delta`` a probability in [0, 1) or a list of them (0: for
    pure learners only), ``options`` further arguments of the stream; where an option may be a list, each of its values
    makes a cell.
    """

    family: str
    title: Annotated[str, Field(min_length=1)]
    sweep: str
    streams: Words
    horizon: Integers
    epsilon: Epsilons
    delta: OneOrMore[Delta]
    runs: Runs
    options: dict[str, Any] = Field(default_factory=dict)
    learners: dict[str, Words] = Field(min_length=1)

    _in_full = field_validator("*", mode="before")(expand)

    @property
    def deltas(self) -> tuple[float, ...]:
        """Every delta of the experiment."""
        return as_tuple(self.delta)

    @classmethod
    def key(cls, field: str) -> str:
        """The name of a field in a file."""
        return cls.model_fields[field].alias or field

    def all_options(self) -> list[Any]:
        """The values of options, whatever they belong to."""
        return [*self.options.values()]

    def sets_and_dimensions(self) -> Iterator[tuple[KeyPath, str, int]]:
        """Every constraint set and its dimension, with the key of the dimension; nothing where there are no sets."""
        yield from ()

    def mistakes(self) -> Iterator[Mistake]:
        """Mistakes that the types of the fields cannot express."""
        several = {"set": "sets", "stream": "streams", "risk": "streams"}
        if self.sweep in several and len(getattr(self, several[self.sweep])) < 2:
            key = self.key(several[self.sweep])
            yield (key,), f"a sweep over {key} needs at least two of them"
        if self.sweep == "option" and not any(isinstance(values, tuple) for values in self.all_options()):
            yield ("options",), "a sweep over an option needs a list of its values"
        if self.sweep == "delta" and 0 in self.deltas:
            yield ("delta",), "a sweep over delta is fitted on its logarithm: leave 0 out"

    def swept(self) -> dict[KeyPath, int]:
        """How many numbers the sweep has, by key; nothing where it is over names or options."""
        for field in ("horizon", "epsilon", "delta", "window", "dimension", "best_loss", "strong_convexity"):
            if field not in type(self).model_fields or self.sweep.replace("-", "_") not in (field, self.key(field)):
                continue
            key, values = self.key(field), getattr(self, field) or ()
            parts: dict[KeyPath, Any] = {(key,): values}
            if isinstance(values, dict):
                parts = {(key, name): part for name, part in values.items()}
            return {path: sum(not isinstance(item, str) for item in as_tuple(part)) for path, part in parts.items()}
        return {}


class ExperimentOnSets(Experiment):
    """A sweep on constraint sets: ``set`` one or several, ``dimension`` a list for all of them or one for each."""

    sets: Sets = Field(alias="set")
    dimension: Dimensions

    def dimensions(self, set_name: str) -> tuple[int, ...]:
        """Return the dimensions in which one of the experiment's sets is used; none where the file forgot them."""
        return self.dimension.get(set_name, ()) if isinstance(self.dimension, dict) else self.dimension

    def sets_and_dimensions(self) -> Iterator[tuple[KeyPath, str, int]]:
        """Every set in each of its dimensions."""
        for name in self.sets:
            for position, dimension in enumerate(self.dimensions(name)):
                by_set = isinstance(self.dimension, dict)
                yield (("dimension", name, position) if by_set else ("dimension", position)), name, dimension

    def mistakes(self) -> Iterator[Mistake]:
        """Dimensions that are missing, or of no set."""
        yield from super().mistakes()
        if isinstance(self.dimension, dict):
            for name in self.dimension:
                if name not in self.sets:
                    yield ("dimension", name), not_allowed("set of this experiment", name, self.sets)
            for name in self.sets:
                if name not in self.dimension:
                    yield ("dimension",), f"has no dimensions for the set {name!r}"


E = TypeVar("E", bound=Experiment)
C = TypeVar("C")
P = TypeVar("P")
LARGEST_HELD = 2**16  # numbers of an array whose content is compared before and after a play
ROUNDING = 1e-9
MACHINE = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "ESTALE", "ENOMEM", "ETIMEDOUT", "ENOLCK")
    if hasattr(errno, name)
}
"""Faults of files that are the machine's, whatever requested the file."""
PLAIN: dict[str, Any] = {
    "window": 0,
    "noise_distribution": "none",
    **dict.fromkeys(("noise_scale", "mu_gdp", "bound"), math.nan),
    **dict.fromkeys(("noise_norm", "displacement", "violation", "comparator_gap"), 0.0),
}
"""Columns that a family without them may leave out."""


def generators(seed: int, purpose: str, runs: int) -> list[np.random.Generator]:
    """The source of every random number of the benchmark: one generator a run, equal for all learners.

    purpose: what is drawn, e.g. 'noise' or 'data norm-kink ball 4'.
    """
    key = zlib.crc32(purpose.encode())
    return [np.random.default_rng(np.random.SeedSequence([seed, key, run])) for run in range(runs)]


@dataclass(frozen=True)
class Draws:
    """Inputs of a play: random numbers from a seed, and prepared data from a folder.

    data_dir None: no file is read; `UnreadDataError` is raised where one would be needed. shared: folder where plays
    of one job leave comparators for each other.
    """

    seed: int
    runs: int
    data_dir: Path | None = None
    shared: Path | None = None

    def generators(self, purpose: str) -> list[np.random.Generator]:
        """One generator a run for a purpose, equal for all learners."""
        return generators(self.seed, purpose, self.runs)

    def comparator(self, kind: type[T], stream: Any, generators: Sequence[np.random.Generator], *args: Any) -> T:
        """`stream.comparator(generators, *args)`, a dataclass `kind` of arrays.

        The first play of a job that needs it leaves it in the folder `shared`, others read it there: arrays, since
        unpickling would run whatever a learner had put there. Streams without random rounds have it in closed form.
        """
        file = _file(self.shared, stream, generators, args) if self.shared and stream.drawn else None
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        if file is not None and file.is_file():
            with np.load(file) as arrays:
                return kind(**{name: arrays.get(name) for name in names})
        try:
            answer: T = stream.comparator(generators, *args)
        except Exception as error:
            if machine_fault(error):
                raise
            raise StreamFault(f"the best fixed point of the stream {stream.name!r}: {raised(error)}") from error
        if file is not None:
            with atomic_write(file) as temporary, temporary.open("wb") as opened:
                np.savez(opened, **{name: array for name in names if (array := getattr(answer, name)) is not None})
        return answer


def _file(folder: Path, stream: Any, generators: Sequence[np.random.Generator], args: tuple[Any, ...]) -> Path | None:
    """Where a comparator is left, under a hash of the stream with its set and its data, the states of its generators,
    and the arguments; None for a stream that cannot be pickled.
    """
    try:
        content = pickle.dumps([stream, [generator.bit_generator.state for generator in generators], args])
    except (AttributeError, TypeError, pickle.PicklingError):
        return None
    return folder / f"{hashlib.sha256(content).hexdigest()[:32]}.npz"


@dataclass(frozen=True)
class Cell:
    """One play of a sweep: everything but the privacy settings, which are batched where they can be."""

    stream: str
    set_name: str
    dimension: int
    horizon: int

    def __str__(self) -> str:
        """In a message."""
        return f"{self.stream!r}, set {self.set_name!r}, dimension {self.dimension}, T = {self.horizon}"

    def columns(self) -> dict[str, Any]:
        """Of a run."""
        columns = {"stream": self.stream, "set": self.set_name, "dimension": self.dimension, "horizon": self.horizon}
        return columns | {"checkpoint": self.horizon}


@dataclass(frozen=True)
class Instance:
    """A constraint set, where there is one, and a stream of losses."""

    domain: Any
    stream: Any


def budgets_of(experiment: Experiment, card: Card) -> list[Budget]:
    """Epsilons x deltas; without privacy epsilon is infinite."""
    from dpregret.algorithms.privacy import Budget

    if not card.private:
        return [Budget(math.inf)]
    return [Budget(epsilon, delta) for epsilon in experiment.epsilon for delta in experiment.deltas]


def frame(shape: tuple[int, ...], of_settings: Mapping[str, Any], **columns: Any) -> pd.DataFrame:
    """One row for each setting, run (and checkpoint), with the column `run`.

    of_settings: arrays whose first axis is the setting, and whose second, if any, the checkpoint. columns: a value for
    all rows, or arrays that are broadcast to the shape.
    """

    def per_row(values: Any) -> Any:
        array = np.asarray(values)
        between = (1,) * (len(shape) - array.ndim)
        return np.broadcast_to(array.reshape(array.shape[:1] + between + array.shape[1:]), shape).ravel()

    rows = {name: per_row(values) for name, values in of_settings.items()}
    rows["run"] = np.indices(shape)[1].ravel()
    for name, values in columns.items():
        rows[name] = values if np.ndim(values) == 0 else np.broadcast_to(values, shape).ravel()
    return pd.DataFrame(rows)


def costs(domain: CountedSet, seconds: float, served: int) -> dict[str, float]:
    """Calls of oracles and CPU seconds, for each of the rounds of all runs and settings that were served."""
    return (
        {name: rows / served for name, rows in domain.calls().items()}
        | {"seconds": seconds / served}
        | {name: spent / served for name, spent in domain.seconds().items()}
    )


OF_RECORDS: Final = ("participations", "record_epsilon", "record_least")


def rounds_of_record(stream: Source, rounds: int, window: int | None = None) -> tuple[int, int]:
    """The most rounds that one record is in, and those that one is in for certain."""
    return stream.participations(rounds, window), stream.certain_participations(rounds, window)


def accounts(
    learner: BaseLearner, summed: bool = False, participations: Sequence[tuple[int, int]] | None = None
) -> dict[str, Any]:
    """The privacy that a learner states, as columns by setting: budgets, accounted epsilon and noise.

    Scales and mu are NaN where it has no ledger. participations: the most rounds that one record of the stream is in,
    and those that one is in for certain, a setting; where one is above 1, `record_epsilon` stands beside the epsilon of
    a round, and `record_least`, which no record's is below: the same where that is exact.

    summed: what is released are sums with noise, so that it costs at least what the lines say (sampling of records,
    which makes a release cheaper, is not known there).
    """
    settings = len(learner.budgets)
    lines = list(learner.ledger())
    if len(lines) not in (0, settings):
        raise LearnerFault(f"ledger: {len(lines)} lines, expected one a setting, {settings}")
    unknown, plan = np.full(settings, math.nan), learner.noise_plan
    scales = finite("noise scale", [line.scale for line in lines], (settings,), 0.0) if lines else unknown
    if lines and plan is not None and list(plan.scales) != scales.tolist():
        raise LearnerFault(f"its ledger says noise of scale {scales.tolist()}, but it draws {list(plan.scales)}")
    parameters = [line.mu() if hasattr(line, "mu") else math.nan for line in lines]
    mus = numbers("mu", parameters, (settings,), 0.0, unknown=True) if lines else unknown
    delivered = numbers("accounted epsilon", learner.delivered_epsilon(), (settings,), 0.0)
    if summed and lines:
        for stated, line, budget in zip(delivered, lines, learner.budgets, strict=True):
            proved = line.epsilon(budget.delta)
            if not stated >= proved * (1 - ROUNDING):
                raise LearnerFault(f"accounted epsilon: {stated:.6g}, but its ledger says at least {proved:.6g}")
    of_records: dict[str, Any] = {}
    most, certain = zip(*(participations or [(1, 1)]), strict=True)
    if max(most) > 1:
        epsilons = numbers("epsilon of a record", learner.record_epsilon(most), (settings,), 0.0)
        least = numbers("least epsilon of a record", learner.least_record_epsilon(certain), (settings,), 0.0)
        of_records = {"participations": list(most), "record_epsilon": epsilons, "record_least": least}
    return of_records | {
        "epsilon": [budget.epsilon for budget in learner.budgets],
        "delta": [0.0 if learner.pure else budget.delta for budget in learner.budgets],
        "delivered_epsilon": delivered,
        "noise_scale": scales,
        "mu_gdp": mus,
    }


def filled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the columns of PLAIN that their family leaves out."""
    return rows.assign(**{name: value for name, value in PLAIN.items() if name not in rows})


@contextmanager
def unchanged_inputs(**inputs: Any) -> Iterator[None]:
    """Raise LearnerFault where a play changes numbers or small arrays of the inputs of a learner."""
    before = {name: _content(item) for name, item in inputs.items()}
    yield
    for name, item in inputs.items():
        now = _content(item)
        changed = [key for key, value in before[name].items() if now.get(key) != value]
        if changed:
            raise LearnerFault(f"it changed {changed[0]!r} of the {name} that it was given")


def _content(item: Any) -> Mapping[str, Any]:
    """Attributes of an object that are numbers, strings or arrays, as values that can be compared."""
    contents: dict[str, Any] = {}
    for name, value in getattr(item, "__dict__", {}).items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            part = value if value.size <= LARGEST_HELD else value.reshape(-1)[:LARGEST_HELD]
            contents[name] = value.shape, part.tobytes()
        elif isinstance(value, (bool, int, float, str)):
            contents[name] = repr(value)
    return contents


def machine_fault(error: BaseException) -> bool:
    """Whether an error is the machine's, whoever met it."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in MACHINE)


@contextmanager
def attributing_errors(where: str) -> Iterator[None]:
    """Turn whatever is raised into a LearnerFault that names the cell; interrupts, and faults of the machine and of the
    stream, are raised as what they are."""
    try:
        yield
    except StreamFault as fault:
        raise StreamFault(f"{fault}; {where}") from fault
    except BaseException as fault:
        if machine_fault(fault) or isinstance(fault, KeyboardInterrupt):
            raise
        raise LearnerFault(f"{fault if isinstance(fault, LearnerFault) else as_text(fault)}; {where}") from fault


@contextmanager
def own_generators() -> Iterator[None]:
    """Refuse draws from the global random state of NumPy or Python: no seed of the configuration decides them."""
    before = _global_state()
    yield
    if _global_state() != before:
        raise LearnerFault("changes a global random state: draw from the generators that the learner is given")


def _global_state() -> tuple[Any, ...]:
    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    return name, np.asarray(keys).tobytes(), *rest, random.getstate()


class Family(ABC, Generic[E, C, P]):
    """A kind of problem. A cell is one play of a sweep; the privacy settings of a play are batched where they can be.

    name: of the folder of learners, in configurations and in results. experiment: the model of its experiments, whose
    ``family`` is a literal of the name. source: module and name of the base class of its streams. audit: the same of
    the audit of its private learners. seed_word: keys the draws of the audit, where that is not the name. anytime: a
    play is recorded on the way, so that a learner which does not know the horizon needs one play for all horizons.
    compared: its learners compete, and take part in the page of winners.
    """

    name: ClassVar[str]
    experiment: ClassVar[type[Experiment]]
    source: ClassVar[str]
    audit: ClassVar[str] = ""
    seed_word: ClassVar[str] = ""
    anytime: ClassVar[bool] = False
    compared: ClassVar[bool] = True

    @cached_property
    def learners(self) -> Mapping[str, type[Any]]:
        """The classes of algorithms/<name>, by the names on their cards."""
        from dpregret.algorithms.learner import learners

        return learners(self.name)

    @property
    def source_class(self) -> Any:
        """The base class of its streams."""
        return resolve_name(self.source)

    @cached_property
    def streams(self) -> Mapping[str, type[Source]]:
        """The classes of datasets/ that learners of this family are played on, by their names."""
        from dpregret.datasets.source import sources

        return sources(self.source_class)

    @abstractmethod
    def cells(self, experiment: E, card: Card) -> Iterator[C]:
        """The plays of a learner in an experiment."""

    @abstractmethod
    def problem(self, cell: C, experiment: E, draws: Draws) -> P:
        """The problem of a cell, the same for all learners. ValueError says what does not fit."""

    @abstractmethod
    def learner(self, learner_class: type[Any], problem: P, cell: C, experiment: E, variant: str) -> BaseLearner:
        """A learner ready to play. ValueError says what does not fit."""

    @abstractmethod
    def play(self, learner: Any, problem: P, cell: C, draws: Draws) -> pd.DataFrame:
        """One row per setting and run (and checkpoint); columns as in docs/architecture.md. Runs count from 0."""

    def rows(
        self,
        experiment: E,
        learner_class: type[Any],
        variant: str,
        draws: Draws,
        on_progress: Callable[[str], None] = lambda where: None,
    ) -> pd.DataFrame:
        """Rows of a learner variant over the whole grid of an experiment, of all runs together.

        Columns as in docs/architecture.md, without the labels of an experiment. on_progress: receives the next cell.
        Raises LearnerFault for whatever a learner does, MemoryError and OSError where it is the machine's.
        """
        frames = [frame for _, frame in self.plays(experiment, learner_class, variant, draws, on_progress)]
        return filled(pd.concat(frames, ignore_index=True))

    def plays(
        self,
        experiment: E,
        learner_class: type[Any],
        variant: str,
        draws: Draws,
        on_progress: Callable[[str], None] = lambda where: None,
    ) -> Iterator[tuple[Any, pd.DataFrame]]:
        """Cell by cell the learner that has played, and its rows. As `rows`, which joins them."""
        for cell in self.cells(experiment, learner_class.card):
            where = f"on {cell}"
            on_progress(where)
            problem = self.problem(cell, experiment, draws)
            with attributing_errors(where), own_generators():
                learner = self.learner(learner_class, problem, cell, experiment, variant)
                frame = self.play(learner, problem, cell, draws)
                check_rows(frame, getattr(problem, "domain", None))
            yield learner, frame

    def audited(self, learner_class: type[Any]) -> type[Audited]:
        """The audit of a private learner, on neighbouring inputs chosen to expose it."""
        kind: type[Audited] = resolve_name(self.audit)
        return kind

    def needs(self, learner_class: type[Any]) -> frozenset[str]:
        """Traits that a learner requires of a stream: the needs on its card."""
        needs: frozenset[str] = learner_class.card.needs
        return needs

    def trial(self, experiment: E) -> E:
        """The part of an experiment whose problems and learners are built to check it, before any work starts."""
        return experiment

    def key_of_error(self, error: BaseException, cell: C, experiment: E) -> KeyPath | None:
        """The key of the experiment that the refusal of a problem is about; None: that of the learner."""
        return ("options",) if "option" in str(error) or isinstance(error, TypeError) else (experiment.key("streams"),)

    def blame_learner(self, error: BaseException, cell: C, experiment: E) -> KeyPath | None:
        """The key that the refusal of a learner is about; None: that of the learner."""
        return None

    def warning_for(self, learner: Any) -> str | None:
        """Why a learner that could be made should not be run, if there is a reason."""
        return None

"""Types of the fields of experiments, and what the experiments of all families share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
)

from dpregret.core.errors import not_allowed
from dpregret.core.yaml_source import KeyPath

NAME = r"^[a-z0-9][a-z0-9_-]*$"  # safe as a folder name
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


def _form(value: object) -> str:
    return "<list>" if isinstance(value, list | tuple) else "<plain>"


T = TypeVar("T")
_unique = Field(min_length=1, json_schema_extra={"uniqueItems": True})
Several = Annotated[tuple[T, ...], _unique, AfterValidator(_distinct), BeforeValidator(_as_tuple)]
OneOrMore = Annotated[Annotated[T, Tag("<plain>")] | Annotated[Several[T], Tag("<list>")], Discriminator(_form)]
PositiveInteger = Annotated[int, Field(gt=0, le=2**40)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(gt=0, lt=1)]
Runs = Annotated[int, Field(ge=2)]  # an interval needs two
Word = Annotated[str, Field(pattern=NAME)]
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
Epsilons = Several[Annotated[float, Field(gt=0)]]
Losses = Several[Annotated[float, Field(ge=0, allow_inf_nan=False)]]
Dimensions = Annotated[
    Annotated[Integers, Tag("<list>")] | Annotated[dict[str, Integers], Field(min_length=1), Tag("<mapping>")],
    Discriminator(lambda value: "<mapping>" if isinstance(value, dict) else "<list>"),
]
Options = tuple[tuple[str, Any], ...]
"""Of a cell: names with values."""


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A field that may be a list, as one."""
    return value if isinstance(value, tuple) else (value,)


def choices_of(options: Mapping[str, Any]) -> list[Options]:
    """Every combination of the values of options, of which each may be a list."""
    named = [[(name, value) for value in as_tuple(values)] for name, values in options.items()]
    return list(itertools.product(*named))


class Settings(BaseModel):
    """Base of every model: frozen, strict, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_by_name=False, ser_json_inf_nan="constants"
    )


class Experiment(Settings):
    """One sweep: a grid of settings, the streams, and the learners (with variants) that are played.

    ``epsilon`` values > 0 (``.inf``: not private), ``delta`` a probability in (0, 1) or a list of them, ``options``
    further arguments of the stream; where an option may be a list, each of its values makes a cell.
    """

    family: str
    title: Annotated[str, Field(min_length=1)]
    sweep: str
    streams: Words
    horizon: Integers
    epsilon: Epsilons
    delta: OneOrMore[Probability]
    runs: Runs
    options: dict[str, Any] = Field(default_factory=dict)
    learners: dict[str, Words] = Field(min_length=1)

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

    def places(self) -> Iterator[tuple[KeyPath, str, int]]:
        """Every constraint set and its dimension, with the key of the dimension; nothing where there are no sets."""
        yield from ()

    def mistakes(self) -> Iterator[Mistake]:
        """Checks that the types of the fields cannot express."""
        several = {"set": "sets", "stream": "streams", "risk": "streams"}
        if self.sweep in several and len(getattr(self, several[self.sweep])) < 2:
            key = self.key(several[self.sweep])
            yield (key,), f"a sweep over {key} needs at least two of them"
        if self.sweep == "option" and not any(isinstance(values, tuple) for values in self.all_options()):
            yield ("options",), "a sweep over an option needs a list of its values"

    def swept(self) -> dict[KeyPath, int]:
        """How many numbers the sweep has, by key; nothing where it is over names or options."""
        for field in ("horizon", "epsilon", "delta", "window", "dimension", "best_loss", "strong_convexity"):
            if field not in type(self).model_fields or self.sweep.replace("-", "_") not in (field, self.key(field)):
                continue
            key, values = self.key(field), getattr(self, field) or ()
            parts: dict[KeyPath, Any] = {(key,): values}
            if isinstance(values, dict):
                parts = {(key, name): each for name, each in values.items()}
            return {path: sum(not isinstance(each, str) for each in as_tuple(part)) for path, part in parts.items()}
        return {}


class ExperimentOnSets(Experiment):
    """A sweep on constraint sets: ``set`` one or several, ``dimension`` a list for all of them or one for each."""

    sets: Sets = Field(alias="set")
    dimension: Dimensions

    def dimensions(self, set_name: str) -> tuple[int, ...]:
        """Return the dimensions in which one of the experiment's sets is used; none where the file forgot them."""
        return self.dimension.get(set_name, ()) if isinstance(self.dimension, dict) else self.dimension

    def places(self) -> Iterator[tuple[KeyPath, str, int]]:
        """Every set in each of its dimensions."""
        for name in self.sets:
            for position, dimension in enumerate(self.dimensions(name)):
                named = isinstance(self.dimension, dict)
                yield (("dimension", name, position) if named else ("dimension", position)), name, dimension

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

"""The experiments that a configuration may hold: one model for each kind of problem."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

NAME = r"^[a-z0-9][a-z0-9_-]*$"  # safe as a folder name
FORMS = (
    "<list>",
    "<mapping>",
    "<plain>",
    "<online>",
    "<erm>",
    "<experts>",
    "<bandits>",
)  # discriminator tags, taken out of printed key paths


def _as_tuple(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError("give a list, for example [4]")
    return tuple(value)


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str) else _as_tuple(value)


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    repeated = [value for position, value in enumerate(values) if value in values[:position]]
    if repeated:
        raise ValueError(f"{repeated[0]!r} is given twice")
    return values


def _plain(value: object) -> object:
    if not isinstance(value, bool | int | float | str):
        raise ValueError("must be a number, a word, true or false")
    return value


def _window(value: object) -> object:
    if value == "horizon":
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be a power of two or the word horizon")
    if value < 1 or value & (value - 1):
        close = f" (write {1 << (value.bit_length() - 1)} or {1 << value.bit_length()})" if value > 0 else ""
        raise ValueError(f"must be a power of two or the word horizon{close}")
    return value


_unique = Field(min_length=1, json_schema_extra={"uniqueItems": True})
PositiveInteger = Annotated[int, Field(gt=0, le=2**40)]
Runs = Annotated[int, Field(ge=2)]  # an interval needs two
Word = Annotated[str, Field(pattern=NAME)]
Plain = Annotated[bool | int | float | str, BeforeValidator(_plain)]
Plains = Annotated[tuple[Plain, ...], _unique, AfterValidator(_distinct), BeforeValidator(_as_tuple)]
Option = Annotated[
    Annotated[Plain, Tag(FORMS[2])] | Annotated[Plains, Tag(FORMS[0])],
    Discriminator(lambda value: FORMS[0 if isinstance(value, list | tuple) else 2]),
]
Window = Annotated[int | Literal["horizon"], BeforeValidator(_window)]
Integers = Annotated[tuple[PositiveInteger, ...], _unique, AfterValidator(_distinct), BeforeValidator(_as_tuple)]
Words = Annotated[tuple[str, ...], _unique, AfterValidator(_distinct), BeforeValidator(_as_tuple)]
Sets = Annotated[
    tuple[str, ...],
    _unique,
    AfterValidator(_distinct),
    BeforeValidator(_one_or_more, json_schema_input_type=str | list[str]),
]
Windows = Annotated[tuple[Window, ...], _unique, AfterValidator(_distinct), BeforeValidator(_as_tuple)]
Epsilons = Annotated[
    tuple[Annotated[float, Field(gt=0)], ...], _unique, AfterValidator(_distinct), BeforeValidator(_as_tuple)
]
Losses = Annotated[
    tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...],
    _unique,
    AfterValidator(_distinct),
    BeforeValidator(_as_tuple),
]
Dimensions = Annotated[
    Annotated[Integers, Tag(FORMS[0])] | Annotated[dict[str, Integers], Field(min_length=1), Tag(FORMS[1])],
    Discriminator(lambda value: FORMS[isinstance(value, dict)]),
]


class Settings(BaseModel):
    """Base of every model: frozen, strict, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_by_name=False, ser_json_inf_nan="constants"
    )


class Experiment(Settings):
    """One sweep: a grid of settings, the streams, and the learners (with variants) that are played.

    ``window`` holds powers of two or the word ``horizon`` (then W = T), ``epsilon`` values > 0 (``.inf``: not
    private), ``delta`` a probability in (0, 1), ``strong_convexity`` the mu of the synthetic losses, ``options``
    further arguments of the stream.
    """

    family: Literal["online"] = "online"
    title: Annotated[str, Field(min_length=1)]
    sweep: Literal["horizon", "dimension", "window", "epsilon", "set", "stream", "none"]
    sets: Sets = Field(alias="set")
    streams: Words
    strong_convexity: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    dimension: Dimensions
    horizon: Integers
    window: Windows
    epsilon: Epsilons
    delta: Annotated[float, Field(gt=0, lt=1)]
    runs: Runs
    options: dict[str, Plain] = Field(default_factory=dict)
    learners: dict[str, Words] = Field(min_length=1)

    def dimensions(self, set_name: str) -> tuple[int, ...]:
        """Return the dimensions in which one of the experiment's sets is used."""
        return self.dimension[set_name] if isinstance(self.dimension, dict) else self.dimension


class Growth(Settings):
    """A dimension that grows with the number of records: round(factor * n^power)."""

    factor: Annotated[float, Field(gt=0)]
    power: Annotated[float, Field(gt=0)]

    def dimension(self, samples: int) -> int:
        """Return the dimension for n records, at least 2."""
        size: int = round(self.factor * samples**self.power)
        return max(2, size)


class ErmExperiment(Settings):
    """One sweep of empirical risk minimisation; ``family: erm``.

    ``samples`` numbers of records, ``risks`` names of risks, ``dimension`` as in an online experiment or, instead,
    ``dimension_growth``; an option of the risk may be a list, then each of its values makes a cell.
    """

    family: Literal["erm"]
    title: Annotated[str, Field(min_length=1)]
    sweep: Literal["samples", "dimension", "epsilon", "width", "option", "risk", "none"]
    sets: Sets = Field(alias="set")
    streams: Words = Field(alias="risks")
    dimension: Dimensions | None = None
    dimension_growth: Growth | None = None
    horizon: Integers = Field(alias="samples")
    epsilon: Epsilons
    delta: Annotated[float, Field(gt=0, lt=1)]
    runs: Runs
    options: dict[str, Option] = Field(default_factory=dict)
    learners: dict[str, Words] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_dimension(self) -> ErmExperiment:
        if (self.dimension is None) == (self.dimension_growth is None):
            raise ValueError("give either dimension or dimension_growth")
        return self

    def dimensions(self, set_name: str, samples: int | None = None) -> tuple[int, ...]:
        """Return the dimensions in which a set is used, for a number of records where they grow."""
        if self.dimension_growth is not None:
            return (self.dimension_growth.dimension(samples or max(self.horizon)),)
        assert self.dimension is not None
        return self.dimension[set_name] if isinstance(self.dimension, dict) else self.dimension


class ExpertExperiment(Settings):
    """One sweep with expert advice; ``family: experts``.

    ``experts`` numbers of experts, ``streams`` names of expert streams, ``best_loss`` public bounds on the loss of the
    best expert (left out: what the stream declares, if anything); an option of the stream may be a list, then each of
    its values makes a cell.
    """

    family: Literal["experts"]
    sets: ClassVar[tuple[str, ...]] = ("experts",)
    title: Annotated[str, Field(min_length=1)]
    sweep: Literal["horizon", "experts", "dimension", "epsilon", "best-loss", "option", "stream", "none"]
    streams: Words
    dimension: Integers = Field(alias="experts")
    horizon: Integers
    epsilon: Epsilons
    delta: Annotated[float, Field(gt=0, lt=1)]
    runs: Runs
    best_loss: Losses | None = None
    options: dict[str, Option] = Field(default_factory=dict)
    learners: dict[str, Words] = Field(min_length=1)


class BanditExperiment(Settings):
    """One sweep with bandit feedback; ``family: bandits``.

    Settings as there, without windows. ``epsilon`` may hold ``.inf``: the same learner without noise, on the same
    random directions.
    """

    family: Literal["bandits"]
    title: Annotated[str, Field(min_length=1)]
    sweep: Literal["horizon", "dimension", "epsilon", "set", "stream", "none"]
    sets: Sets = Field(alias="set")
    streams: Words
    dimension: Dimensions
    horizon: Integers
    epsilon: Epsilons
    delta: Annotated[float, Field(gt=0, lt=1)]
    runs: Runs
    options: dict[str, Plain] = Field(default_factory=dict)
    learners: dict[str, Words] = Field(min_length=1)

    def dimensions(self, set_name: str) -> tuple[int, ...]:
        """Return the dimensions in which one of the experiment's sets is used."""
        return self.dimension[set_name] if isinstance(self.dimension, dict) else self.dimension


def family_of(value: object) -> str:
    """Tag of the model that an experiment in a file, or one already read, belongs to; online where none is named."""
    family = value.family if isinstance(value, Settings) else value.get("family") if isinstance(value, dict) else None
    return f"<{'online' if family is None else family}>"


AnyExperiment = Annotated[
    Annotated[Experiment, Tag(FORMS[3])]
    | Annotated[ErmExperiment, Tag(FORMS[4])]
    | Annotated[ExpertExperiment, Tag(FORMS[5])]
    | Annotated[BanditExperiment, Tag(FORMS[6])],
    Discriminator(family_of),
]
MODELS: dict[str, type[Settings]] = dict(
    zip(FORMS[3:], (Experiment, ErmExperiment, ExpertExperiment, BanditExperiment), strict=True)
)
"""Tag -> model."""

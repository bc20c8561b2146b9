"""The configuration of a benchmark run: its models, its reader and the jobs that follow from it.

A configuration is one YAML file (`workflows/config/full.yaml` and its neighbours, or one's own). It is read and
checked completely before any rule is built: every mistake is one line that names the file, the line, the key,
the value and what is allowed there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from dpregret.workflows.checks import semantic_problems
from dpregret.workflows.errors import ConfigError, nearest, not_allowed
from dpregret.workflows.registry import Registry, load_registry
from dpregret.workflows.yaml_source import KeyPath, Source, read_source

PROFILES = Path(__file__).parent / "config"
NOT_PROFILES = {"sources"}  # declared downloads, in the same folder
_NAME = r"^[a-z0-9][a-z0-9_-]*$"  # safe as a folder name
_FORMS = ("<list>", "<mapping>", "<online>", "<erm>")  # discriminator tags, taken out of printed key paths


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
Word = Annotated[str, Field(pattern=_NAME)]
Plain = Annotated[bool | int | float | str, BeforeValidator(_plain)]
Plains = Annotated[tuple[Plain, ...], _unique, BeforeValidator(_as_tuple)]
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
Dimensions = Annotated[
    Annotated[Integers, Tag(_FORMS[0])] | Annotated[dict[str, Integers], Field(min_length=1), Tag(_FORMS[1])],
    Discriminator(lambda value: _FORMS[isinstance(value, dict)]),
]


class _Settings(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_by_name=False, ser_json_inf_nan="constants"
    )


class Experiment(_Settings):
    """One sweep: a grid of settings, the streams, and the learners (with variants) that are played.

    ``window`` holds powers of two or the word ``horizon`` (then W = T), ``epsilon`` values > 0 (``.inf``: not
    private), ``delta`` a probability in (0, 1), ``strong_convexity`` the mu of the synthetic losses, ``options``
    further arguments of the stream.
    """

    kind: ClassVar[str] = "online"
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


class Growth(_Settings):
    """A dimension that grows with the number of records: round(factor * n^power)."""

    factor: Annotated[float, Field(gt=0)]
    power: Annotated[float, Field(gt=0)]

    def dimension(self, samples: int) -> int:
        """Return the dimension for n records, at least 2."""
        size: int = round(self.factor * samples**self.power)
        return max(2, size)


class ErmExperiment(_Settings):
    """One sweep of empirical risk minimisation; the key ``risks`` tells it from an online experiment.

    ``samples`` numbers of records, ``risks`` names of risks, ``dimension`` as in an online experiment or, instead,
    ``dimension_growth``; an option of the risk may be a list, then each of its values makes a cell.
    """

    kind: ClassVar[str] = "erm"
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
    options: dict[str, Plain | Plains] = Field(default_factory=dict)
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


def _kind(value: object) -> str:
    erm = bool({"risks", "samples"} & set(value)) if isinstance(value, dict) else isinstance(value, ErmExperiment)
    return _FORMS[2 + erm]


AnyExperiment = Annotated[
    Annotated[Experiment, Tag(_FORMS[2])] | Annotated[ErmExperiment, Tag(_FORMS[3])], Discriminator(_kind)
]


class Paper(_Settings):
    """The experiments of one paper, and the sets and dimensions whose oracles are timed one by one."""

    experiments: dict[Word, AnyExperiment] = Field(min_length=1)
    oracle_costs: dict[str, Integers] = Field(default_factory=dict)


class Job(NamedTuple):
    """What one process computes: one learner variant over the whole grid of one experiment."""

    paper: str
    experiment: str
    learner: str
    variant: str


class Config(_Settings):
    """A whole configuration file."""

    profile: Word
    seed: Annotated[int, Field(ge=0)]
    allow_few_cells: bool = False
    papers: dict[Word, Paper] = Field(min_length=1)

    def experiment(self, paper: str, experiment: str) -> Experiment | ErmExperiment:
        """Return one experiment; KeyError when the configuration has no such paper or experiment."""
        return self.papers[paper].experiments[experiment]

    def hash(self, experiment: str, paper: str | None = None) -> str:
        """Return 12 hexadecimal digits of everything that decides the numbers of one experiment's jobs.

        That is the seed and the experiment's settings, without its title and its list of learners: a new
        learner does not make the others run again. ``paper`` is needed only where two papers share a name.
        """
        papers = [name for name, each in self.papers.items() if experiment in each.experiments]
        if paper is None and len(papers) != 1:
            raise KeyError(f"experiment {experiment!r} is in {len(papers)} papers: say which")
        settings = self.experiment(paper or papers[0], experiment)
        return _digest({"seed": self.seed, **settings.model_dump(exclude={"title", "learners"})})

    def fingerprint(self, paper: str) -> str:
        """Return 12 hexadecimal digits of everything that a paper's tables and figures can show."""
        return _digest({"seed": self.seed, "paper": self.papers[paper]})

    def to_json(self) -> str:
        """Return the configuration as JSON text; `Config.model_validate_json` reads it back."""
        return self.model_dump_json(by_alias=True)


def _digest(content: dict[str, Any]) -> str:
    def plain(value: object) -> object:
        return value.model_dump() if isinstance(value, BaseModel) else str(value)

    text = json.dumps(content, sort_keys=True, default=plain)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def experiment_jobs(config: Config) -> Iterator[Job]:
    """Yield every job of a configuration, in the file's order."""
    for paper, settings in config.papers.items():
        for name, experiment in settings.experiments.items():
            for learner, variants in experiment.learners.items():
                for variant in variants:
                    yield Job(paper, name, learner, variant)


def profile_path(profile: object) -> Path:
    """Return the file of a profile: a name of a file in `workflows/config`, or the path of a YAML file."""
    known = {path.stem for path in PROFILES.glob("*.yaml")} - NOT_PROFILES
    if not isinstance(profile, str) or not profile:
        raise ConfigError([f"profile: give a name or the path of a YAML file, not {profile!r}"])
    if "/" in profile or profile.endswith((".yaml", ".yml")):
        return Path(profile)
    if profile not in known:
        raise ConfigError([f"profile: {not_allowed('profile', profile, known)} (or the path of a YAML file)"])
    return PROFILES / f"{profile}.yaml"


def declared_sources() -> list[str]:
    """Return the names of the data sets that can be downloaded on request."""
    declared = read_source(PROFILES / "sources.yaml").data
    return sorted(declared) if isinstance(declared, dict) else []


def check_options(options: dict[str, Any]) -> Path:
    """Return the configuration file that Snakemake's ``--config`` names; refuse any key but ``profile``."""
    unknown = [
        f"--config {key}: unknown key, allowed: profile{nearest(key, ['profile'])} "
        "(settings belong into a YAML file: --config profile=path/to/mine.yaml)"
        for key in options
        if key != "profile"
    ]
    if unknown:
        raise ConfigError(unknown)
    return profile_path(options.get("profile", "full"))


def load_config(path: Path | str, registry: Registry | None = None) -> Config:
    """Read and check one configuration file.

    Raises `ConfigError` with one line per mistake: syntax, keys and types first, then, once these are right,
    what the registered learners, streams and sets cannot do.
    """
    source = read_source(Path(path), _shown(Path(path)))
    if not isinstance(source.data, dict):
        raise ConfigError([f"{source.name}: must be a mapping that starts with 'profile:'"])
    try:
        config = Config.model_validate(source.data)
    except ValidationError as error:
        raise ConfigError(sorted(set(_structural_problems(error, source)), key=_line_number)) from None
    problems = [
        f"{source.at(where)}: {message}"
        for where, message in semantic_problems(config, Path(path).stem, registry or load_registry())
    ]
    if problems:
        raise ConfigError(problems)
    return config


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd().resolve()))
    except ValueError:
        return str(path)


def _line_number(problem: str) -> tuple[int, str]:
    parts = problem.split(":", 2)
    return (int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0, problem)


_MESSAGES = {
    "missing": "this key is missing",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "string_type": "must be a word",
    "bool_type": "must be true or false",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "may hold small letters, digits, - and _ only",
    "too_short": "must not be empty",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "literal_error": "must be one of {expected}",
}  # kind of pydantic error -> what is printed


def _structural_problems(error: ValidationError, source: Source) -> Iterator[str]:
    for detail in error.errors(include_url=False):
        kind, context = detail["type"], detail.get("ctx", {})
        if kind == "too_short" and detail["input"]:
            continue  # counts only the right items: the wrong ones have their own line
        where: KeyPath = tuple(part for part in detail["loc"] if part not in (*_FORMS, "[key]"))
        if kind == "extra_forbidden":
            allowed = _allowed_keys(where[:-1], source.data)
            message = f"unknown key, allowed: {', '.join(allowed)}{nearest(where[-1], allowed)}"
        else:
            message = _MESSAGES.get(kind, detail["msg"].removeprefix("Value error, ")).format(**context)
            message += "" if kind == "missing" else f", not {_short(detail['input'])}"
            if kind == "literal_error":
                message += nearest(detail["input"], re.findall(r"'([^']+)'", context["expected"]))
        yield f"{source.at(where)}: {message}"


def _short(value: object) -> str:
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _allowed_keys(where: KeyPath, data: object) -> list[str]:
    """Keys of the model at a path; `data` tells which kind of experiment stands there."""
    shape: dict[int, type[BaseModel]] = {0: Config, 2: Paper, 4: Experiment, 5: Growth}
    node: Any = data
    for part in where:
        node = node[part]
    model = ErmExperiment if len(where) == 4 and _kind(node) == _FORMS[3] else shape[len(where)]
    return [field.alias or name for name, field in model.model_fields.items()]

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
from typing import Annotated, Any, NamedTuple, get_args

from pydantic import BaseModel, Field, ValidationError

from dpregret.core.errors import ConfigError, nearest, not_allowed
from dpregret.core.yaml_source import KeyPath, Source, read_source
from dpregret.workflows.checks import semantic_problems
from dpregret.workflows.experiments import PRINTED_NOT, AnyExperiment, hint, model_of
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.fields import Integers, Settings, Word

PROFILES = Path(__file__).parent / "config"
NOT_PROFILES = {"sources", "resources"}  # declared downloads and what jobs ask for, in the same folder


class Paper(Settings):
    """The experiments of one paper, and the sets and dimensions whose oracles are timed one by one."""

    experiments: dict[Word, AnyExperiment] = Field(min_length=1)
    oracle_costs: dict[str, Integers] = Field(default_factory=dict)


class AuditSize(Settings):
    """How much evidence the privacy audit collects: runs of each learner, and repetitions of each planted bug.

    A mechanism that keeps its claim is never accused more often than once in a million, however many runs.
    """

    runs: Annotated[int, Field(ge=100)] = 16_000
    repeats: Annotated[int, Field(ge=1)] = 60


class ValidationSize(Settings):
    """How long the fits, the verdicts and the gate are simulated on planted laws."""

    simulations: Annotated[int, Field(ge=20)] = 4000


class Job(NamedTuple):
    """What one process computes: one learner variant over the whole grid of one experiment."""

    paper: str
    experiment: str
    learner: str
    variant: str


class Config(Settings):
    """A whole configuration file."""

    profile: Word
    seed: Annotated[int, Field(ge=0)]
    allow_few_cells: bool = False
    audit: AuditSize | None = None
    validation: ValidationSize | None = None
    papers: dict[Word, Paper] = Field(min_length=1)

    def experiment(self, paper: str, experiment: str) -> AnyExperiment:
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


def load_config(path: Path | str, check: bool = True) -> Config:
    """Read and check one configuration file.

    Raises `ConfigError` with one line per mistake: syntax, keys and types first, then, once these are right,
    what the installed learners, streams and sets cannot do. check False leaves out the latter: for jobs of a
    configuration that has been checked already.
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
        for where, message in (semantic_problems(config, Path(path).stem) if check else ())
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
        where: KeyPath = tuple(part for part in detail["loc"] if part not in PRINTED_NOT)
        if kind == "extra_forbidden":
            allowed = _allowed_keys(where[:-1], source.data)
            message = f"unknown key, allowed: {', '.join(allowed)}{nearest(where[-1], allowed)}"
            message += hint(where[-1], _node(where[:-1], source.data)) if len(where) == 5 else ""
        elif kind == "union_tag_invalid":
            where = (*where, "family")
            message = not_allowed("family", detail["input"].get("family"), FAMILIES)
        else:
            message = _MESSAGES.get(kind, detail["msg"].removeprefix("Value error, ")).format(**context)
            message += "" if kind == "missing" else f", not {_short(detail['input'])}"
            if kind == "literal_error":
                message += nearest(detail["input"], re.findall(r"'([^']+)'", context["expected"]))
        yield f"{source.at(where)}: {message}"


SIZES: dict[object, type[BaseModel]] = {"audit": AuditSize, "validation": ValidationSize}
"""Keys at the top that hold settings of one job."""


def _short(value: object) -> str:
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _allowed_keys(where: KeyPath, data: object) -> list[str]:
    """Keys of the model at a path; `data` tells which kind of experiment stands there."""
    shape: dict[int, type[BaseModel]] = {0: Config, 2: Paper}
    if where and where[0] in SIZES:
        model = SIZES[where[0]]
    elif len(where) >= 4:
        model = model_of(_node(where[:4], data))
        for part in where[4:]:  # a model within the experiment's
            model = _inner(model, str(part))
    else:
        model = shape[len(where)]
    return [field.alias or name for name, field in model.model_fields.items()]


def _inner(model: type[BaseModel], key: str) -> type[BaseModel]:
    """The model of a field."""
    (kind,) = (field.annotation for name, field in model.model_fields.items() if key in (name, field.alias))
    inner: type[BaseModel] = next(each for each in (kind, *get_args(kind)) if isinstance(each, type))
    return inner


def _node(where: KeyPath, data: Any) -> Any:
    for part in where:
        data = data[part]
    return data

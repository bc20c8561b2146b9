"""The configuration of a benchmark run: its models, its reader and the jobs that follow from it.

A configuration is a profile (`workflows/config/full.yaml` and its neighbours, or one's own file). It is read and
checked completely before any rule is built: every mistake is one line that names the file, the line, the key,
the value and what is allowed there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field

from dpregret.core.errors import ConfigError, nearest, not_allowed
from dpregret.core.validation import validate
from dpregret.core.yaml_source import KeyPath, read_source
from dpregret.workflows.families.fields import Experiment, Integers, Settings, Word
from dpregret.workflows.plan.checks import semantic_problems
from dpregret.workflows.plan.experiments import AnyExperiment, other_families
from dpregret.workflows.plan.limits import Limits, size_problems
from dpregret.workflows.plan.profiles import PAPER_KEYS, PROFILES, TOP_KEYS, papers, profile_path, read_profile

RENAMED = {
    "stall_minutes": "play_minutes", "ruler": "validation", "kind": "family", "feedback": "family", "risk": "risks",
    "stream": "streams",
}  # fmt: skip
"""Keys of configurations that had another name, or are easily misspelt -> the right one."""
OPTIONS = ("profile", "limits")
"""What ``--config`` may name."""
RESERVED_PROFILES = frozenset({"reference", "log", "benchmark", "store", "made", "papers", "winners"})
"""Other folders of results/, and a base."""


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
    """A whole configuration file.

    plays_per_job: how many learner variants of an experiment one job plays (left out: all of them).
    """

    profile: Word
    seed: Annotated[int, Field(ge=0)]
    allow_few_cells: bool = False
    plays_per_job: Annotated[int, Field(ge=1)] | None = None
    limits: Limits = Limits()
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


def declared_sources() -> list[str]:
    """Return the names of the data sets that can be downloaded on request."""
    declared = read_source(PROFILES / "sources.yaml").data
    return sorted(declared) if isinstance(declared, dict) else []


def declaration(name: str) -> Any:
    """What is declared of a data set that can be downloaded; None of any other."""
    declared = read_source(PROFILES / "sources.yaml").data
    return declared.get(name) if isinstance(declared, dict) else None


def check_options(options: dict[str, Any]) -> Path:
    """Return the configuration file that Snakemake's ``--config`` names; refuse any key but `OPTIONS`."""
    unknown = [
        f"--config {key}: unknown key, allowed: {', '.join(OPTIONS)}{nearest(key, OPTIONS)} "
        "(settings belong into a YAML file: --config profile=path/to/mine.yaml)"
        for key in options
        if key not in OPTIONS
    ]
    if unknown:
        raise ConfigError(unknown)
    return profile_path(options.get("profile", "full"))


Known = Callable[["Config", Experiment], bool]
"""Whether an experiment needs no check, since it was played as it stands."""


def load_config(
    path: Path | str,
    check: bool = True,
    limits: Limits | None = None,
    read: dict[str, str] | None = None,
    say: Callable[[str], None] = lambda where: None,
    known: Known = lambda config, experiment: False,
) -> Config:
    """Read and check one configuration file, with all that it extends.

    Raises `ConfigError` with one line per mistake: syntax, keys and types first, then sizes, then, once these are
    right, what the installed learners, streams and sets cannot do. check False leaves out the latter. limits: go before
    those of the file. read: the files that are read, each with its SHA-256, are added. say: told what is checked next.
    """
    source = read_profile(Path(path), limits=limits, read=read)
    config = validate(Config, source, RENAMED, {0: TOP_KEYS, 2: PAPER_KEYS}, elsewhere=other_families())
    if limits is not None:
        lifted = config.limits.model_copy(update=limits.model_dump(exclude_unset=True))
        config = config.model_copy(update={"limits": lifted})
    found = [*_names(config, Path(path).stem), *size_problems(config, config.limits)]
    if check and not found:
        found += semantic_problems(config, known, say)
    problems = [f"{source.at(where)}: {message}" for where, message in found]
    if problems:
        raise ConfigError(problems)
    return config


def _names(config: Config, file_stem: str) -> Iterator[tuple[KeyPath, str]]:
    """Names of profiles and papers that are wrong."""
    known = papers()
    if config.profile != file_stem:
        yield (
            ("profile",),
            f"{config.profile!r} must be the name of its file, {file_stem!r}: "
            "the results of a profile have a folder of that name",
        )
    if config.profile in (*RESERVED_PROFILES, *known):
        yield ("profile",), f"{config.profile!r} is the name of another folder of results: choose another name"
    for paper in config.papers:
        if paper not in known:
            yield ("papers", paper), not_allowed("paper", paper, known)

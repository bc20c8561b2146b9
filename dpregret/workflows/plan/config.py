"""The models of a configuration, and the jobs that follow from it. It is read in load.py."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BaseModel, Discriminator, Field, Tag

from dpregret.workflows.families import DEFAULT, FAMILIES
from dpregret.workflows.families.fields import Experiment, Integers, Settings, Word
from dpregret.workflows.plan.limits import Limits

TAGS = {name: f"<{name}>" for name in FAMILIES}


def family_of(value: object) -> str:
    """Tag of the model that an experiment in a file, or one already read, belongs to; that of `DEFAULT` without."""
    if isinstance(value, Experiment):
        return TAGS[value.family]
    family = value.get("family", DEFAULT) if isinstance(value, dict) else DEFAULT
    return f"<{family}>"


if TYPE_CHECKING:
    AnyExperiment = Experiment
else:  # one model for each family, distinguished by the key `family`
    MODELS = [Annotated[family.experiment, Tag(TAGS[name])] for name, family in FAMILIES.items()]
    AnyExperiment = Annotated[reduce(or_, MODELS), Discriminator(family_of)]


def other_families() -> dict[str, str]:
    """Keys that not all families have -> a hint at those that do, for experiments that name another or none."""
    keys = {
        name: {family.experiment.key(each) for each in family.experiment.model_fields}
        for name, family in FAMILIES.items()
    }
    every = set.intersection(*keys.values())
    found: dict[str, str] = {}
    for key in sorted(set.union(*keys.values()) - every):
        owners = " or ".join(f"family: {name}" for name, own in keys.items() if key in own)
        found[key] = f" ({key!r} is a key of {owners})"
    return found


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
    """How long the fits and the verdicts are simulated on planted laws."""

    simulations: Annotated[int, Field(ge=20)] = 4000


class Job(NamedTuple):
    """The work of one process: one learner variant over the whole grid of one experiment."""

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

"""The models of a configuration, and how large it may be. It is read in load.py.

A run that no machine can finish is refused in one line before anything of its size is made. `--config limits=off` lifts
all bounds, `--config limits=hours:1e5` some, and `limits: {hours: 1e5}` in a profile does it for good.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, Tag

from dpregret import study
from dpregret.core import child, discovery
from dpregret.core.errors import ConfigError
from dpregret.core.machine import CHECK_GB, CHECK_SECONDS, MOST_RUNS, PLAY_MINUTES, machine_gb
from dpregret.core.yaml_source import Name, Source, expand, validate
from dpregret.workflows.families import DEFAULT, FAMILIES
from dpregret.workflows.families.interface import Experiment, SetSizes, Settings


def family_of(value: object) -> str:
    """Tag of the model of an experiment, in a file or already read; that of `DEFAULT` where it names no family."""
    if isinstance(value, Experiment):
        return f"<{value.family}>"
    family = value.get("family", DEFAULT) if isinstance(value, dict) else DEFAULT
    return f"<{family}>"


if TYPE_CHECKING:
    AnyExperiment = Experiment
else:  # one model for each family, distinguished by the key `family`
    MODELS = [Annotated[family.experiment, Tag(f"<{name}>")] for name, family in FAMILIES.items()]
    AnyExperiment = Annotated[reduce(or_, MODELS), Discriminator(family_of)]


def other_families() -> dict[str, str]:
    """Keys that not all families have -> a hint at those that do, for experiments that name another or none."""
    keys = {
        name: {family.experiment.key(field) for field in family.experiment.model_fields}
        for name, family in FAMILIES.items()
    }
    shared = set.intersection(*keys.values())
    hints: dict[str, str] = {}
    for key in sorted(set.union(*keys.values()) - shared):
        owners = " or ".join(f"family: {name}" for name, family_keys in keys.items() if key in family_keys)
        hints[key] = f" ({key!r} is a key of {owners})"
    return hints


class Paper(Settings):
    """The experiments of one paper, and the sets and dimensions whose oracles are timed one by one."""

    experiments: dict[Name, AnyExperiment] = Field(min_length=1)
    oracle_costs: Annotated[dict[str, SetSizes], BeforeValidator(expand)] = Field(default_factory=dict)


class AuditSize(Settings):
    """How much evidence the privacy audit collects: runs of each learner, and repetitions of each injected bug.

    A mechanism that keeps its claim is never accused more often than once in a million, however many runs.
    """

    runs: Annotated[int, Field(ge=100, le=MOST_RUNS)] = 16_000
    repeats: Annotated[int, Field(ge=1, le=MOST_RUNS)] = 60


class ValidationSize(Settings):
    """How long the fits and the verdicts are simulated on known laws."""

    simulations: Annotated[int, Field(ge=20, le=MOST_RUNS)] = 4000


OFF: Final = "off"
UNITS: Final = {
    "memory_gb": " GB", "hours": " CPU hours", "cells": " cells", "play_minutes": " minutes", "play_gb": " GB",
}  # fmt: skip
Most = Annotated[float, Field(gt=0, strict=False), BeforeValidator(expand)]


class Limits(Settings):
    """The most that a run may request; ``.inf`` lifts a bound.

    memory_gb: of one play, as its size predicts (left out: what this machine has). cells: of one experiment. hours: of
    CPU time, at a billion numbers a second. check_gb, check_seconds: what making the problems and learners of one
    experiment may take before it is run, half of this machine's memory at most. play_minutes, play_gb: what one
    learner's play of an experiment may take (of memory, left out: what this machine has); a play of `dpregret.play` is
    refused where its size predicts more. What one value may be is said by its field.
    """

    memory_gb: Most | None = None
    cells: Most = 10_000.0
    hours: Most = 10_000.0
    check_gb: Most = CHECK_GB
    check_seconds: Most = CHECK_SECONDS
    play_minutes: Most = PLAY_MINUTES
    play_gb: Most | None = None

    def beyond(self, name: str, value: float) -> str | None:
        """Why a value exceeds the bound of that name, and how to lift it; None where it does not."""
        bound = getattr(self, name)
        largest = machine_gb() if bound is None else bound
        if value <= largest:
            return None
        source = ", this machine's memory" if bound is None else ""
        lift = f"{math.ceil(float(value))}" if value < 1e6 else f"{float(value) * 1.05:.1e}"
        return (
            f"{_shown(value)}{UNITS.get(name, '')} is more than the limit {name}, {_shown(largest)}{source} "
            f"(to lift it: --limits {name}:{lift}, or snakemake --config limits={name}:{lift})"
        )

    def bound_imports(self) -> None:
        """From now on these are the limits of the import of a file, in this process."""
        discovery.limits.update({name: getattr(self, name) for name in discovery.limits})

    @property
    def bounds(self) -> child.Bounds:
        """Of a play, as a call of its child."""
        return child.bounds_of_play(self.play_minutes, self.play_gb)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value == value // 1 and value < 1e15 else f"{float(value):.4g}"


def parse_limits(option: object, said: str = "--config limits") -> Limits | None:
    """The limits that ``--config limits=...`` names, with what it does not name unset; None without it.

    A command on a study that takes them itself has set `study.LIMITS`. said: how the option is called in messages.
    Raises `ConfigError` for what is neither ``off`` nor ``name:number,name:number``.
    """
    if option is None and study.FOLDER:
        option, said = os.environ.get(study.LIMITS), "--limits"
    if option is None:
        return None
    if option in (OFF, False):
        return Limits.model_validate(dict.fromkeys(Limits.model_fields, math.inf))
    if isinstance(option, Mapping):
        return validate(Limits, Source(said, {str(name): value for name, value in option.items()}, {}))
    data: dict[str, str] = {}
    for pair in str(option).split(","):
        name, colon, value = map(str.strip, pair.partition(":"))
        if not colon:
            names = ", ".join(Limits.model_fields)
            raise ConfigError(f"{said}: must be {OFF} or name:number, such as hours:1e5, not {pair!r}; names: {names}")
        if name in data:
            raise ConfigError(f"{said}: {name}: given twice")
        data[name] = value
    return validate(Limits, Source(said, data, {}))


def bounds_of_play() -> child.Bounds:
    """Of what a command on a study plays."""
    return (parse_limits(None) or Limits()).bounds


def bound_imports() -> None:
    """Bound imports in this process by the limits of a command on a study."""
    if lifted := parse_limits(None):
        lifted.bound_imports()


class Config(Settings):
    """A whole configuration file.

    plays_per_job: most learner variants that one job plays: small experiments share a job, a larger one is split (left
    out: 32, and no experiment is split).
    """

    profile: Name
    seed: Annotated[int, Field(ge=0)]
    allow_few_cells: bool = False
    plays_per_job: Annotated[int, Field(ge=1)] | None = None
    limits: Limits = Limits()
    audit: AuditSize | None = None
    validation: ValidationSize | None = None
    papers: dict[Name, Paper] = Field(min_length=1)

    def experiment(self, paper: str, experiment: str) -> AnyExperiment:
        """Return one experiment; KeyError when the configuration has no such paper or experiment."""
        return self.papers[paper].experiments[experiment]

    def hash(self, paper: str, experiment: str) -> str:
        """Return 12 hexadecimal digits of everything that decides the numbers of one experiment's jobs.

        That is the seed and the experiment's settings, without its title and its list of learners: a new
        learner does not make the others run again.
        """
        settings = self.experiment(paper, experiment).model_dump(exclude={"title", "learners"})
        return _digest({"seed": self.seed, **settings})

    def fingerprint(self, paper: str) -> str:
        """Return 12 hexadecimal digits of everything that a paper's tables and figures can show."""
        return _digest({"seed": self.seed, "paper": self.papers[paper]})

    def to_json(self) -> str:
        """Return the configuration as JSON text; `of_plan` reads it back."""
        return self.model_dump_json(by_alias=True)

    @classmethod
    def of_plan(cls, text: str) -> Config:
        """The configuration of a plan, whose limits hold for imports in this process."""
        config = cls.model_validate_json(text)
        config.limits.bound_imports()
        return config


def results_of(config: Config) -> Path:
    """The folder of results of a profile."""
    return Path("results") if config.profile == "full" else Path("results") / config.profile


def _digest(content: dict[str, Any]) -> str:
    def plain(value: object) -> object:
        return value.model_dump() if isinstance(value, BaseModel) else str(value)

    text = json.dumps(content, sort_keys=True, default=plain)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def data_of(experiment: Experiment) -> list[str]:
    """The prepared data that the streams of an experiment read."""
    streams = FAMILIES[experiment.family].streams
    names = [data for name in experiment.streams if (data := streams[name].data) is not None]
    if "source" in experiment.options:
        names.append(experiment.options["source"])
    return list(dict.fromkeys(names))

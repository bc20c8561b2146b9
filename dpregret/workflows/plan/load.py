"""Reading of a configuration: everything is checked before any rule is built.

Every mistake is one line that names the file, the line, the key, the value and what is allowed there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dpregret.core.errors import ConfigError, nearest, not_allowed
from dpregret.core.validation import validate
from dpregret.core.yaml_source import KeyPath, read_source
from dpregret.datasets import records
from dpregret.workflows.families.fields import Experiment
from dpregret.workflows.plan.checks import semantic_problems
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.experiments import other_families
from dpregret.workflows.plan.limits import Limits
from dpregret.workflows.plan.profiles import PAPER_KEYS, PROFILES, TOP_KEYS, papers, profile_path, read_profile
from dpregret.workflows.plan.sizes import size_problems

RENAMED = {
    "stall_minutes": "play_minutes", "ruler": "validation", "kind": "family", "feedback": "family", "risk": "risks",
    "stream": "streams",
}  # fmt: skip
"""Keys of configurations that had another name, or are easily misspelt -> the right one."""
OPTIONS = ("profile", "limits")
"""The keys of ``--config``."""
RESERVED_PROFILES = frozenset({"reference", "log", "benchmark", "store", "made", "papers", "winners", "check"})
"""Other folders of results/, and a base."""


def declared_sources() -> list[str]:
    """Return the names of the data sets that can be downloaded on request."""
    declared = read_source(PROFILES / "sources.yaml").data
    return sorted(declared) if isinstance(declared, dict) else []


def declaration(name: str) -> Any:
    """The declaration of a data set that can be downloaded, or of records of the study; None of any other."""
    if (own := records.declaration(name)) is not None:
        return own
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
    those of the file. read: the files that are read, each with its SHA-256, are added. say: receives what is checked
    next.
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

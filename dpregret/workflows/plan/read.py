"""The plan of a run, as data: the plays, the outputs made of them, and the name of everything.

It is made in a child process (`make.py`), which imports every learner and stream; reading it takes only the standard
library. Every item of a plan is what one job makes. Its key is a hash of all that decides it.

A paper is a folder of `workflows/papers` with its `claims.yaml`; a profile is a file of `workflows/config`. Where a
study is given, it is the only paper.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import itertools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from dpregret import study
from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.files import RECORDS, atomic_write, checksum, opened
from dpregret.workflows.plan import fingerprint
from dpregret.workflows.plan.fingerprint import COMPILED, PACKAGE, ROOT, STUDY

PAPERS = study.PAPERS
PROFILES = Path(__file__).parents[1] / "config"
NOT_PROFILES = {"sources", "resources"}  # declared downloads and what jobs request, in the same folder
OF_MAINTENANCE = {"smoke", "large", "large-slice"}
"""Profiles that help and completion do not offer: a pass through every rule, and runs for a cluster."""
PLANS = Path(".snakemake") / "plans"
MOST_PLANS = 8
MADE = RECORDS.partition("/")[0]
"""The folder, in one of results, of what is neither a result nor a play: data, receipts of plays, records."""
FORMAT = 5
DIGITS = 12
"""Digits of a short key."""
TARGETS = {
    "audit": "audit/tables",
    "audit_gate": "audit/gate",
    "audit_tables": "audit/tables",
    "confirmation": "confirmation",
    "errata_page": "errata",
    "exact_losses": "audit/exact_losses",
    "gate": "gate",
    "html_report": "report",
    "planted": "audit/planted",
    "validation": "validation",
    "winners": "winners",
}
"""The rules that make one thing, which are targets, each with its item."""
VERSIONS = ("numpy", "scipy", "numba", "llvmlite", "cvxpy", "dp-accounting", "scikit-learn")
"""Libraries whose version can decide a number of a play."""
ALL_VERSIONS = (*VERSIONS, "jinja2", "latex2mathml", "matplotlib", "pandas", "pyarrow", "tabulate")
"""And those whose version can decide what is made of plays."""
OF_STUDIES = frozenset({".py", ".yaml", ".json"})
"""Files of a study that decide its plan by being there; the plan names what it reads."""
COMPARED = ("reference/**/*",)
"""Files of results that are part of keys."""


class Play(NamedTuple):
    """One learner variant of an experiment. module: that of the learner. code: fingerprint. key: name in the store."""

    learner: str
    variant: str
    module: str
    code: str
    key: str


@dataclass(frozen=True)
class ExperimentPlays:
    """The plays of an experiment whose rows are in one file: all of them, or some.

    file: its published name. settings: hash of the experiment's settings and the seed. data: name of a data set -> its
    prepared file.
    """

    paper: str
    experiment: str
    key: str
    file: str
    settings: str
    plays: tuple[Play, ...]
    data: Mapping[str, str]


class Item(NamedTuple):
    """What one job makes. key: hash of all that decides it. code: fingerprint of its code. inputs: names of items."""

    key: str
    code: str
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """See `make.py`, which writes it. file: where it is, as JSON."""

    file: Path
    content: Mapping[str, Any]

    @classmethod
    def read(cls, file: Path | str) -> Plan:
        """Raises OSError and ValueError where there is none."""
        with opened(file) as plain:
            try:
                content = json.loads(plain.read())
            except RecursionError:
                raise ValueError(f"{file}: is nested too deeply") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"{file}: not a plan of this version")
        return cls(Path(file), content)

    @property
    def config(self) -> str:
        """The configuration, as JSON text that `Config.of_plan` reads."""
        return str(self.content["config"])

    @property
    def results(self) -> str:
        """The folder of results."""
        return str(self.content["results"])

    @cached_property
    def parts(self) -> dict[str, dict[str, ExperimentPlays]]:
        """Paper -> key -> plays of an experiment, in the order of the configuration."""
        return {
            paper: {
                key: ExperimentPlays(
                    paper=paper, key=key, **{**part, "plays": tuple(Play(*play) for play in part["plays"])}
                )
                for key, part in parts.items()
            }
            for paper, parts in self.content["parts"].items()
        }

    @cached_property
    def items(self) -> dict[str, Item]:
        """Name of an item, e.g. `lou_cheung_2020/tables`, -> item; inputs come before what is made of them."""
        return {name: Item(key, code, tuple(inputs)) for name, (key, code, inputs) in self.content["items"].items()}

    def name_of(self, key: str) -> str | None:
        """The name of an item with a key; None where there is none."""
        return next((name for name, item in self.items.items() if item.key == key), None)

    def papers(self, stage: str) -> list[str]:
        """The papers for which the plan has a stage, such as `exact`."""
        return [paper for paper in self.parts if f"{paper}/{stage}" in self.items]

    def batch(self, paper: str, batch: str) -> list[ExperimentPlays]:
        """The parts of a paper that one job plays."""
        return [self.parts[paper][key] for key in self.content["batches"][paper][batch]["parts"]]

    def batches(self, paper: str) -> list[str]:
        """The names of the batches of a paper's plays."""
        return list(self.content["batches"][paper])

    def record(self, name: str) -> Path:
        """The file that says how an item was made: data are of all profiles."""
        return Path("results" if name.startswith("data/") else self.results, RECORDS, f"{name}.json")

    def files_of(self, code: str) -> list[Path]:
        """The files behind a fingerprint."""
        names = self.content["files"]
        return [fingerprint.file_of(names[number]) for number in self.content["code"][code]]

    def check_code(self, codes: Iterable[str]) -> None:
        """Raise RunsError where files are no longer those that the plan was made of."""
        from dpregret.paper_figs.judge.runs import RunsError  # late: only jobs need pandas

        fingerprint.forget()
        for code in sorted(codes):
            if fingerprint.fingerprint(self.files_of(code)) != code:
                raise RunsError("the code was edited after this job was planned: run the same command again")


def papers() -> tuple[str, ...]:
    """Return the names of all papers: the folders that hold claims, or the study alone."""
    if study.FOLDER:
        return (study.FOLDER.name,)
    return tuple(sorted(path.parent.name for path in PAPERS.glob("*/claims.yaml")))


def profile_names() -> list[str]:
    """Return the names of the profiles that come with the project."""
    excluded = NOT_PROFILES if study.FOLDER else {*NOT_PROFILES, study.PROFILE}
    return sorted({path.stem for path in PROFILES.glob("*.yaml")} - excluded)


def offered_profiles() -> list[str]:
    """Return the names of the profiles that a user is offered."""
    return [name for name in profile_names() if name not in OF_MAINTENANCE]


def profile_path(profile: object) -> Path:
    """Return the file of a profile: a name of a file in `workflows/config`, or the path of a YAML file."""
    if isinstance(profile, Path):
        return profile
    if not isinstance(profile, str) or not profile:
        raise ConfigError(f"profile: give a name or the path of a YAML file, not {profile!r}")
    if "/" in profile or profile.endswith((".yaml", ".yml")):
        return Path(profile)
    if profile not in profile_names():
        offered = not_allowed("profile", profile, offered_profiles())
        raise ConfigError(f"profile: {offered} (or the path of a YAML file)")
    return PROFILES / f"{profile}.yaml"


@cache
def versions(libraries: tuple[str, ...] = VERSIONS) -> dict[str, str]:
    """The installed versions of Python and some libraries."""
    installed = {name: importlib.metadata.version(name) for name in libraries}
    return {"python": ".".join(platform.python_version_tuple()[:2]), **installed}


def sources() -> str:
    """The hash of everything that can decide a plan: the package, the installed versions and the reference."""
    digest = hashlib.sha256(f"{sys.version} {versions(ALL_VERSIONS)} {FORMAT}".encode())
    for compared in sorted(path for pattern in COMPARED for path in Path("results").glob(pattern) if path.is_file()):
        digest.update(f"{compared} {checksum(compared)} ".encode())
    package, walked = str(ROOT / PACKAGE), set[str]()
    walks: list[Iterable[tuple[str, list[str], list[str]]]] = [os.walk(package, followlinks=True)]
    if STUDY:  # only its folders of code may be links; texts of a paper may lie beside it
        rooms = [os.walk(STUDY / room, followlinks=True) for room in study.ROOMS]
        walks += [os.walk(STUDY), *rooms, [(str(PAPERS), [], [path.name for path in PAPERS.glob("*.yaml")])]]
    for folder, below, names in itertools.chain.from_iterable(walks):
        again = (real := os.path.realpath(folder)) in walked
        walked.add(real)
        passed = below if again else (COMPILED, "cache", "results", ".snakemake")
        below[:] = sorted(name for name in below if name not in passed)
        for name in () if again else sorted(names):
            path = os.path.join(folder, name)
            counts = folder.startswith(package) or os.path.splitext(name)[1] in OF_STUDIES
            if counts and os.path.isfile(path):  # no link to nothing, as an editor leaves beside an open file
                digest.update(os.path.relpath(path, ROOT).encode() + b"\0")
                with open(path, "rb") as file:
                    digest.update(file.read() + b"\0")
    return digest.hexdigest()


def load(options: Mapping[str, Any], folder: Path = PLANS) -> Plan:
    """The plan for the options of ``--config``; made in a child where it has not been made of the same files before.

    Raises ConfigError with one line for each mistake, also where reading the learners ends the child's process.
    """
    text = json.dumps({str(key): options[key] for key in options}, sort_keys=True, default=str)
    file = folder / f"{hashlib.sha256((sources() + text).encode()).hexdigest()[:16]}.json"
    with contextlib.suppress(OSError, ValueError, KeyError):
        plan = Plan.read(file)
        if all(checksum(Path(name)) == digest for name, digest in plan.content["read"].items()):
            os.utime(file)  # so that the plan of a running job is not among the oldest
            return plan
    answer = _from_child(text)
    if answer["problems"]:
        raise ConfigError(answer["problems"])
    with atomic_write(file) as temporary:
        temporary.write_text(json.dumps(answer["plan"]), encoding="utf-8")
    for old in sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)[:-MOST_PLANS]:
        old.unlink(missing_ok=True)
    return Plan(file, answer["plan"])


def _from_child(options: str) -> dict[str, Any]:
    """The answer of a fresh interpreter (`make.main`)."""
    # this package last: what else lies beside it, say a numpy.py, hides no library
    start = f"import runpy, sys; sys.path.append({str(ROOT)!r}); "
    if not STUDY:  # whose files may use it, and are watched: see core/discovery.py
        start += "from dpregret.workflows.plan.late import late; late('pandas'); "
    start += f"runpy.run_module('{__package__}.make', None, '__main__')"
    done = subprocess.run([sys.executable, "-Pc", start, options], stdout=subprocess.PIPE, check=False)
    with contextlib.suppress(LookupError, ValueError, TypeError):
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        if done.returncode == 0 and (answer["problems"] or answer["plan"]["format"] == FORMAT):
            return answer
    raise ConfigError(f"the plan could not be made: its process ended with exit code {done.returncode}")

"""A study: a folder outside of the tree that is laid out like the tree, and is used as a part of it.

    my_study/algorithms/online/my_descent.py    dpregret.algorithms.online.my_descent
    my_study/datasets/my_losses.py              dpregret.datasets.my_losses
    my_study/data.yaml                          data sets of the study, for the streams of records
    my_study/experiments.yaml                   the paper my_study: the only paper of a run of the study
    my_study/claims.yaml                        its claims and tables, if it has any

A file of a study can be moved into the tree without an edit, and its plays keep their keys. The command names the
study in the environment variable `VARIABLE`; the variable reaches every process of a run.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

VARIABLE: Final = "DPREGRET_STUDY"
LIMITS: Final = "DPREGRET_LIMITS"
"""The variable that carries `--limits` of a command on a study to its processes."""
PROFILE: Final = "study"
"""The profile that runs all experiments of a study."""
PACKAGE: Final = Path(__file__).resolve().parent
ROOMS: Final = ("algorithms/online", "algorithms/experts", "algorithms/bandits", "algorithms/erm", "datasets")
"""Folders of a study that hold Python files."""
NEEDED: Final = ("experiments.yaml",)
DATA: Final = "data.yaml"
NAME: Final = "[a-z][a-z0-9_]*"
"""Of a study: a paper's name."""


def folder() -> Path | None:
    """The folder of the study; None where the process works on the tree alone."""
    path = os.environ.get(VARIABLE)
    return Path(path) if path else None


FOLDER: Final = folder()
PAPERS: Final = FOLDER.parent if FOLDER else PACKAGE / "workflows" / "papers"
"""Where the folders of papers are."""


def command(verb: str, paper: str = "", profile: str = "") -> str:
    """What to type for a command on the study, whose user is in another folder, else on a paper. profile: its name."""
    place = shlex.quote(str(FOLDER)) if FOLDER else paper
    usual = profile in ("", PROFILE if FOLDER else "full")
    return " ".join(filter(None, ["dpregret", verb, place, "" if usual else f"--profile {shlex.quote(profile)}"]))


def targets() -> set[str]:
    """The names of the rules of a run, which no study may have: its own rule has the name of the study."""
    rules = [path.read_text(encoding="utf-8") for path in (PACKAGE / "workflows" / "rules").glob("*.smk")]
    return {"all", *re.findall(r"^rule (\w+):", "\n".join(rules), re.MULTILINE)}


def files(study: Path) -> list[Path]:
    """The Python files of a study, in order."""
    return sorted(path for room in ROOMS for path in (study / room).glob("*.py"))


def mistakes(study: Path) -> Iterator[str]:
    """One line for each thing that keeps a folder from being a study."""
    if not study.is_dir():
        yield f"{study}: no such folder; `dpregret new {study}` writes a study"
        return
    if not re.fullmatch(NAME, study.name):
        yield f"{study}: the name of a study is small letters, digits and _, and begins with a letter"
    if study.name in targets():
        yield f"{study}: a run has a rule of this name: rename the folder"
    if (PACKAGE / "workflows" / "papers" / study.name).exists():
        yield f"{study}: dpregret has a paper of this name: rename the folder"
    for name in NEEDED:
        if not (study / name).is_file():
            yield f"{study / name}: not there; `dpregret new NAME` writes an example"
    for path in files(study):
        if (PACKAGE / path.relative_to(study)).exists():
            yield f"{path}: dpregret has a file of this name: rename this file"
        elif not path.stem.isidentifier():
            yield f"{path}: Python cannot import a file of this name: use letters, digits and _"
    for path in sorted({*study.glob("*.py"), *study.glob("algorithms/*.py")}):
        yield f"{path}: not read here; Python files of a study are in {', '.join(ROOMS)}"
    for path in sorted(path for path in (study / "algorithms").glob("*/") if path.name[0] not in "._"):
        if path.is_dir() and f"algorithms/{path.name}" not in ROOMS:
            yield f"{path}: no family of this name: allowed are {', '.join(ROOMS[:-1])}"


def mount() -> None:
    """Add the folders of the study to the search paths of the packages, after their own folders."""
    study = folder()
    for room in ROOMS if study else ():
        entry, package = str(Path(study or "") / room), f"{PACKAGE.name}.{room.replace('/', '.')}"
        path = importlib.import_module(package).__path__
        if entry not in path:
            path.append(entry)

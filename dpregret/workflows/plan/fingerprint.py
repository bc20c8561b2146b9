"""Content hashes of source code: an edit changes the names of outputs that depend on it, a touch changes nothing."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from dpregret import study
from dpregret.core.files import atomic_write

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = "dpregret"
FOLDERS = ("numerics", "core", "algorithms", "datasets", "paper_figs", "workflows")
COMPILED, INIT = "__pycache__", "__init__.py"
PAPER_FILES = "PAPER_FILES"
"""The constant of a module that names the files of a paper's folder which it reads."""
BESIDE = frozenset({"Path(__file__).with_name", "Path(__file__).resolve().with_name"})
WORKFLOWS = ROOT / PACKAGE / "workflows"
STUDY, PAPERS = study.FOLDER, study.PAPERS


@functools.cache
def name_of(path: Path) -> str:
    """The name of a file from the root on; a file of the study has the name that it would have in the tree."""
    if STUDY and path.is_relative_to(STUDY):
        return f"{PACKAGE}/{path.relative_to(STUDY).as_posix()}"
    if path.is_relative_to(ROOT):
        return path.relative_to(ROOT).as_posix()
    return f"{PACKAGE}/../{path.relative_to(PAPERS).as_posix()}"  # beside the study


def file_of(name: str) -> Path:
    """The file of such a name."""
    path = ROOT / name
    return path if path.exists() or STUDY is None else STUDY / Path(name).relative_to(PACKAGE)


@functools.cache
def module_file(module: str) -> Path | None:
    """Return the file of a module of this project (``dpregret.a.b``), None for any other name."""
    parts = module.split(".")
    if parts[0] != PACKAGE or len(parts) < 2 or parts[1] not in FOLDERS:
        return None
    stems = [ROOT.joinpath(*parts), *([STUDY.joinpath(*parts[1:])] if STUDY else [])]
    files = (file for place in stems for file in (place / INIT, place.with_suffix(".py")))  # as Python looks for them
    return next(filter(Path.is_file, files), None)


@functools.cache
def content(path: Path) -> bytes:
    """The bytes of a file, read once."""
    return path.read_bytes()


class Named(NamedTuple):
    """The names in a Python file that decide which files belong to it.

    imports: modules of this project, ``from package import name`` included. beside: files and folders, as
    ``Path(__file__).with_name("NAME")``. paper_files: its constant `PAPER_FILES`.
    """

    imports: list[str]
    beside: list[str]
    paper_files: list[str]


KEPT = Path(".snakemake") / "imports.json"
"""Digest of a file's name and content -> its `Named`; with the digest of this file, which reads it."""
_used: dict[str, Named] = {}


@functools.cache
def _kept() -> dict[str, Named]:
    """What an earlier plan has read; nothing where that cannot be used."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
        found = json.loads(KEPT.read_bytes())
        if found["reader"] == _reader():
            kept = found["named"].items()
            return {str(digest): Named(*([str(name) for name in names] for names in kinds)) for digest, kinds in kept}
    return {}


def keep() -> None:
    """Keep what was read for the next plan; an edited file is read anew."""
    if not _used.keys() <= _kept().keys():
        with contextlib.suppress(OSError), atomic_write(KEPT) as part:
            part.write_text(json.dumps({"reader": _reader(), "named": _used}), encoding="utf-8")


def _reader() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


@functools.cache
def named(path: Path) -> Named:
    """The names in a file, read once."""
    digest = hashlib.sha256(name_of(path).encode() + b"\0" + content(path)).hexdigest()
    _used[digest] = found = _kept().get(digest) or _read_names(path)
    return found


def _read_names(path: Path) -> Named:
    imports: set[str] = set()
    files: set[str] = set()
    papers: list[str] = []
    tree = ast.parse(content(path))
    for node in ast.walk(tree) if b"with_name" in content(path) else _statements(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = Path(name_of(path)).parts[:-1]
                base = ".".join([*here[: len(here) - node.level + 1], *([base] if base else [])])
            imports.add(base)
            imports |= {f"{base}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and _is_beside(node.func):
            files.add(ast.literal_eval(node.args[0]))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == PAPER_FILES:
            papers = [*ast.literal_eval(node.value or ast.Tuple([]))]
    return Named(sorted(name for name in imports if name.startswith(f"{PACKAGE}.")), sorted(files), papers)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements, whatever they are in; expressions are most of a file."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            if isinstance(inside := getattr(node, block, None), list):  # an expression has a body that is no list
                todo += inside


def _is_beside(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "with_name" and ast.unparse(function) in BESIDE


@functools.cache
def beside(path: Path) -> frozenset[Path]:
    """The files and folders beside a module that it names as `Path(__file__).with_name("NAME")`."""
    return frozenset(file for name in named(path).beside if (file := path.with_name(name)).exists())


def imported_files(modules: Iterable[str], without: Path | None = None) -> set[Path]:
    """Return the files of these modules and of all modules of this project that they import, however indirectly.

    How plans are made decides no result: what a plan holds is part of the keys. without: a file that does not count.
    """
    todo = {*_counted(map(module_file, modules))} - {without}
    files: set[Path] = set()
    while todo:
        files.add(path := todo.pop())
        todo |= _next(path) - files - {without}
    return files


def _counted(files: Iterable[Path | None]) -> frozenset[Path]:
    plan = WORKFLOWS / "plan"
    return frozenset(path for path in files if path and path.parent != plan)


@functools.cache
def _next(path: Path) -> frozenset[Path]:
    """The files that a file imports itself, and the `__init__.py` around it, which Python runs first.

    That of the API does not count.
    """
    roots = (ROOT / PACKAGE, STUDY)
    inside = itertools.takewhile(lambda folder: folder not in roots, path.parents)
    around = [file for folder in inside if (file := folder / INIT).is_file()]
    return _counted([*map(module_file, named(path).imports), *around])


def forget() -> None:
    """Empty the caches: for processes in which files may change."""
    for cached in (
        module_file,
        content,
        named,
        beside,
        _next,
        _stage_code,
        code_fingerprint,
        play_code,
        play_files,
        _below,
        _fingerprint,
    ):
        cached.cache_clear()


def spread(paths: Iterable[Path]) -> list[Path]:
    """Files, and all files of code and texts below folders, in order."""
    found = {file for path in paths for file in _below(path)}
    return sorted(found, key=attrgetter("parts"))  # the order of paths, which compare slower


@functools.cache
def _below(path: Path) -> list[Path]:
    below = path.rglob("*") if path.is_dir() else (path,)
    return [file for file in below if file.is_file() and file.parent.name != COMPILED]


def fingerprint(paths: Iterable[Path]) -> str:
    """Return 12 hexadecimal digits of the contents of files and of all the files below folders."""
    return _fingerprint(tuple(spread(paths)))


@functools.cache
def _fingerprint(files: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(name_of(path).encode() + b"\0" + content(path) + b"\0")
    return digest.hexdigest()[:12]


@functools.cache
def code_fingerprint() -> str:
    """Return the fingerprint of all Python files of the project."""
    return fingerprint(path for folder in FOLDERS for path in (ROOT / PACKAGE / folder).rglob("*.py"))


@functools.cache
def play_code(family: str, learner: str, *streams: str) -> tuple[str, list[Path]]:
    """The fingerprint of the code of a play, and its files: most plays of an experiment share them."""
    files = play_files(family, learner, *streams)
    return fingerprint(files), files


@functools.cache
def play_files(family: str, learner: str, *streams: str) -> list[Path]:
    """The code that decides the rows of a play: learner and streams are modules.

    That is: the modules of the family, everything shared (learner loop, privacy, geometry) and, of the folders of
    learners and streams, only what these modules and the family's import, and the files that they name beside
    themselves. How a configuration is read and checked does not count: its content is part of the key.
    """
    shared = [ROOT / PACKAGE / "algorithms" / name for name in ("learner.py", "privacy", "geometry")]
    families = [f"families/{name}.py" for name in ("interface", family)]
    makers = [name for name in named(WORKFLOWS / families[1]).imports if name.startswith(f"{PACKAGE}.datasets.")]
    files, reader = [WORKFLOWS / name for name in families], ROOT / PACKAGE / "core" / "yaml_source.py"
    return spread([*shared, *files, *_with_beside(imported_files([learner, *streams, *makers], without=reader))])


def stage_files(stage: str, *papers: str) -> list[Path]:
    """The code, the templates and the papers' texts that decide what the script of a stage makes.

    Its code is the script and what it imports. Families import all learners and their audits, by name. The code that
    decides rows is in the keys of plays.
    """
    if stage in ("play", "runs"):
        return [WORKFLOWS / name for name in (f"scripts/{stage}.py", "run/job.py", "run/store.py")]
    code, beyond = _stage_code(stage)
    names = [f"{paper}/{name}" for paper in papers for path in code for name in named(path).paper_files]
    texts = filter(Path.exists, {PAPERS / os.path.normpath(name) for name in names})
    return spread(_with_beside([*code, *beyond, *texts]))


@functools.cache
def _stage_code(stage: str) -> tuple[set[Path], set[Path]]:
    """The files that the script of a stage imports, and the files that its families find in folders."""
    code = imported_files([f"{PACKAGE}.workflows.scripts.{stage}"])
    found: set[Path] = set()
    if WORKFLOWS / "families" / "__init__.py" in code:  # which imports whatever lies in these folders
        folders = [ROOT / PACKAGE / "algorithms", WORKFLOWS / "families", WORKFLOWS / "audit"]
        folders += [STUDY / room for room in study.ROOMS] if STUDY else []
        found = {path for folder in folders for path in folder.rglob("*.py")}
        found |= imported_files(".".join(Path(name_of(path)).with_suffix("").parts) for path in found)
    return code, found


def _with_beside(files: Iterable[Path]) -> list[Path]:
    """Files, and the files and folders that modules among them name beside themselves."""
    return [each for path in files for each in (path, *(beside(path) if path.suffix == ".py" else ()))]

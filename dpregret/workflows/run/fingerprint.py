"""Content hashes of source code: an edit changes the names of outputs that depend on it, a touch changes nothing."""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path

from dpregret import study

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = "dpregret"
FOLDERS = ("numerics", "core", "algorithms", "datasets", "paper_figs", "workflows")
SUFFIXES = frozenset({".py", ".yaml", ".json", ".j2", ".css", ".js"})
TEXTS = ("claims", "errata", "printed", "changes")  # files about a paper
READER = ROOT / PACKAGE / "core" / "yaml_source.py"
WORKFLOWS = ROOT / PACKAGE / "workflows"
STUDY, PAPERS = study.FOLDER, study.PAPERS


def name_of(path: Path) -> str:
    """The name of a file from the root on; a file of the study has the name that it would have in the tree."""
    if STUDY and path.is_relative_to(STUDY):
        return f"{PACKAGE}/{path.relative_to(STUDY).as_posix()}"
    return path.relative_to(ROOT).as_posix()


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
    path = ROOT.joinpath(*parts)
    in_study = [STUDY.joinpath(*parts[1:]).with_suffix(".py")] if STUDY else []
    return next(filter(Path.is_file, (path.with_suffix(".py"), path / "__init__.py", *in_study)), None)


@functools.cache
def content(path: Path) -> bytes:
    """The bytes of a file, read once."""
    return path.read_bytes()


@functools.cache
def imports_of(path: Path, function: str = "") -> frozenset[str]:
    """Every name of this project that a file, or a function of it, imports; ``from package import name`` included."""
    names: set[str] = set()
    tree: ast.AST = ast.parse(content(path))
    if function:
        tree = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = Path(name_of(path)).parts[:-1]
                base = ".".join([*here[: len(here) - node.level + 1], *([base] if base else [])])
            names.add(base)
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(name for name in names if name.startswith(f"{PACKAGE}."))


def imported_files(modules: Iterable[str]) -> set[Path]:
    """Return the files of these modules and of all modules of this project that they import, however indirectly.

    How files are read and plans made decides no result: what a plan holds is part of the keys.
    """
    todo = [path for path in map(module_file, modules) if path]
    files: set[Path] = set()
    while todo:
        path = todo.pop()
        reads = path == READER or path.parent == WORKFLOWS / "plan"
        if path not in files and not reads:
            files.add(path)
            todo += [imported for imported in map(module_file, imports_of(path)) if imported]
    return files


def forget() -> None:
    """Empty the caches: for processes in which files may change."""
    for cached in (module_file, content, imports_of, code_fingerprint, play_files, _fingerprint):
        cached.cache_clear()


def spread(paths: Iterable[Path]) -> list[Path]:
    """Files, and all files of code and texts below folders, in order."""
    files: set[Path] = set()
    for path in paths:
        files |= {file for file in path.rglob("*") if file.suffix in SUFFIXES} if path.is_dir() else {path}
    return sorted(files)


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
def play_files(family: str, learner: str, *streams: str) -> list[Path]:
    """The code that decides the rows of a play: learner and streams are modules.

    That is: the modules of the family, everything shared (learner loop, privacy, geometry) and, of the folders of
    learners and streams, only what these modules and the family's import. How a configuration is read and checked does
    not count: its content is part of the key.
    """
    shared = [ROOT / PACKAGE / "algorithms" / name for name in ("learner.py", "privacy", "geometry")]
    families = [f"families/{name}.py" for name in ("base", family)]
    makers = [name for name in imports_of(WORKFLOWS / families[1]) if name.startswith(f"{PACKAGE}.datasets.")]
    files = [WORKFLOWS / name for name in families]
    return spread([*shared, *files, *imported_files([learner, *streams, *makers])])


def stage_files(function: str, *papers: str) -> list[Path]:
    """The code, the templates and the papers' texts that decide what a function of `run/stages.py` writes.

    Its code is what the function imports. Who audits all learners needs all of them.
    """
    stages = WORKFLOWS / "run" / "stages.py"
    code = imported_files(imports_of(stages, function))
    templates = {path.parent / "templates" for path in code if path.is_relative_to(ROOT / PACKAGE / "paper_figs")}
    texts = [PAPERS / paper / f"{name}.yaml" for paper in papers for name in TEXTS]
    texts += [PAPERS / "findings.yaml"] if any(path.stem == "headlines" for path in code) else []
    files = [*code, *(text for text in (*templates, *texts) if text.exists()), stages]
    if function == "audit_family":
        learners = ROOT / PACKAGE / "algorithms"
        modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in learners.rglob("*.py")]
        files += [learners, WORKFLOWS / "audit", WORKFLOWS / "families", *imported_files(modules)]
    return spread(files)

"""Content hashes of source code, so that Snakemake reruns what an edit changes and nothing that a touch changes."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "dpregret"
FOLDERS = ("algorithms", "datasets", "paper_figs", "workflows")
CORE = "core"  # the one real folder of the package; the others are links
TEXTS = ("claims", "errata", "printed")  # what is written of a paper
READERS = {"errors", "validation", "yaml_source"}  # of core: how files are read and mistakes told decides no result


@functools.cache
def module_file(module: str) -> Path | None:
    """Return the file of a module of this project (``dpregret.a.b``), None for any other name."""
    parts = module.split(".")
    if parts[0] != PACKAGE or len(parts) < 2 or parts[1] not in (*FOLDERS, CORE):
        return None
    path = (ROOT / PACKAGE if parts[1] == CORE else ROOT).joinpath(*parts[1:])
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@functools.cache
def _content(path: Path) -> bytes:
    return path.read_bytes()


_told: dict[Path, frozenset[str]] = {}


def tell(imports: Mapping[str, Sequence[str]]) -> None:
    """Take what `all_imports` found in the very code that is here, instead of parsing it again."""
    _told.update({ROOT / name: frozenset(found) for name, found in imports.items()})


def file_hashes() -> dict[str, str]:
    """File, from the top folder on -> the hash of its content, of all Python files."""
    return {path.relative_to(ROOT).as_posix(): fingerprint([path]) for path in _python_files()}


def tell_unchanged(imports: Mapping[str, Sequence[str]], hashes: Mapping[str, str]) -> None:
    """Take of what `all_imports` found in other code that of files which are the same here: hashes are of that code."""
    now, own = file_hashes(), Path(__file__).resolve().relative_to(ROOT).as_posix()
    if now.get(own) == hashes.get(own):  # what counts as an import has not changed
        tell({name: found for name, found in imports.items() if name in hashes and now.get(name) == hashes[name]})


def all_imports() -> dict[str, Sequence[str]]:
    """File, from the top folder on -> every name of ours that it imports, sorted; not of files that are no Python."""
    found: dict[str, Sequence[str]] = {}
    for path in _python_files():
        with contextlib.suppress(SyntaxError, ValueError):
            found[path.relative_to(ROOT).as_posix()] = sorted(_imports(path))
    return found


def _python_files() -> list[Path]:
    folders = [*(ROOT / folder for folder in FOLDERS), ROOT / PACKAGE / CORE]
    return [path for folder in folders for path in folder.rglob("*.py")]


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    """Return every name of ours that a file imports, submodules written as ``from package import name`` too."""
    return _told[path] if path in _told else _parsed(_content(path), path.relative_to(ROOT).parts[:-1])


@functools.cache
def _parsed(content: bytes, folders: tuple[str, ...]) -> frozenset[str]:
    """The same of the content of a file in these folders; kept by content, so that nothing need be forgotten."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = [PACKAGE, *folders]
                base = ".".join([*here[: len(here) - node.level + 1], *([base] if base else [])])
            found.add(base)
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(name for name in found if name.startswith(f"{PACKAGE}."))


def imported_files(modules: Iterable[str]) -> set[Path]:
    """Return the files of the given modules and of everything of ours that these import, however indirectly."""
    todo = [path for path in map(module_file, modules) if path]
    found: set[Path] = set()
    while todo:
        path = todo.pop()
        if path not in found and not (path.parent.name == CORE and path.stem in READERS):
            found.add(path)
            todo += [each for each in map(module_file, _imports(path)) if each]
    return found


def forget() -> None:
    """Read every file anew: for processes that see files change."""
    _told.clear()
    for cached in (module_file, _content, _imports, code_fingerprint, _learner_fingerprint):
        cached.cache_clear()


def fingerprint(paths: Iterable[Path]) -> str:
    """Return 12 hexadecimal digits of the contents of files and of all the files below folders."""
    digest = hashlib.sha256()
    files: set[Path] = set()
    for path in paths:
        if path.is_dir():
            files |= {each for each in path.rglob("*") if each.suffix in {".py", ".yaml", ".rst", ".j2", ".css", ".js"}}
        else:
            files.add(path)
    for path in sorted(files):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + _content(path) + b"\0")
    return digest.hexdigest()[:12]


@functools.cache
def code_fingerprint() -> str:
    """Return the fingerprint of all Python files of the project."""
    return fingerprint(_python_files())


def learner_fingerprint(family: str, learner: str, streams: Iterable[str]) -> str:
    """Return the fingerprint of the code that decides a learner's results: learner and streams are modules.

    That is: the job, the family's module, everything shared (learner loop, privacy, geometry) and, of the folders of
    learners and streams, only what these modules and the family's import. How a configuration is read and checked
    does not count: its content has a hash of its own.
    """
    return _learner_fingerprint(family, learner, tuple(sorted(streams)))


@functools.cache
def _learner_fingerprint(family: str, learner: str, streams: tuple[str, ...]) -> str:
    shared = [ROOT / "algorithms" / name for name in ("learner.py", "privacy", "geometry")]
    families = [f"families/{name}.py" for name in ("base", family, "answers")]
    own = ("job.py", "precision.py", "seeds.py", "hindsight.py", "scripts/run.py")
    job = [ROOT / "workflows" / name for name in (*own, *families)]
    job.append(ROOT / "paper_figs" / "stopping.py")
    makers = [name for name in _imports(ROOT / "workflows" / families[1]) if name.startswith(f"{PACKAGE}.datasets.")]
    return fingerprint([*shared, *job, *imported_files([learner, *streams, *makers])])


def module_fingerprint(module: str, script: str) -> str:
    """Return the fingerprint of a module of ours, of all that it imports, and of the script that calls it."""
    own = {path for path in imported_files([module]) if path.parent.name != "workflows" or path.stem in module}
    return fingerprint([*own, ROOT / "workflows" / "scripts" / script])


def audit_fingerprint() -> str:
    """Return the fingerprint of all learners, of the losses that they are audited on, and of the audit."""
    folders = [ROOT / name for name in ("algorithms", "datasets/losses.py", "workflows/audits", "workflows/families")]
    return fingerprint([*folders, ROOT / "workflows" / "scripts" / "audit.py"])


def data_fingerprint() -> str:
    """Return the fingerprint of the code that prepares bundled data."""
    modules = [f"{PACKAGE}.datasets.{name}" for name in ("bundled", "expert_data", "flights")]
    return fingerprint([*imported_files(modules), ROOT / "workflows" / "scripts" / "data.py"])


def figures_fingerprint(script: str, *papers: str) -> str:
    """Return the fingerprint of the code, the templates and the papers' texts that decide what a script writes."""
    own = ROOT / "workflows" / "scripts" / script
    code = imported_files(name for name in _imports(own) if not name.startswith(f"{PACKAGE}.workflows"))
    templates = {path.parent / "templates" for path in code if (path.parent / "templates").is_dir()}
    folders = [ROOT / "workflows" / "papers" / paper for paper in papers]
    texts = [path for folder in folders for name in TEXTS if (path := folder / f"{name}.yaml").exists()]
    return fingerprint([*code, *templates, *texts, own])

"""The files of a finished run: list them, verify them, and pack them into one file.

    dpregret verify results
    python -m dpregret.workflows.run.archive results build/dpregret-full.tar.gz
    python -m dpregret.workflows.run.archive results build/dpregret-full.crate.zip

`SHA256SUMS` lists the files of a run, `origin.json` says where they were made. An archive also has the lock of its
packages. The same results give the same archive, whoever packs them, where and when: names are sorted, dates and owners
left out. A Workflow Run RO-Crate has checksums, the workflow, and where it was made.

Checksums reveal damage, edits and files of another run; they are not a signature: whoever can write the files can write
their list too. Archives of strangers are unpacked within bounds, or refused in one line. No name of a user, host or
folder is in an origin.
"""

from __future__ import annotations

import datetime
import gzip
import io
import json
import os
import platform
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Any, Final

import typer
from threadpoolctl import threadpool_info

import dpregret
from dpregret.core import boundary
from dpregret.core.errors import one_line, printable_line
from dpregret.core.files import atomic_write, checksum
from dpregret.core.files import opened as plain_file
from dpregret.core.machine import machine
from dpregret.paper_figs.judge.result_tables import FILES, JOBS
from dpregret.paper_figs.report.provenance import git
from dpregret.workflows.plan.fingerprint import ROOT, code_fingerprint

SUMS, ORIGIN = "SHA256SUMS", "origin.json"
BESIDE: Final = ("log", "benchmark", "store", "made", "reference", "check", "confirmation")
"""Folders in one of results that are not part of the finished run."""
MARK: Final = ".snakemake_timestamp"
CLAIMS: Final = FILES["claim"]
"""The table of a paper's claims."""
WITH_CLAIMS: Final = (FILES["check"], JOBS)
"""Tables that every run writes beside it."""
_LINE: Final = re.compile(r"([0-9a-f]{64})  (.+)")
INSIDE: Final = "results"
"""Where the folder of results is in an archive."""
LOCK: Final = "requirements/run.txt"
"""The only other file in it."""
MOST_FILES, MOST_BYTES = 50_000, 1 << 30
"""Of an archive that is read."""
METADATA: Final = "ro-crate-metadata.json"
WORKFLOW: Final = "Snakefile"
LANGUAGE: Final = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
CRATE: Final = "https://w3id.org/ro/crate/1.1"
PROFILES: Final = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
"""Profile of the crate -> name and version."""


class UnreadableError(ValueError):
    """Neither results nor an archive, or no list of files: nothing can be verified. One line."""


def plain_name(name: str) -> bool:
    """Whether a name is a normalised path below its folder."""
    path = PurePosixPath(name)
    return str(path) == name and not path.is_absolute() and ".." not in path.parts and not set(name) & set("\\\n\r\0")


def unpack(packed: IO[bytes], folder: Path) -> None:
    """Write the files of an archive below an empty folder. Raises UnreadableError; what it wrote is then of no use."""
    try:
        with gzip.open(packed) as stream:
            content = stream.read(MOST_BYTES + 1)
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as opened:
            members = opened.getmembers()
            size = max(len(content), sum(member.size for member in members))  # of sparse files the latter is more
            if size > MOST_BYTES or len(members) > MOST_FILES:
                raise UnreadableError(f"more than {MOST_BYTES >> 20} MiB, or {MOST_FILES} files")
            for member in members:
                _write(opened, member, folder)
    except gzip.BadGzipFile:
        raise UnreadableError("neither a folder of results nor an archive of one (.tar.gz)") from None
    except (tarfile.TarError, OSError, EOFError, MemoryError, RecursionError, ValueError, zlib.error) as fault:
        raise UnreadableError(one_line(fault) or type(fault).__name__) from None


def _write(opened: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write one plain file of an archive below a folder; folders come with their files."""
    name = member.name
    if not plain_name(name) or not (member.isreg() or member.isdir()):
        raise UnreadableError(f"{name}: a link, no plain file, or a name that leads out of the archive")
    content = opened.extractfile(member)
    if content is None:  # a folder
        return
    path = folder / name
    if path.exists():
        raise UnreadableError(f"{name}: twice in the archive")
    path.parent.mkdir(parents=True, exist_ok=True)
    with content, path.open("xb") as output:
        shutil.copyfileobj(content, output)


def origin(profile: str, keys: Mapping[str, str]) -> dict[str, Any]:
    """Current commit and machine, and the key of each published name; None where unknown.

    dirty: whether files that git follows differ from the commit. kernels: the linear algebra that NumPy and SciPy use,
    whose rounding depends on the processor.
    """
    import scipy.linalg  # noqa: F401 - it brings its own library, and NumPy's

    top = git(ROOT, "rev-parse", "--show-toplevel")
    is_top = top is not None and Path(top).resolve() == ROOT  # not a repository that this folder happens to lie in
    changed = git(ROOT, "status", "--porcelain", "--untracked-files=no") if is_top else None
    blas = [library for library in threadpool_info() if library.get("user_api") == "blas"]
    return {
        "profile": profile,
        "commit": git(ROOT, "rev-parse", "HEAD") if is_top else None,
        "dirty": None if changed is None else bool(changed),
        "dpregret": dpregret.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": machine(),
        "kernels": sorted({f"{e['internal_api']} {e['version']} {e.get('architecture', '')}".strip() for e in blas}),
        "code": code_fingerprint(),
        "lock": lock(),
        "keys": dict(sorted(keys.items())),
    }


def lock(root: Path = ROOT) -> str | None:
    """SHA-256 of the lock below a folder, that of this code where none is given; None where there is no lock."""
    return checksum(root / LOCK) if (root / LOCK).is_file() else None


def write_sums(results: Path, names: Iterable[str], origin: Mapping[str, Any]) -> None:
    """Write origin and list of a finished run; the name of a folder stands for all files below it. Raises OSError."""
    with atomic_write(results / ORIGIN) as temporary:
        temporary.write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")
    paths = [results / ORIGIN]
    for path in (results / name for name in names):
        paths += [file for file in path.rglob("*") if file.is_file() and file.name != MARK] if path.is_dir() else [path]
    sums = {path.relative_to(results).as_posix(): checksum(path) for path in paths}
    if not all(map(plain_name, sums)):
        raise ValueError(f"{results}: a name that no list of checksums can hold")
    with atomic_write(results / SUMS) as temporary:
        temporary.write_text(_written(sums), encoding="utf-8")


def _written(sums: Mapping[str, str]) -> str:
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))


def _plain(folder: Path, name: str) -> bool:
    """Whether a name is that of a file in the folder, and no link leads to it."""
    path = folder.resolve() / name
    return path.is_file() and path.resolve() == path


def _text(folder: Path, name: str) -> str:
    if not _plain(folder, name):
        if (folder.resolve().parent / name).is_file():  # of one paper, inside of a run
            raise UnreadableError(
                f"no {name}: the list of the whole run is a folder above: dpregret verify {folder.parent}"
            )
        raise UnreadableError(f"no {name}: a run that ends without an error writes the list; run its command again")
    return (folder / name).read_text(encoding="utf-8", errors="backslashreplace")


def listed(folder: Path) -> dict[str, str]:
    """File -> SHA-256, as listed. Raises UnreadableError for a list that is not as `write_sums` writes it."""
    text = _text(folder, SUMS)
    sums = {match[2]: match[1] for line in text.split("\n") if (match := _LINE.fullmatch(line))}
    if ORIGIN not in sums or _written(sums) != text or not all(map(plain_name, sums)):
        raise UnreadableError(f"{SUMS}: edited or damaged")
    return sums


def described(folder: Path) -> dict[str, Any]:
    """The origin of a run; empty where it cannot be read."""
    try:
        return dict(json.loads(_text(folder, ORIGIN)))
    except (ValueError, TypeError, RecursionError):
        return {}


def faults(folder: Path) -> list[str]:
    """One line for each file that is not as listed. Raises UnreadableError where there is no list, and OSError."""
    # other profiles, finished or not, have their own list or logs, and the folders of papers below them
    others = {file.parent for name in (SUMS, "log") for file in folder.glob(f"*/{name}")}
    beside = {path.name for path in others if not (path / CLAIMS).exists()}.union(BESIDE)
    tops = [path for path in folder.iterdir() if path.name not in beside]
    entries = [path for top in tops for path in (top, *top.rglob("*"))]
    message = "not listed; left from another configuration, or put there by hand"
    names = {path.relative_to(folder).as_posix() for path in _files(entries) if path.name != MARK}
    return changed(folder) + [f"{name}: {message}" for name in sorted(names - {*listed(folder), SUMS})]


def changed(folder: Path) -> list[str]:
    """One line for each listed file that is another one, or not there. Raises as `faults`."""
    return [f"{name}: {fault}" for name, digest in listed(folder).items() if (fault := _fault(folder, name, digest))]


def tables(folder: Path) -> list[Path]:
    """The CSV files of the papers in a folder of results: of those listed, or of all where the folder has no list.

    A paper is a folder with a table of claims. Raises UnreadableError for a list that is edited, for a listed table
    that is another one, for one beside them that is not listed, and, without a list, for a folder with claims alone.
    """
    files = sorted(path for path in folder.glob("*/*.csv") if path.parent.name not in BESIDE)
    papers = {path.parent for path in files if path.name == CLAIMS}
    if os.path.lexists(folder / SUMS):
        sums = listed(folder)
        papers = {folder / name.removesuffix(f"/{CLAIMS}") for name in sums if re.fullmatch(rf"[^/]+/{CLAIMS}", name)}
        names = {name for name in sums if (folder / name).parent in papers and name.endswith(".csv")}
        names |= {path.relative_to(folder).as_posix() for path in files if path.parent in papers}
        for name in sorted(names):
            if fault := _fault(folder, name, sums[name]) if name in sums else "not listed":
                raise UnreadableError(f"{name}: {fault}")
    elif missing := [paper / name for paper in sorted(papers) for name in WITH_CLAIMS if not (paper / name).is_file()]:
        raise UnreadableError(f"no results of dpregret: {missing[0].relative_to(folder)} is missing")
    return [path for path in files if path.parent in papers]


def _files(entries: Iterable[Path]) -> list[Path]:
    return [path for path in entries if path.is_symlink() or not path.is_dir()]


def _fault(folder: Path, name: str, digest: str) -> str:
    if not os.path.lexists(folder / name):
        return "missing"
    if not _plain(folder, name):
        return "a link, or no plain file"
    return "" if checksum(folder / name) == digest else "changed since the run was finished"


@contextmanager
def opened(path: Path, content: bytes | None = None) -> Iterator[tuple[Path, list[str]]]:
    """The folder of results at a path, and its faults; that of an archive is a temporary one.

    content: of an archive that has been read already. Raises UnreadableError and OSError.
    """
    if path.is_dir():
        yield path, faults(path)
        return
    if content is None and not path.is_file():
        raise UnreadableError("no such file or folder")
    with tempfile.TemporaryDirectory(prefix="dpregret-") as name:
        with plain_file(path) if content is None else io.BytesIO(content) as packed:
            unpack(packed, Path(name))
        folder = Path(name) / INSIDE
        problems = changed(folder)
        names = {path.relative_to(name).as_posix() for path in _files(Path(name).rglob("*"))}
        expected = {LOCK, *(f"{INSIDE}/{each}" for each in (SUMS, *listed(folder)))}
        problems += [f"{each}: not listed" for each in sorted(names - expected)]
        if described(folder).get("lock") != lock(Path(name)):
            problems.append(f"{LOCK}: not the lock file that the run was made with")
        yield folder, problems


def main(places: Sequence[Path] = (Path("results"),)) -> int:
    """The command `dpregret verify`: one line a fault. Exit code 0: all is as listed; 1: something is not; 2: there is
    nothing that can be checked."""
    worst = 0
    for path in places:
        try:
            with opened(path) as (folder, problems):
                run, count = described(folder), len(listed(folder))
        except (UnreadableError, OSError, MemoryError) as fault:
            print(printable_line(f"dpregret: {path}: {one_line(fault) or type(fault).__name__}"), file=sys.stderr)
            worst = 2
            continue
        commit = f"commit {run.get('commit')}{' and changes' * bool(run.get('dirty'))}, profile {run.get('profile')}"
        part = ", a part of the profile" * bool(run.get("part"))
        for line in problems or [f"{count} files as listed, made with {commit}{part}"]:
            print(printable_line(f"{path}: {line}"))
        worst = max(worst, int(bool(problems)))
    return worst


def write(results: Path, output: Path) -> None:
    """Archive the files that a folder of results lists. Raises UnreadableError and OSError."""
    content = {f"{INSIDE}/{name}": results / name for name in (SUMS, *listed(results))}
    content |= {LOCK: ROOT / LOCK} if (ROOT / LOCK).is_file() else {}
    with atomic_write(output) as temporary, temporary.open("wb") as raw:
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
        with packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as opened:
            for name, path in sorted(content.items()):
                member = tarfile.TarInfo(name)  # date 0, owner 0, mode 644
                with plain_file(path) as file:
                    member.size = path.stat().st_size
                    opened.addfile(member, file)


def metadata(files: Mapping[str, str], origin: Mapping[str, Any], finished: datetime.datetime) -> dict[str, Any]:
    """The JSON-LD of a crate. files: name -> SHA-256; origin: what origin.json says; finished: end of the run, UTC."""

    def at(*names: str) -> list[dict[str, str]]:
        return [{"@id": name} for name in names]

    files = {f"{INSIDE}/{name}": digest for name, digest in files.items()}
    (language,) = at(LANGUAGE)
    author = {"@id": "#contributors", "@type": "Organization", "name": "The dpregret contributors"}
    run = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"dpregret, profile {origin.get('profile')}",
        "description": f"commit {origin.get('commit')}, Python {origin.get('python')}, {origin.get('system')}",
        "endTime": finished.isoformat(),
        "instrument": {"@id": WORKFLOW},
        "object": at("#profile"),
        "result": at(*files),
    }
    profile = {"@id": "#profile", "@type": "PropertyValue", "name": "profile", "value": str(origin.get("profile"))}
    workflow = {
        "@id": WORKFLOW,
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "dpregret",
        "programmingLanguage": language,
        "version": str(origin.get("dpregret")),
        "author": at("#contributors"),
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": run["name"],
        "description": "A finished run of dpregret",
        "datePublished": finished.date().isoformat(),
        "license": {"@id": "https://spdx.org/licenses/MIT"},
        "conformsTo": at(*PROFILES),
        "hasPart": at(WORKFLOW, *files),
        "mainEntity": {"@id": WORKFLOW},
        "mentions": at("#run"),
    }
    descriptor = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": at(CRATE, "https://w3id.org/workflowhub/workflow-ro-crate/1.0"),
    }
    further = [
        {"@id": "https://spdx.org/licenses/MIT", "@type": "CreativeWork", "name": "MIT License"},
        {**language, "@type": "ComputerLanguage", "name": "Snakemake", "url": "https://snakemake.readthedocs.io"},
        *(
            {"@id": url, "@type": "CreativeWork", "name": name, "version": version}
            for url, (name, version) in PROFILES.items()
        ),
        *({"@id": name, "@type": "File", "sha256": digest} for name, digest in files.items()),
    ]
    context = [f"{CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context"]
    return {"@context": context, "@graph": [descriptor, root, workflow, author, run, profile, *further]}


def write_crate(results: Path, output: Path) -> None:
    """Pack the files that a folder of results lists, with metadata. Raises UnreadableError and OSError."""
    files = listed(results)
    finished = datetime.datetime.fromtimestamp((results / SUMS).stat().st_mtime, datetime.UTC)
    content = metadata(files, described(results), finished.replace(microsecond=0))
    with atomic_write(output) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(METADATA, json.dumps(content, indent=1) + "\n")
        packed.write(ROOT / WORKFLOW if (ROOT / WORKFLOW).is_file() else ROOT / "dpregret" / WORKFLOW, WORKFLOW)
        for name in sorted(files):
            packed.write(results / name, f"{INSIDE}/{name}")


def pack(
    results: Annotated[Path, typer.Argument(help="A folder of results.")],
    output: Annotated[Path, typer.Argument(metavar="FILE", help="What is written: .tar.gz, or .zip for a crate.")],
) -> int:
    """Put a finished run, whose files are as listed, into one file; exit codes are those of `dpregret verify`."""
    code = main([results])
    crate = output.suffix == ".zip"
    if not code and not crate and described(results).get("lock") != lock():
        print(f"{ROOT / LOCK}: not the lock file that the run was made with", file=sys.stderr)
        code = 2
    if code:
        print(f"{results}: not archived", file=sys.stderr)
        return code
    (write_crate if crate else write)(results, output)
    print(f"{output}: {output.stat().st_size >> 10} KiB, sha256 {checksum(output)}")
    return 0


if __name__ == "__main__":
    boundary.run(pack)

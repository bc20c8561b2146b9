"""Is a folder of results, or an archive of one, what its manifest says? Offline, and without unpacking anything.

    python -m dpregret.verify results            a folder
    python -m dpregret.verify results.tar.gz     an archive (make archive)

One line for each file that is missing, changed or not listed, or does not fit what its job sealed or it says itself.
Exit code 0: all is as listed; 1: something is not; 2: there is nothing that can be checked. Checksums tell damage,
edits and files of another run; they are no signature: who can write all of a folder can write its manifest too.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from dpregret.core import stamped
from dpregret.workflows import archive, seals
from dpregret.workflows.archive import LOCK, NAME
from dpregret.workflows.manifest import FORMAT, RECORDS

CELLS = 3 * 10**7  # of a Parquet file: what is larger is not decoded
OTHERS = ("reference", "speed")  # folders beside the results of the full profile that are no part of a run
SHA256 = 64
TEXT = 32 << 20  # bytes of a manifest or a seal


class NothingToCheckError(ValueError):
    """No results, no archive, no manifest: one line."""


UNREADABLE = (
    NothingToCheckError, archive.RefusedError, tarfile.TarError, OSError, EOFError, MemoryError, zlib.error,
)  # fmt: skip
"""What `check` raises where there is nothing that can be checked."""


@dataclass
class Contents:
    """What is there: name -> SHA-256 of every file, the bytes of seals and manifest, and what is wrong already."""

    sums: dict[str, str] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    stamps: dict[str, stamped.Stamp] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, name: str, file: IO[bytes]) -> None:
        """Take in a file; of Parquet files the content too."""
        if name.endswith(".parquet"):
            content = file.read(archive.LARGEST + 1)
            if len(content) > archive.LARGEST:
                raise archive.RefusedError(f"{name}: larger than {archive.LARGEST >> 20} MiB")
            self.sums[name] = hashlib.sha256(content).hexdigest()
            try:
                stamped.read(io.BytesIO(content), most=CELLS)
                self.stamps[name] = stamped.Stamp.of(io.BytesIO(content))
            except stamped.StampError as fault:
                self.faults.append(f"{name}: {fault}")
            return
        digest, kept = hashlib.sha256(), bytearray()
        keep = name in (NAME, archive.PROVENANCE) or name.startswith(f"{seals.FOLDER}/")
        while part := file.read(1 << 20):
            digest.update(part)
            kept += part if keep else b""
            if len(kept) > TEXT:
                raise archive.RefusedError(f"{name}: larger than {TEXT >> 20} MiB")
        self.sums[name] = digest.hexdigest()
        if keep:
            self.texts[name] = bytes(kept)


def of_folder(root: Path) -> Contents:
    """The contents of a folder of results, without those of other profiles in it. Links are not followed."""
    found = Contents()

    def walk(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            name = path.relative_to(root).as_posix()
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                found.faults.append(f"{name}: a link, or no plain file")
            elif path.is_file():
                yield path
            elif folder != root or not (name in OTHERS or (path / NAME).exists() or (path / seals.FOLDER).exists()):
                yield from walk(path)

    for path in walk(root):
        if path.name != seals.MARK:
            with path.open("rb") as file:
                found.add(path.relative_to(root).as_posix(), file)
    return found


def of_archive(path: Path) -> tuple[Contents, Contents]:
    """The contents of an archive: those of its results, and what stands beside them."""
    found, beside = Contents(), Contents()
    for name, file in archive.members(path):
        inside = name.removeprefix(f"{archive.INSIDE}/")
        (found if inside != name else beside).add(inside, file)
    return found, beside


def read_manifest(contents: Contents) -> dict[str, Any]:
    """The manifest, its parts of the right kinds."""
    try:
        said = json.loads(contents.texts[NAME])
        if said["format"] != FORMAT:
            raise NothingToCheckError(f"{NAME}: format {said['format']!r}, this is {FORMAT}")
        files = {str(name): dict(each) for name, each in said["files"].items()}
        jobs = {str(name): [str(each) for each in asked] for name, asked in said["jobs"].items()}
        if any(len(each["sha256"]) != SHA256 for each in files.values()):
            raise ValueError("a checksum is cut")
        return {**said, "files": files, "jobs": jobs, "whole": said}
    except NothingToCheckError:
        raise
    except KeyError as fault:
        if fault.args == (NAME,):
            raise NothingToCheckError(f"no {NAME}: not a finished run; run its command again") from None
        raise NothingToCheckError(f"{NAME}: no {fault}") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as fault:
        raise NothingToCheckError(f"{NAME}: damaged ({' '.join(str(fault).split())[:100]})") from None


def faults(contents: Contents, manifest: Mapping[str, Any]) -> Iterator[str]:
    """One line for each thing that is wrong."""
    files: Mapping[str, Mapping[str, Any]] = manifest["files"]
    if manifest.get("finished") is not True:
        yield f"{NAME}: the run was not finished"
    if archive.self_checked(manifest["whole"]) != manifest["whole"]:
        yield f"{NAME}: edited or damaged"
    yield from contents.faults
    for name, entry in files.items():
        if name not in contents.sums:
            yield f"{name}: missing"
        elif contents.sums[name] != entry["sha256"]:
            yield f"{name}: changed since the manifest was written"
    for name in contents.sums:
        if name not in files and name != NAME and not name.startswith(tuple(f"{each}/" for each in RECORDS)):
            yield f"{name}: not in the manifest; left from another configuration, or put there by hand"
    for job, asked in manifest["jobs"].items():
        yield from _job_faults(job, asked, contents, files)


def _job_faults(
    job: str, asked: Sequence[str], contents: Contents, files: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """What does not fit the seal of a job."""
    place = f"{seals.FOLDER}/{job}.json"
    try:
        seal = seals.Seal.parse(contents.texts[place])
    except KeyError:
        yield f"{place}: no seal"
        return
    except (ValueError, TypeError, AttributeError, RecursionError):
        yield f"{place}: damaged"
        return
    if list(seal.asked) != list(asked):
        yield f"{place}: sealed with other settings or code than the manifest says"
    for name, digest in seal.outputs.items():
        if name in files and files[name]["sha256"] != digest:
            yield f"{name}: the manifest lists another file than its job sealed"
        stamp = contents.stamps.get(name)
        if stamp and (stamp.config, stamp.code) != (" ".join(asked[:-1]), asked[-1] if asked else ""):
            yield f"{name}: says that it was made with other settings or code than its job was asked"
    for name, digest in seal.inputs.items():
        if name in files and files[name]["sha256"] != digest:
            yield f"{place}: was made from another {name}"


def check(path: Path) -> tuple[list[str], dict[str, Any]]:
    """Everything that is wrong with a folder or an archive, and its manifest. Raises one of `UNREADABLE`."""
    if path.is_dir():
        contents = of_folder(path)
        manifest = read_manifest(contents)
        return list(faults(contents, manifest)), manifest
    if not path.exists():
        raise NothingToCheckError("no such file or folder")
    contents, beside = of_archive(path)
    manifest = read_manifest(contents)
    found = list(faults(contents, manifest))
    return [*found, *_beside_faults(beside, manifest)], manifest


def _beside_faults(beside: Contents, manifest: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the files of an archive that are no results."""
    if beside.sums.get(LOCK) != manifest.get("lock"):
        yield f"{LOCK}: not the lock file that the results were made with"
    try:
        said = json.loads(beside.texts[archive.PROVENANCE])
        whole, listed = archive.self_checked(said) == said, dict(said["files"])
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        whole, listed = False, {}
    if not whole:
        yield f"{archive.PROVENANCE}: missing, edited or damaged"
        return
    for name in {**listed, **beside.sums}:
        if name != archive.PROVENANCE and listed.get(name) != beside.sums.get(name):
            yield f"{name}: not the file that {archive.PROVENANCE} lists"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong with each folder or archive; the worst of their exit codes."""
    parser = argparse.ArgumentParser(prog="dpregret verify", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="RESULTS", help="a folder of results, or an archive")
    worst = 0
    for path in parser.parse_args(arguments).paths:
        try:
            found, manifest = check(path)
        except UNREADABLE as fault:
            print(f"{path}: {' '.join(str(fault).split()) or type(fault).__name__}", file=sys.stderr)
            worst = 2
            continue
        for line in found:
            print(f"{path}: {line}")
        if found:
            print(f"{path}: {len(found)} fault{'s' * (len(found) > 1)}")
            worst = max(worst, 1)
        else:
            print(
                f"{path}: {len(manifest['files'])} files are as listed; what equal runs share: {manifest['same'][:16]}"
            )
    return worst


if __name__ == "__main__":
    sys.exit(main())

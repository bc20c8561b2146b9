"""Whole files or none: writing that a crash cannot leave half done; reading from plain files only."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

RECORDS: Final = "made/records"
"""The folder, in one of results, of how each item was made (`workflows/run/freshness.py`)."""


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a fresh name beside ``path``, for a file or a folder.

    It replaces ``path`` on success and is removed on any exception.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        yield temporary
        if path.is_dir():
            shutil.rmtree(path)
        os.replace(temporary, path)
    finally:
        remove(temporary)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def opened(path: Path | str) -> io.BufferedReader:
    """A plain file for reading bytes; a pipe or a device may have no end. Raises OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a device can do harm
        raise OSError(errno.EINVAL, "is not a plain file", str(path))
    return open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")


def inside(folder: Path, name: str) -> Path:
    """The path of a name below a folder. Raises ValueError for a name, or a link, that leads elsewhere."""
    path = Path(name)
    if not name or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ValueError(f"must be a path below its folder, without .., not {name!r}")
    if not (folder / path).resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{name!r} is a link that leads out of its folder: copy the file")
    return folder / path


def checksum(path: Path) -> str:
    """SHA-256 of a file. Raises OSError."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def reference(results: Path | str = "results") -> Path:
    """The committed tables of a folder of results: those below the working folder, else of the clone of this code, else
    of the package."""
    below, package = Path("results") / "reference", Path(__file__).resolve().parents[1]
    folders = (folder for folder in (below, package.parent / below) if folder.is_dir())
    return next(folders, package / below) / Path(results).relative_to("results")

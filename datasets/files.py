"""Whole files or none: writing that a crash cannot leave half done, reading that tells which file is damaged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a fresh name beside ``path``; it replaces ``path`` on success and is removed on any exception."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_arrays(path: Path, what: str, *names: str) -> list[np.ndarray[Any, Any]]:
    """Arrays of an .npz by name. Raises ValueError that names the file and `what` it should hold."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return [np.asarray(archive[name]) for name in names]
    except Exception as error:  # a damaged archive raises whatever its damage looks like
        raise ValueError(f"{path}: not a readable .npz of {what} ({error})") from error

"""Whole files or none: writing that a crash cannot leave half done."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4


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


def checksum(path: Path) -> str:
    """SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def keep(path: Path, content: object) -> None:
    """Write what one command leaves for the next, as JSON below its checksum."""
    text = json.dumps(content, sort_keys=True)
    with atomic_write(path) as temporary:
        temporary.write_text(f"{_sum(text)}\n{text}", encoding="utf-8")


def kept(path: Path) -> Any:
    """What `keep` wrote; None where nothing is there, or not as it was written."""
    try:
        told, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    return json.loads(text) if told == _sum(text) else None


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

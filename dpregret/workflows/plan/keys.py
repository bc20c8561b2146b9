"""Names of the store: a hash of what decides something is the name of its file."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Final

from dpregret.core.machine import machine

STORE: Final = Path("results") / "store"


def key_of(content: object) -> str:
    """SHA-256 of what decides something, as JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def file_of(key: str, store: Path = STORE) -> Path:
    """Where the rows of a key are."""
    return store / key[:2] / f"{key}.parquet"


@cache
def here() -> str:
    """This machine, as far as it decides how long things take."""
    return machine()


def holds(key: str, store: Path = STORE) -> bool:
    """Whether the rows of a key are there, by their name alone."""
    return file_of(key, store).is_file()

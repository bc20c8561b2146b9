"""The store of plays: one Parquet file each, named by the hash of what decides its rows.

What is there under its name is as fresh as if it were played now, on whatever branch or machine it was made: settings,
code, data, versions and seed are all in the name. A file whose numbers are not those that were written counts as
missing. Seconds are in no name; the stamp says on which machine they were measured.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd

from dpregret.core import parquet
from dpregret.core.machine import machine
from dpregret.core.parquet import Stamp, StampError

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


def write(rows: pd.DataFrame, key: str, config: str, code: str, store: Path = STORE) -> None:
    """Keep the rows of a key; the file appears whole or not at all."""
    parquet.write(rows, file_of(key, store), Stamp(config, code, labels={"key": key, "machine": here()}))


def read(key: str, store: Path = STORE) -> pd.DataFrame | None:
    """The rows of a key, None where there are none, or not as they were written.

    Times that another machine has measured are left out.
    """
    file = file_of(key, store)
    if not file.is_file():
        return None
    try:
        labels, rows = Stamp.of(file).labels, parquet.read(file)
    except StampError:
        return None
    if labels.get("key") != key:
        return None
    if labels.get("machine") != here():
        rows = rows.drop(columns=[name for name in rows if str(name).startswith(parquet.TIMED)])
    return rows


def holds(key: str, store: Path = STORE) -> bool:
    """Whether the rows of a key are there, by their name alone."""
    return file_of(key, store).is_file()


def missing(keys: Any, store: Path = STORE) -> list[str]:
    """Those of some keys that have no file."""
    return [key for key in keys if not holds(key, store)]

"""Self-describing Parquet files: their metadata hold hashes of the request and of every column."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpregret.core.files import atomic_write

KEY = b"dpregret"
FORMAT = 1
TIMED = "seconds"  # columns that begin so are measured times: the only ones that two equal runs do not share
AGAIN = "delete it and run the same command again"


class StampError(ValueError):
    """A file whose stamp is wrong or missing: one line, with the name of the file."""

    def __init__(self, file: Path | str, fault: str) -> None:
        super().__init__(f"{Path(file).resolve()}: {fault}")


@dataclass(frozen=True)
class Stamp:
    """The stamp of a file.

    config, code: hashes of the configuration and of the code that it was made with. columns: name -> hash of the
    content, in order. labels: what else the file is about.
    """

    config: str
    code: str
    columns: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def numbers(self) -> str:
        """Hash of all columns but the times: equal in two equal runs."""
        lasting = {name: digest for name, digest in self.columns.items() if not name.startswith(TIMED)}
        return hashlib.sha256(json.dumps(lasting).encode()).hexdigest()[:16]

    @classmethod
    def of(cls, file: Path | str) -> Stamp:
        """Read the stamp alone. Raises StampError."""
        return _stamp(_open(file), file)


def write(frame: pd.DataFrame, output: Path, stamp: Stamp) -> None:
    """Write a frame with the stamp, its columns hashed, so that `output` appears whole or not at all."""
    import pyarrow as pa  # late: a plan reads and writes no rows
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    content = table.to_pandas()  # as it will be read
    metadata = {"format": FORMAT, "config": stamp.config, "code": stamp.code, "labels": dict(stamp.labels)}
    metadata["columns"] = {str(name): _digest(content[name]) for name in content}
    stamped = table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: json.dumps(metadata)})
    with atomic_write(output) as temporary:
        pq.write_table(stamped, temporary)


def read(file: Path | str, columns: Iterable[str] | None = None) -> pd.DataFrame:
    """Read a frame, or some columns of it, whose content is what was written. Raises StampError."""
    opened = _open(file)
    stamp, names = _stamp(opened, file), list(columns) if columns is not None else None
    try:
        frame: pd.DataFrame = opened.read(names).to_pandas()
        digests = {str(name): _digest(frame[name]) for name in frame}
    except Exception as fault:  # of damaged bytes pyarrow raises nearly everything
        raise StampError(file, f"damaged; {AGAIN}") from fault
    changed = [name for name in (names or stamp.columns) if digests.get(name) != stamp.columns.get(name)]
    changed += [name for name in digests if name not in stamp.columns]
    if changed:
        raise StampError(file, f"column {changed[0]} is not what was written: edited or damaged; {AGAIN}")
    return frame


def _open(file: Path | str) -> Any:
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(file)
    except Exception as fault:
        raise StampError(file, f"damaged; {AGAIN}") from fault


def _stamp(opened: Any, file: Path | str) -> Stamp:
    """The stamp of an opened file."""
    try:
        stamp = json.loads((opened.schema_arrow.metadata or {})[KEY])
        if stamp["format"] != FORMAT:
            raise StampError(file, f"format {stamp['format']!r}, this is {FORMAT}; {AGAIN}")
        parts = {name: {str(key): str(value) for key, value in stamp[name].items()} for name in ("columns", "labels")}
        return Stamp(str(stamp["config"]), str(stamp["code"]), **parts)
    except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError, UnicodeDecodeError):
        raise StampError(file, f"does not say what it was made with: edited, or of another version; {AGAIN}") from None


def _digest(column: pd.Series) -> str:
    """Hash of the values of a column, the same whatever wrote them; one NaN is as good as another."""
    if pd.api.types.is_bool_dtype(column):
        kind, parts = "flag", [column.to_numpy(dtype="u1").tobytes()]
    elif pd.api.types.is_integer_dtype(column):
        kind, parts = "integer", [column.to_numpy(dtype="<i8").tobytes()]
    elif pd.api.types.is_float_dtype(column):
        values = column.to_numpy(dtype="<f8")
        kind, parts = "number", [np.where(np.isnan(values), np.nan, values).tobytes()]
    else:
        codes, levels = pd.factorize(column)
        kind, parts = "text", [json.dumps([str(level) for level in levels]).encode(), codes.astype("<i8").tobytes()]
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]

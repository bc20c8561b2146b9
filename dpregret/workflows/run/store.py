"""Inputs and outputs of plays: prepared data, and the store of their rows, one Parquet file a play.

A file of the store is named by the hash of what decides its rows.

A file under its name is up to date, on whatever branch or machine it was made: settings, code, data, versions and seed
are all part of the name. A file whose numbers are not those that were written counts as missing. Seconds are part of
no name; the stamp says on which machine they were measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dpregret.core.files import atomic_write
from dpregret.workflows.plan.fingerprint import ROOT
from dpregret.workflows.plan.keys import STORE, file_of, here

if TYPE_CHECKING:  # the process of a whole run reads no rows, and imports no pandas
    import pandas as pd

DOWNLOADS: Final = Path("datasets") / "cache"
"""Where `dpregret fetch` puts downloads, below the folder that results lie in."""


def downloads(name: str) -> Path:
    """The folder of the file of a download: the working folder's, or that of the clone, which studies share."""
    return next((folder for folder in (DOWNLOADS, ROOT / DOWNLOADS) if (folder / name).is_file()), DOWNLOADS)


def _maker(name: str) -> Callable[[str, Path], None] | None:
    """What makes a data set without a network; None for a download."""
    from dpregret.datasets import bundled, expert_data, flights, overview, records

    makers = dict.fromkeys(bundled.BUNDLED, bundled.prepare) | dict.fromkeys(expert_data.TASKS, expert_data.prepare)
    makers |= dict.fromkeys(flights.TABLES, flights.prepare)
    return (makers | dict.fromkeys(records.declared(), overview.prepare)).get(name)


def at_hand(name: str, file: Path) -> bool:
    """Whether a data set is prepared, or can be without a network."""
    from dpregret.datasets.fetch import Declared

    if file.exists() or _maker(name) is not None:
        return True
    source = Declared.read_all().get(name)
    return source is not None and (downloads(source.filename) / source.filename).is_file()


def write(rows: pd.DataFrame, key: str, config: str, code: str, store: Path = STORE) -> None:
    """Keep the rows of a key; the file appears whole or not at all."""
    from dpregret.core import parquet

    parquet.write(rows, file_of(key, store), parquet.Stamp(config, code, labels={"key": key, "machine": here()}))


def read(key: str, store: Path = STORE) -> pd.DataFrame | None:
    """The rows of a key, None where there are none, or not as they were written.

    Times that another machine has measured are left out.
    """
    from dpregret.core import parquet

    file = file_of(key, store)
    if not file.is_file():
        return None
    try:
        labels, rows = parquet.Stamp.of(file).labels, parquet.read(file)
    except parquet.StampError:
        return None
    if labels.get("key") != key:
        return None
    if labels.get("machine") != here():
        rows = rows.drop(columns=[name for name in rows if str(name).startswith(parquet.TIMED)])
    return rows


def prepare(name: str, out: Path) -> None:
    """Write a data set in the form that plays read, an .npz file.

    Raises OSError and FetchError where it is a download that is neither there nor to be had.
    """
    from dpregret.datasets.fetch import Source, convert, fetch

    if (make := _maker(name)) is not None:
        make(name, out)
    else:
        source = Source.find(name)
        folder = downloads(source.filename)
        fetch(source, folder)
        convert(source, folder, out)


def prepared(name: str, file: Path) -> Path:
    """The file of a prepared data set, made where it is not there. Raises as `prepare`."""
    if not file.exists():
        with atomic_write(file) as part:
            prepare(name, part)
    return file


def link(files: Mapping[str, str], folder: Path) -> None:
    """Link prepared data into a folder under the names that streams expect. files: data set -> its file."""
    for name, file in files.items():
        file_name = folder / f"{name}.npz"
        if not file_name.exists():
            file_name.symlink_to(prepared(name, Path(file)).resolve())

"""Prepared data: a set that comes with a library, the errors of classifiers trained on one, or a download."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from uuid import uuid4

DOWNLOADS: Final = Path("datasets") / "cache"


def prepare(name: str, out: Path) -> None:
    """Write a data set in the form that plays read, an .npz file.

    Raises OSError and FetchError where it is a download that is neither there nor to be had.
    """
    from dpregret.datasets import bundled, expert_data, flights, records
    from dpregret.datasets.fetch import Source, convert, fetch
    from dpregret.workflows.plan.load import declared_sources

    if name in records.declared():
        records.prepare(name, out)
    elif name in declared_sources():
        source = Source.find(name)
        fetch(source, DOWNLOADS)
        shutil.copyfile(convert(source, DOWNLOADS), out)
    else:
        makers = dict.fromkeys(expert_data.TASKS, expert_data.prepare) | dict.fromkeys(flights.TABLES, flights.prepare)
        makers.get(name, bundled.prepare)(name, out)


def prepared(name: str, file: Path) -> Path:
    """The file of a prepared data set, made where it is not there. Raises as `prepare`."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f".{uuid4().hex}.{file.name}")
        try:
            prepare(name, part)
            os.replace(part, file)
        finally:
            part.unlink(missing_ok=True)
    return file


def link(files: Mapping[str, str], folder: Path) -> None:
    """Give prepared data the names by which streams know them, in a folder. files: data set -> its file."""
    for name, file in files.items():
        named = folder / f"{name}.npz"
        if not named.exists():
            named.symlink_to(prepared(name, Path(file)).resolve())

"""Files of results: how they are written, and which belong to a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from dpregret.core.files import atomic_write


def link_files(files: Iterable[Path], folder: Path) -> Path:
    """Link results files ``.../EXPERIMENT/NAME.parquet`` below ``folder`` and return it.

    The folder of results may also hold files of experiments and learners that the configuration no longer has;
    what is linked is exactly what a table may read.
    """
    for path in map(Path.resolve, files):
        link = folder / path.parent.name / path.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    return folder


def write_parquet(frame: pd.DataFrame, output: Path) -> None:
    """Write a frame so that `output` appears whole or not at all, whatever is killed when."""
    with atomic_write(output) as temporary:
        frame.to_parquet(temporary, index=False)

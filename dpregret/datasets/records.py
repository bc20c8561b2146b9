"""Records of a study: a user's CSV file, turned into features and labels by public constants only.

`data.yaml` of the study declares them. Nothing is read off the data: `norm` and `range` are constants that the user
states, and each record is treated by itself, so neighbouring files stay neighbouring. A constant that is chosen by
looking at the records is not public, and the guarantee does not cover it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from dpregret import study
from dpregret.core.errors import ConfigError, not_allowed, one_line
from dpregret.core.files import checksum, opened
from dpregret.core.yaml_source import entries, validate
from dpregret.datasets.examples import save
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

FIRST = 2
"""Line of a CSV file that the first record is on."""


class RecordFile(BaseModel):
    """One CSV file with a line of names; every column but the label, and those that `drop` names, is a feature.

    file: path from the study on. label: its column. positive: the value that becomes +1, any other value -1; or range:
    (low, high), between which a label lies, mapped to [-1, 1] and clipped. norm: largest Euclidean norm of a row of
    features; longer rows are scaled down to it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str = Field(min_length=1)
    label: str = Field(min_length=1)
    norm: float = Field(gt=0, allow_inf_nan=False)
    positive: str | int | float | None = None
    range: tuple[Annotated[float, Field(allow_inf_nan=False)], Annotated[float, Field(allow_inf_nan=False)]] | None = (
        None
    )
    drop: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _has_one_kind_of_label(self) -> RecordFile:
        if (self.positive is None) == (self.range is None):
            raise ValueError("give either positive (two classes) or range (numbers) for the label")
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ValueError(f"range: {list(self.range)} must be [low, high] with low < high")
        return self

    @property
    def path(self) -> Path:
        """Where the file is."""
        return Path(study.folder() or ".", self.file)

    @property
    def features(self) -> list[str]:
        """Names of the features, from the first line of the file. Raises ConfigError for names missing there."""
        names = list(map(str, self._table(nrows=0).columns))
        for name in (self.label, *self.drop):
            if name not in names:
                raise ConfigError(f"{self.path}:1: {not_allowed('column', name, names)}")
        return [name for name in names if name not in (self.label, *self.drop)]

    def read(self) -> tuple[Array, Array]:
        """Features (n, d), rows of norm at most `norm`, and labels (n,) in [-1, 1].

        Raises ConfigError, one line that names the file, the line and the column of what is wrong.
        """
        columns, table = self.features, self._table()
        if not columns or table.empty:
            raise ConfigError(f"{self.path}: {len(table)} records of {len(columns)} features: at least one of each")
        features = np.stack([self._numbers(table[name]) for name in columns], axis=1)
        norms = np.sqrt(vecdot(features, features))
        features *= np.minimum(1.0, self.norm / np.maximum(norms, self.norm))[:, None]
        return features, self._labels(table[self.label])

    def _table(self, nrows: int | None = None) -> pd.DataFrame:
        try:
            with opened(self.path) as file:
                return pd.read_csv(file, nrows=nrows, dtype=str, keep_default_na=False, skip_blank_lines=False)
        except (OSError, ValueError) as error:  # a line of too many fields, which pandas names
            raise ConfigError(f"{self.path}: not a CSV file of records: {one_line(error)}") from None

    def _numbers(self, column: pd.Series[str]) -> Array:
        numbers: Array = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
        if not np.isfinite(numbers).all():
            row = int(np.argmin(np.isfinite(numbers)))
            raise ConfigError(
                f"{self.path}:{row + FIRST}: column {column.name!r}: {column.iloc[row]!r} is not a finite number"
            )
        return numbers

    def _labels(self, column: pd.Series[str]) -> Array:
        if self.range is not None:
            low, high = self.range
            return np.clip((2.0 * self._numbers(column) - low - high) / (high - low), -1.0, 1.0)
        known = set(column.str.strip())
        if str(self.positive) not in known:
            raise ConfigError(f"{self.path}: column {self.label!r}: no record has the value {str(self.positive)!r}")
        return np.where(column.str.strip() == str(self.positive), 1.0, -1.0)


def declared() -> dict[str, RecordFile]:
    """Name -> records of the study; none without a study. Raises ConfigError with file, line and key."""
    folder = study.folder()
    if folder is None or not (folder / study.DATA).is_file():
        return {}
    parts = entries(folder / study.DATA, "file, label and norm")
    files = {name: validate(RecordFile, part) for name, part in parts.items()}
    missing = [name for name, file in files.items() if not file.path.is_file()]
    if missing:
        raise ConfigError([f"{parts[name].at(('file',))}: {files[name].path}: no such file" for name in missing])
    return files


def declaration(name: str) -> dict[str, object] | None:
    """Everything that decides a data set of the study, its content included; None for any other name."""
    file = declared().get(name)
    return None if file is None else {**file.model_dump(mode="json"), "sha256": checksum(file.path)}


def prepare(name: str, out: Path) -> None:
    """Write a data set of the study as an .npz file: features of norm at most 1, labels, and the norm 1 stands for."""
    records = declared()[name]
    features, labels = records.read()
    save(out, features=features / records.norm, labels=labels, norm=np.float64(records.norm))

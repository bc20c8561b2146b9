"""What was read of a file of records, on one page: to be looked at before anything runs.

The numbers are read off the records: they are for the owner's eyes, and no guarantee covers them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic_core import to_jsonable_python

from dpregret.datasets.examples import save
from dpregret.datasets.records import RecordFile, Records, declared
from dpregret.numerics.arrays import Array

BINS: Final = 24
EXACT: Final = 2.0**53
"""From which on whole numbers are rounded."""
FAR_APART: Final = 100.0
"""Ratio of the largest to the smallest column from which the search for the comparator is slow."""
MANY: Final = 50
"""Records from which on a column of different whole numbers is odd, also one that leaves numbers out."""
MOST_CLIPPED: Final = 0.1
"""Share of rows, or of values of a column, from which on the page asks whether the constant is right."""


@dataclass(frozen=True)
class Column:
    """A feature as it is in the file. low, high: its public range, None where it has none. outside: values beyond it.

    counts (BINS,): histogram between the ends of `span`, which covers values and range. notes: what is odd about it.
    """

    name: str
    least: float
    mean: float
    most: float
    low: float | None
    high: float | None
    outside: int
    scale: float
    span: tuple[float, float]
    counts: tuple[int, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Overview:
    """See the module. dropped: columns that are left out. constants: as declared, which must be public. longest: the
    column that is most often the largest of a row that was scaled down. shortened: such rows."""

    name: str
    file: str
    records: int
    label: str
    classes: dict[str, int]
    positive: int | None
    dropped: tuple[str, ...]
    constants: dict[str, Any]
    shortened: int
    longest: str | None
    columns: tuple[Column, ...]
    notes: tuple[str, ...]


def overview(name: str, records: Records) -> Overview:
    """What was read."""
    file, values = records.file, records.values
    columns = tuple(
        _column(column, values[:, at], records.ranged[:, at], file.ranges.get(column))
        for at, column in enumerate(records.names)
    )
    largest = np.abs(records.ranged[records.shortened]).argmax(axis=1)
    longest = records.names[int(np.bincount(largest).argmax())] if largest.size else None
    constants: dict[str, Any] = {"norm": file.norm}
    for key in ("range", "positive", "negative", "ranges", "levels"):
        if value := getattr(file, key):
            constants[key] = value
    return Overview(
        name=name,
        file=file.location,
        records=len(values),
        label=file.label,
        classes=records.counts,
        positive=None if file.range else int((records.labels > 0).sum()),
        dropped=file.drop,
        constants=constants,
        shortened=int(records.shortened.sum()),
        longest=longest,
        columns=columns,
        notes=tuple(_notes(records, columns)),
    )


def prepare(name: str, out: Path) -> None:
    """Write a data set of the study as an .npz file: features of norm at most 1, labels, the norm 1 stands for, and the
    overview as JSON."""
    write(declared()[name], name, out)


def write(file: RecordFile, name: str, out: Path) -> None:
    """The same of a file that is declared elsewhere. Raises ConfigError."""
    read = file.records()
    about = json.dumps(to_jsonable_python(overview(name, read)))
    features = read.features / file.norm
    save(out, features=features, labels=read.labels, norm=np.float64(file.norm), overview=np.array(about))


def _column(name: str, values: Array, ranged: Array, pair: tuple[float, float] | None) -> Column:
    least, most = float(values.min()), float(values.max())
    low, high = pair or (None, None)
    span = (min(least, least if low is None else low), max(most, most if high is None else high))
    counts = _histogram(values, span)
    outside = 0 if pair is None else int(((values < pair[0]) | (values > pair[1])).sum())
    notes = []
    if least == most:
        notes.append("has one value only")
    if identifies(values):
        notes.append("is another whole number in every record: a row number, an identifier? Leave it out with drop")
    if (np.abs(values) >= EXACT).any() and (values == np.floor(values)).all():
        notes.append("has whole numbers beyond 2^53, read with about 16 digits: an identifier? Leave it out with drop")
    if outside > MOST_CLIPPED * len(values):
        notes.append(f"{outside / len(values):.0%} of its values are outside of its range")
    return Column(
        name=name,
        least=least,
        mean=float((values / len(values)).sum()),
        most=most,
        low=low,
        high=high,
        outside=outside,
        scale=float(np.abs(ranged).max()),
        span=span,
        counts=counts,
        notes=tuple(notes),
    )


def identifies(values: Array) -> bool:
    """Whether a column numbers the records, or is another whole number in each of many."""
    if len(values) < 3 or (values != np.floor(values)).any():
        return False
    ordered = np.sort(values)
    if (ordered[1:] == ordered[:-1]).any():
        return False
    return len(values) >= MANY or ordered[-1] - ordered[0] == len(values) - 1


def _histogram(values: Array, span: tuple[float, float]) -> tuple[int, ...]:
    """How many values are in each of `BINS` equal parts of the span; halves keep its width a finite number."""
    width = 0.5 * span[1] - 0.5 * span[0]
    if width == 0.0:
        return (len(values), *(0,) * (BINS - 1))
    bins = np.clip((0.5 * values - 0.5 * span[0]) / width * BINS, 0, BINS - 1).astype(int)
    return tuple(np.bincount(bins, minlength=BINS).tolist())


def _notes(records: Records, columns: Sequence[Column]) -> list[str]:
    """What a person should look at before a run."""
    notes = [f"{column.name}: {note}" for column in columns for note in column.notes]
    notes += [
        f"{name}: has {text!r}, with zeros before it: a code, no number? Give its `levels`, or leave it out with drop"
        for name, text in records.padded.items()
    ]
    mark = "comma" if records.file.decimal == "," else "point"
    notes += [
        f"{name}: each number with a {mark} is written as {text!r}, read as {float(text.replace(',', '.')):g}: if the"
        f" {mark} separates thousands, take it out of the file"
        for name, text in records.points.items()
    ]
    notes += [
        f"{name}: {count} of its values (of {len(records.labels)}) have blanks around them, which are left out"
        for name, count in records.blanks.items()
    ]
    if records.file.range:
        outside = sum(records.counts.values()) / len(records.labels)
        if outside > MOST_CLIPPED:
            notes.append(f"label {records.file.label}: {outside:.0%} of its values are outside of its range")
        if (records.labels == records.labels[0]).all():
            notes.append(f"label {records.file.label}: has one value only")
    share = float(records.shortened.mean())
    if share > MOST_CLIPPED:
        notes.append(f"{share:.0%} of the rows are longer than norm: is it right?")
    varying = [column for column in columns if column.scale > 0]
    if varying:
        ordered = sorted(varying, key=lambda column: column.scale)
        small, large = ordered[0], ordered[-1]
        if large.scale / FAR_APART > small.scale:
            ratio = large.scale / small.scale
            times = f"{ratio:.0f}" if ratio < 1e6 else f"{ratio:.0e}"
            notes.append(
                f"{large.name} is {times} times as large as {small.name}: give public ranges, "
                "or the search for the best point is slow and the large column decides alone"
            )
    return notes

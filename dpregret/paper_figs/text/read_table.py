"""One strict reader of our CSV tables: what is damaged is refused in one line with file, line and column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pandas as pd

from dpregret.core.errors import not_allowed
from dpregret.core.files import opened
from dpregret.paper_figs.text.escaping import unshielded

NUMBER: Final = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


class DamageError(ValueError):
    """A table that cannot be trusted; the message is one line."""


@dataclass(frozen=True)
class Form:
    """The required form of a table.

    needed: columns that must be there. key: columns that no two rows share. numbers: columns of finite numbers, where
    they are there; an empty cell is NaN, except in `filled`. words: column -> what it may say. intervals: names of
    columns X with X_low <= X <= X_high, all three or none. largest: no number of an interval is larger.
    """

    needed: Sequence[str]
    key: Sequence[str] = ()
    numbers: Sequence[str] = ()
    filled: Sequence[str] = ()
    words: Mapping[str, Set[str]] = field(default_factory=dict)
    intervals: Sequence[str] = ()
    largest: float = float("inf")


def read_table(path: Path, form: Form, text: bool = False) -> pd.DataFrame:
    """The rows of a CSV file. Numbers are floats unless `text` leaves every cell as it is written.

    Raises DamageError naming the line (and column), and OSError.
    """
    lines, header, rows = _cells(path)
    missing = [name for name in form.needed if name not in header]
    if missing:
        raise DamageError(f"{path}:1: no column {missing[0]!r}")
    numbers = [name for name in dict.fromkeys((*form.numbers, *form.filled)) if name in header]
    seen: dict[tuple[str, ...], int] = {}
    for line, row in zip(lines, rows, strict=True):
        record = dict(zip(header, row, strict=True))
        fault = _fault(record, form, numbers)
        if fault:
            raise DamageError(f"{path}:{line}: {fault}")
        key = tuple(record[name] for name in form.key)
        if key and key in seen:
            raise DamageError(f"{path}:{line}: {' '.join(key)!r} stands twice, first in line {seen[key]}")
        seen[key] = line
    frame = pd.DataFrame(rows, columns=header, dtype=str)
    return frame if text else frame.assign(**{name: pd.to_numeric(frame[name]).astype(float) for name in numbers})


def _cells(path: Path) -> tuple[list[int], list[str], list[list[str]]]:
    """Numbers of lines, the header, and the cells of all rows below it."""
    with opened(path) as file:
        data = file.read()
    try:
        content = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise DamageError(f"{path}:{_line(data[: fault.start])}: not UTF-8") from None
    if not content.endswith("\n"):
        where = f"{path}:{_line(data)}: cut off, the last line has no end" if content else f"{path}: empty"
        raise DamageError(where)
    if "\0" in content:
        raise DamageError(f"{path}:{_line(data[: data.index(0)])}: a zero byte")
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    lines, rows = [], []
    try:
        for row in reader:
            lines.append(reader.line_num)
            rows.append([unshielded(cell) for cell in row])
            if len(row) != len(rows[0]):
                raise DamageError(f"{path}:{lines[-1]}: {len(row)} cells, the header has {len(rows[0])}")
    except csv.Error as fault:
        raise DamageError(f"{path}:{reader.line_num}: {fault}") from None
    twice = [name for name in rows[0] if rows[0].count(name) > 1]
    if twice:
        raise DamageError(f"{path}:1: column {twice[0]!r} stands twice")
    return lines[1:], rows[0], rows[1:]


def _line(before: bytes) -> int:
    return before.count(b"\n") + 1


def _fault(record: Mapping[str, str], form: Form, numbers: Sequence[str]) -> str:
    """The fault of a row; empty for a sound row."""
    for name in form.key:
        if not record[name]:
            return f"column {name}: empty"
    for name in numbers:
        cell = record[name]
        if cell and (not NUMBER.fullmatch(cell) or abs(float(cell)) == float("inf")):
            return f"column {name}: {cell!r} is no finite number"
        if not cell and name in form.filled:
            return f"column {name}: empty"
    for name, allowed in form.words.items():
        if name in record and record[name] not in allowed:
            return f"column {name}: {not_allowed(name, record[name], allowed)}"
    for name in form.intervals:
        cells = [record.get(f"{name}{end}", "") for end in ("_low", "", "_high")]
        if not any(cells):
            continue
        if not all(cells):
            return f"column {name}: a number without its interval, or an interval without its number"
        low, value, high = map(float, cells)
        if not low <= value <= high:
            return f"column {name}: {value:g} is not within its interval [{low:g}, {high:g}]"
        if max(abs(low), abs(high)) > form.largest:
            return f"column {name}: [{low:g}, {high:g}] is larger than anything that is fitted"
    return ""

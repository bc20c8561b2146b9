"""A printed table with what was measured beneath each rate: the law of one parameter, the fitted power, the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.judge import rates
from dpregret.paper_figs.judge.claims import ClaimsFile, Table
from dpregret.paper_figs.judge.result_tables import number
from dpregret.paper_figs.judge.vocabulary import FAILS, HOLDS, NOT_RUN, REPRODUCED, labels_of
from dpregret.paper_figs.tables.printed.models import Cell, Column, Part, PrintedTable
from dpregret.paper_figs.text import formats

HOW_TO_READ: Final = (
    "Beneath a rate: the law that it states for one parameter, the power that was fitted beside the same logarithms "
    "with its 95 % interval, the verdict, and ± the smallest change of that power, in either direction, that the "
    "experiment detects with probability 0.95."
)
Record = Mapping[str, Any]
PRIVACY: Final = "privacy"
"""The law of a claim about a guarantee."""


@dataclass(frozen=True)
class Line:
    """A claim beneath a rate. `law` is a sentence with LaTeX; `mark` the verdict whose sign and colour it bears."""

    claim: str
    law: str
    measured: str
    verdict: str
    mark: str
    resolution: str


@dataclass(frozen=True)
class Side:
    """Lines about one form of an algorithm: as printed, corrected."""

    name: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Shown:
    """A part of a cell: what the paper prints, and what was measured of it; the claims in `missing` were not run."""

    rate: str
    sides: tuple[Side, ...] = ()
    missing: tuple[str, ...] = ()


Row = tuple[tuple[Shown, ...], ...]


@dataclass(frozen=True)
class FilledTable:
    """A printed table with its verdicts. `paper` is the folder's name, with which addresses of claims begin."""

    paper: str
    cite: str
    printed: PrintedTable
    rows: tuple[Row, ...]

    def parts(self) -> Iterator[Shown]:
        """All parts of all cells."""
        return (part for row in self.rows for cell in row for part in cell)

    def notes(self) -> list[str]:
        """Notes of the table: how to read it, the paper's own conditions, and what was not run."""
        missing = sum(len(part.missing) for part in self.parts())
        run = sum(len(side.lines) for part in self.parts() for side in part.sides)
        notes = [HOW_TO_READ] if run else []
        notes += [self.printed.notes] if self.printed.notes else []
        return notes + ([not_here(missing, missing + run)] if missing else [])


def not_here(missing: int, among: int) -> str:
    """Said once, below a table."""
    return f"Not in this profile: {missing} of the {among} claims that stand beneath rates."


def fill(printed: PrintedTable, claims: ClaimsFile, judged: pd.DataFrame) -> FilledTable:
    """Verdicts (rows of claims.csv and checks.csv) put beneath the rates that they are about."""
    by_id: dict[str, Record] = {str(row["claim"]): row for row in judged.to_dict("records")}  # type: ignore[misc]
    rows = tuple(tuple(_cell(cell, by_id, claims) for cell in row) for row in printed.rows)
    return FilledTable(claims.paper, claims.cite, printed, rows)


def as_printed(claims: ClaimsFile, table: Table) -> PrintedTable:
    """A table of a claims file in the form of a printed one, for a paper that has no `printed.yaml`."""
    rows = []
    for row in table.rows:
        cells: list[Part] = [Part(rate=_words(text)) for text in (row.label, row.privacy, row.operation)]
        measured = {row.group or "measured": tuple(dict.fromkeys(row.exponents.values()))} if row.exponents else {}
        cells.append(
            Part(rate=row.bound_latex if "$" in row.bound_latex else _words(row.bound_text), measured=measured)
        )
        rows.append(tuple(Cell.model_construct(parts=(part,)) for part in cells))
    widths = {"algorithm": 1.6, "privacy": 1.0, "operation": 1.2, "bound": 4.0}
    columns = tuple(Column(head=head, width=width) for head, width in widths.items())
    return PrintedTable.model_construct(
        name="", caption=_words(table.caption), notes="", columns=columns, rows=tuple(rows)
    )


def _words(text: str) -> str:
    """Words without a formula."""
    return text.replace("$", "")


def _cell(cell: Cell, by_id: Mapping[str, Record], claims: ClaimsFile) -> tuple[Shown, ...]:
    return tuple(_part(part, by_id, claims) for part in cell.parts)


def _part(part: Part, by_id: Mapping[str, Record], claims: ClaimsFile) -> Shown:
    sides: list[Side] = []
    missing: list[str] = []
    for name, ids in part.measured.items():
        run = [by_id[claim] for claim in ids if by_id[claim]["verdict"] != NOT_RUN]
        missing += [claim for claim in ids if by_id[claim]["verdict"] == NOT_RUN]
        if run:
            sides.append(Side(name, tuple(_line(record, claims) for record in run)))
    return Shown(part.rate, tuple(sides), tuple(missing))


def _line(record: Record, claims: ClaimsFile) -> Line:
    fitted = number(record)
    verdict = mark = str(record["verdict"])
    if record["type"] == "linear":  # the match says that the learner makes no progress
        verdict = labels_of(claims.response).no_progress + ("" if verdict in (REPRODUCED, HOLDS) else f": {verdict}")
        mark = FAILS if mark in (REPRODUCED, HOLDS) else mark
    told = _number(record["resolution"])
    resolution = f"±{formats.number(told)}" if fitted and np.isfinite(told) else ""
    symbol = labels_of(record["response"]).symbols[record["parameter"]] if fitted else ""
    law = PRIVACY if record["type"] == "private" else rates.law(str(record["rate"]), symbol)
    law += " (overhead)" if record["response"] == "overhead" else ""
    return Line(str(record["claim"]), law, fitted, verdict, mark, resolution)


def _number(cell: object) -> float:
    """A number, or the text of one; NaN for an empty cell."""
    return float("nan" if cell == "" else str(cell))

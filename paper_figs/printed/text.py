"""A filled table as text: tidy CSV, Markdown, and what a terminal shows of the CSV."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

import pandas as pd

from dpregret.core.text import printable
from dpregret.paper_figs.formula import in_text
from dpregret.paper_figs.neutral import plain
from dpregret.paper_figs.printed.filled import FilledTable
from dpregret.paper_figs.vocabulary import MARKS

COLUMNS: Final = (
    "row", "column", "part", "printed", "side", "claim", "law", "power", "verdict", "sign", "resolution",
)  # fmt: skip
"""Columns of the CSV. A printed cell without a number has one line, any other a line for each claim beneath it."""
WIDTH: Final = 120
"""Characters of a line on a terminal that does not say how many it has."""


def frame(table: FilledTable) -> pd.DataFrame:
    """The table as text, a line per claim beneath a rate; formulas in Unicode."""
    lines = []
    for number, row in enumerate(table.rows, 1):
        for column, cell in zip(table.printed.columns, row, strict=True):
            head = f"{column.above}: {column.head}" if column.above else column.head
            for place, part in enumerate(cell, 1):
                own = (str(number), in_text(head), str(place), in_text(part.rate))
                measured = [
                    (in_text(side.name), line.claim, in_text(line.law), line.measured, line.verdict,
                     MARKS[line.mark][0], line.resolution)
                    for side in part.sides for line in side.lines
                ]  # fmt: skip
                lines += [(*own, *each) for each in measured or [("",) * 7]]
    return pd.DataFrame(lines, columns=list(COLUMNS), dtype=str)


def page(table: FilledTable) -> str:
    """A file of Markdown: what the table is, the table, and what has to be known to read it."""
    name = f"{table.printed.name}. " if table.printed.name else ""
    notes = [plain(in_text(note)) for note in table.notes()]
    return "\n\n".join([plain(name + in_text(table.printed.caption)), markdown(frame(table)), *notes]) + "\n"


def markdown(lines: pd.DataFrame, ids: bool = True) -> str:
    """A Markdown table of what `frame` made: a row as the paper has it, beneath it a row for each thing measured.

    `ids`: name the claim of each number.
    """
    heads = list(dict.fromkeys(lines["column"]))
    rows = []
    for _, row in lines.groupby("row", sort=False):
        cells = [list(_written(row.loc[row["column"] == head], ids)) for head in heads]
        rows += [dict(zip(heads, each, strict=True)) for each in zip_longest(*cells, fillvalue="")]
    text = pd.DataFrame(rows, columns=heads).rename(columns=_cell)
    return str(text.to_markdown(index=False, disable_numparse=True))


def _written(cell: pd.DataFrame, ids: bool) -> Iterator[str]:
    """Lines of Markdown for one cell: what is printed in bold, then what was measured."""
    for _, part in cell.groupby("part", sort=False):
        rate = part["printed"].iloc[0]
        yield f"**{_cell(rate)}**" if rate else ""
        for line in part.loc[part["claim"] != ""].to_dict("records"):
            name = f" (`{line['claim']}`)" if ids else ""
            yield f"{_cell(_said({str(key): str(value) for key, value in line.items()}, side=True))}{name}"


def _cell(text: object) -> str:
    return plain(text).replace("|", "\\|")


def _said(line: dict[str, str], side: bool) -> str:
    """A claim in one line."""
    number = f"{line['power']} " if line["power"] else ""
    told = f", {line['resolution']}" if line["resolution"] else ""
    return f"{line['side'] + ', ' if side else ''}{line['law']}: {number}{line['sign']} {line['verdict']}{told}"


def terminal(lines: pd.DataFrame, title: str) -> str:
    """What `frame` made, for a terminal: in each cell what is printed, and below it what was measured by sides."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=printable(title), title_justify="left", header_style="bold", show_lines=True)
    heads = list(dict.fromkeys(lines["column"]))
    for head in heads:
        table.add_column(
            printable(head),
            overflow="fold",
            ratio=4 if (lines.loc[lines["column"] == head, "claim"] != "").any() else 1,
        )
    for _, row in lines.groupby("row", sort=False):
        table.add_row(*(Text(printable("\n".join(_stacked(row.loc[row["column"] == head])))) for head in heads))
    console = Console(width=None if sys.stdout.isatty() else WIDTH, markup=False, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def _stacked(cell: pd.DataFrame) -> Iterator[str]:
    for _, part in cell.groupby("part", sort=False):
        yield part["printed"].iloc[0]
        for side, own in part.loc[part["claim"] != ""].groupby("side", sort=False):
            yield f"{side}:"
            for line in own.to_dict("records"):
                yield f"  {_said({str(key): str(value) for key, value in line.items()}, side=False)}"

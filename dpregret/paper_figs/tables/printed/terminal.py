"""The CSV of a printed table on a terminal: each row as the paper has it, and beneath it what was measured."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator

import pandas as pd
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from dpregret.core.text import printable
from dpregret.paper_figs.tables.printed import text
from dpregret.paper_figs.tables.printed.filled import not_here

WIDTH, GAP, INDENT = 120, 2, 2
"""Characters of a line on a terminal that does not say how many it has, between columns, and before what is beneath."""
SIDE, VERDICT = 0, 3
"""Places in a line about a claim of what may be folded."""


def terminal(lines: pd.DataFrame, title: str) -> str:
    """What `text.frame` made; columns as wide as they need, the widest narrower where a line is too short."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH, markup=False, highlight=False)
    heads = list(dict.fromkeys(lines["column"]))
    rows = [row for _, row in lines.groupby("row", sort=False)]
    cells = [["; ".join(filter(None, dict.fromkeys(_of(row, head)["printed"]))) for head in heads] for row in rows]
    widths = _widths([heads, *cells], console.width)
    measured = [
        _measured({str(key): str(value) for key, value in line.items()}, line["side"])
        for line in text.measured(lines).to_dict("records")
    ]
    below = _widths(measured, console.width - 2 * INDENT, giving=(SIDE, VERDICT)) if measured else []
    with console.capture() as capture:
        console.print(Text(printable(title), style="italic"))
        console.print(_line(heads, widths, "bold"), Rule(characters="─"))
        for row, shown in zip(rows, cells, strict=True):
            console.print(_line(shown, widths, "bold"), *_beneath(row, heads, below), "")
        claims = lines.loc[lines["claim"] != ""]
        if len(measured) < len(claims):
            console.print(not_here(len(claims) - len(measured), len(claims)))
    return capture.get()


def _of(row: pd.DataFrame, head: str) -> pd.DataFrame:
    return row.loc[row["column"] == head]


def _widths(table: list[list[str]], width: int, giving: Collection[int] = ()) -> list[int]:
    """Widths of columns; where they are too wide together, the widest gives way, or that of those in `giving`."""
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    for _ in range(sum(widths) + GAP * len(widths) - width):
        widest = max(giving or range(len(widths)), key=widths.__getitem__)
        widths[widest] = max(widths[widest] - 1, 8)
    return widths


def _line(cells: list[str], widths: list[int], style: str = "", indent: int = 0) -> Padding:
    line = Table.grid(padding=(0, GAP, 0, 0))
    for width in widths:
        line.add_column(width=width, overflow="fold")
    line.add_row(*(Text(printable(cell), style=style) for cell in cells))
    return Padding(line, (0, 0, 0, indent))


def _beneath(row: pd.DataFrame, heads: list[str], widths: list[int]) -> Iterator[Padding | Text]:
    """What was measured in a row: a line a claim, below the name of its rate where a row has several."""
    rates = [
        (head, own)
        for head in heads for _, own in _of(row, head).groupby("part", sort=False) if len(text.measured(own))
    ]  # fmt: skip
    for head, own in rates:
        if len(rates) > 1:
            name = f"{head}, {own['printed'].iloc[0]}" if own["part"].iloc[0] != "1" or _parts(row, head) > 1 else head
            yield Text(printable(f"{' ' * INDENT}{name}"), style="italic")
        before = ""
        for said in text.measured(own).to_dict("records"):
            side = "" if said["side"] == before else said["side"]
            before = said["side"]
            yield _line(
                _measured({str(key): str(value) for key, value in said.items()}, side), widths, indent=2 * INDENT
            )


def _parts(row: pd.DataFrame, head: str) -> int:
    return int(_of(row, head)["part"].nunique())


def _measured(line: dict[str, str], side: str) -> list[str]:
    return [side, line["law"], line["power"], f"{line['sign']} {line['verdict']}", line["resolution"], line["claim"]]

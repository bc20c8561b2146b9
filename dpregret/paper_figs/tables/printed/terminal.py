"""The CSV of a printed table on a terminal: each row as the paper has it, and beneath it what was measured."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from dpregret.core.text import printable
from dpregret.paper_figs.tables.printed import text
from dpregret.paper_figs.tables.printed.filled import not_here
from dpregret.paper_figs.text import formats

INDENT = 2
"""Spaces before what is beneath a row."""


def terminal(lines: pd.DataFrame, title: str) -> str:
    """The table of `text.frame`, in lines of the terminal's width; no identifier is broken."""
    heads = list(dict.fromkeys(lines["column"]))
    rows = [row for _, row in lines.groupby("row", sort=False)]
    cells = [["; ".join(filter(None, dict.fromkeys(_of(row, head)["printed"]))) for head in heads] for row in rows]
    beneath = [list(_beneath(row, heads)) for row in rows]
    measured = [line for below in beneath for line in below if not isinstance(line, str)]
    aligned = iter(_aligned(measured, 2 * INDENT)) if measured else iter(())
    head, *printed = _aligned([heads, *cells])
    shown = [*formats.folded(printable(title)), *head, "─" * max(len(line) for row in (head, *printed) for line in row)]
    for row, below in zip(printed, beneath, strict=True):
        shown += row
        for line in below:
            shown += _named(line) if isinstance(line, str) else next(aligned)
        shown.append("")
    claims = lines.loc[lines["claim"] != ""]
    if len(measured) < len(claims):
        shown += [not_here(len(claims) - len(measured), len(claims)), ""]
    return "\n".join(shown)


def _aligned(rows: list[list[str]], indent: int = 0) -> list[list[str]]:
    """Rows in columns; on a terminal too narrow for them, a cell a line."""
    return formats.columns(rows, indent=indent) or [[" " * indent + printable(c) for c in row if c] for row in rows]


def _named(heading: str) -> list[str]:
    lines = formats.folded(printable(heading), formats.line_width() - INDENT)
    return [" " * INDENT + line for line in lines]


def _of(row: pd.DataFrame, head: str) -> pd.DataFrame:
    return row.loc[row["column"] == head]


def _beneath(row: pd.DataFrame, heads: list[str]) -> Iterator[list[str] | str]:
    """The measurements of a row: a line a claim, below the name of its rate where a row has several."""
    rates = [
        (head, own)
        for head in heads for _, own in _of(row, head).groupby("part", sort=False) if len(text.measured(own))
    ]  # fmt: skip
    for head, own in rates:
        several = own["part"].iloc[0] != "1" or _parts(row, head) > 1
        rate = [f"{head}, {own['printed'].iloc[0]}" if several else head] if len(rates) > 1 else []
        before = None
        for said in text.measured(own).to_dict("records"):
            if said["side"] != before and (heading := ", ".join(filter(None, [*rate, said["side"]]))):
                yield heading
            before = said["side"]
            verdict = f"{said['sign']} {said['verdict']}"
            yield [str(each) for each in (said["law"], said["power"], verdict, said["resolution"], said["claim"])]


def _parts(row: pd.DataFrame, head: str) -> int:
    return int(_of(row, head)["part"].nunique())

"""A filled table as HTML: one screen wide, formulas as MathML, every number a link to its claim.

Pages that take `fragment` in need `STYLE`; `page` has both and opens alone.
"""

from __future__ import annotations

import html
import re
from itertools import groupby
from pathlib import Path
from typing import Final

from dpregret.core.text import printable
from dpregret.paper_figs.judge.vocabulary import COLOURS, MARKS
from dpregret.paper_figs.tables.printed.filled import FilledTable, Line, Shown, Side
from dpregret.paper_figs.text.formula import in_html

STYLE: Final = (Path(__file__).with_name("templates") / "printed.css").read_text(encoding="utf-8")
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style></head>
<body class="alone">
<main>
{fragment}</main>
</body></html>
"""


def page(table: FilledTable) -> str:
    """A document of its own."""
    title = f"{table.printed.name} {table.paper}".strip()
    return _PAGE.format(title=_plain(title), style=STYLE, fragment=fragment(table))


def fragment_of(text: str) -> str:
    """The fragment in what `page` wrote. Raises ValueError for anything else."""
    found = re.search(r"<main>\n(.*)</main>", text, re.DOTALL)
    if found is None:
        raise ValueError("no page of a printed table")
    return found[1]


def fragment(table: FilledTable) -> str:
    """The table with its notes, without a style."""
    columns = table.printed.columns
    share = 100 / sum(column.width for column in columns)
    shares = "".join(f'<col style="width: {share * column.width:.1f}%">' for column in columns)
    heads = "".join(f'<th scope="col">{in_html(column.head)}</th>' for column in columns)
    rows = "".join(f"<tr>{''.join(_cell(table, row, index) for index in range(len(row)))}</tr>\n" for row in table.rows)
    notes = "".join(f"<p>{in_html(note)}</p>\n" for note in table.notes())
    name = f"<b>{_plain(table.printed.name)}.</b> " if table.printed.name else ""
    return (
        f'<div class="printed-table">\n<table>\n<caption>{name}{in_html(table.printed.caption)}</caption>\n'
        f"<colgroup>{shares}</colgroup>\n<thead>{_above(table)}<tr>{heads}</tr></thead>\n"
        f"<tbody>\n{rows}</tbody>\n</table>\n{notes}</div>\n"
    )


def _above(table: FilledTable) -> str:
    """The row of heads that are above several columns, where there is one."""
    if not any(column.above for column in table.printed.columns):
        return ""
    cells = []
    for above, columns in groupby(table.printed.columns, key=lambda column: column.above):
        span = len(list(columns))
        cells.append(
            f'<th scope="colgroup" colspan="{span}">{in_html(above)}</th>' if above else f'<td colspan="{span}"></td>'
        )
    return f"<tr>{''.join(cells)}</tr>"


def _cell(table: FilledTable, row: tuple[tuple[Shown, ...], ...], place: int) -> str:
    column = table.printed.columns[place]
    label = _plain(column.above + ": " if column.above else "") + in_html(column.head)
    parts = "".join(_part(table.paper, part) for part in row[place])
    if place == 0:
        return f'<th scope="row">{parts}</th>'
    empty = "" if any(part.rate for part in row[place]) else ' class="empty"'
    return f'<td{empty}><span class="head">{label}</span>{parts}</td>'


def _part(paper: str, part: Shown) -> str:
    sides = "".join(_side(paper, side) for side in part.sides)
    measured = f'<div class="sides">{sides}</div>' if sides else ""
    return f'<div class="rate">{in_html(part.rate)}</div>{measured}'


def _side(paper: str, side: Side) -> str:
    lines = "".join(f"<li>{_line(paper, line)}</li>" for line in side.lines)
    return f'<div class="side"><p>{in_html(side.name)}</p><ul>{lines}</ul></div>'


def _line(paper: str, line: Line) -> str:
    """Law, number, verdict and resolution; the number, or the verdict where there is none, leads to the claim."""
    badge = f'<span class="badge {COLOURS[line.mark]}">{MARKS[line.mark][0]} {_plain(line.verdict)}</span>'
    address = f'href="#claim-{_slug(paper)}-{_slug(line.claim)}" title="claim {_plain(line.claim)}"'
    told = f' <span class="told">{line.resolution}</span>' if line.resolution else ""
    linked = (
        f"<a {address}>{line.measured.replace('-', '−')}</a> {badge}" if line.measured else f"<a {address}>{badge}</a>"
    )
    return f'<span class="law">{in_html(line.law)}</span> <span>{linked}{told}</span>'


def _slug(text: str) -> str:
    """Text as part of an address inside a page, as in the report."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")


def _plain(text: str) -> str:
    return html.escape(printable(text))

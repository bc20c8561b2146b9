"""A filled table as text: tidy CSV, and Markdown of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

import pandas as pd

from dpregret.paper_figs.judge.vocabulary import (
    ABOVE,
    BELOW,
    INCONCLUSIVE,
    MARKS,
    NOT_RUN,
    STEEPER,
    STEEPER_HELD,
    VIOLATED,
)
from dpregret.paper_figs.tables.printed.filled import PRIVACY, FilledTable
from dpregret.paper_figs.text.escaping import plain
from dpregret.paper_figs.text.formula import in_text

COLUMNS: Final = (
    "row", "column", "part", "printed", "side", "claim", "law", "power", "verdict", "sign", "resolution",
)  # fmt: skip
"""Columns of the CSV. A printed cell without a number has one line, any other a line for each claim beneath it."""
AS_PRINTED: Final = "as printed"
"""The side, or the beginning of its name, that is about what the paper prints."""


def frame(table: FilledTable) -> pd.DataFrame:
    """The table as text, a line per claim beneath a rate; formulas in Unicode."""
    lines = []
    for number, row in enumerate(table.rows, 1):
        for column, cell in zip(table.printed.columns, row, strict=True):
            head = f"{column.above}: {column.head}" if column.above else column.head
            for index, part in enumerate(cell, 1):
                own = (str(number), in_text(head), str(index), in_text(part.rate))
                below = [
                    (in_text(side.name), line.claim, in_text(line.law), line.measured, line.verdict,
                     MARKS[line.mark][0], line.resolution)
                    for side in part.sides for line in side.lines
                ]  # fmt: skip
                below += [("", name, "", "", NOT_RUN, MARKS[NOT_RUN][0], "") for name in part.missing]
                lines += [(*own, *each) for each in below or [("",) * 7]]
    return pd.DataFrame(lines, columns=list(COLUMNS), dtype=str)


def page(table: FilledTable) -> str:
    """A file of Markdown: what the table is, the table, and what has to be known to read it."""
    name = f"{table.printed.name}. " if table.printed.name else ""
    notes = [plain(in_text(note)) for note in table.notes()]
    return "\n\n".join([plain(name + in_text(table.printed.caption)), markdown(frame(table)), *notes]) + "\n"


def measured(lines: pd.DataFrame) -> pd.DataFrame:
    """Those of the lines that are about a claim that was run."""
    return lines.loc[(lines["claim"] != "") & (lines["verdict"] != NOT_RUN)]


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
        for line in measured(part).to_dict("records"):
            name = f" (`{line['claim']}`)" if ids else ""
            yield f"{_cell(_measured_text({str(key): str(value) for key, value in line.items()}))}{name}"


def _cell(text: object) -> str:
    return plain(text).replace("|", "\\|")


def _measured_text(line: dict[str, str]) -> str:
    """A claim in one line."""
    number = f"{line['power']} " if line["power"] else ""
    told = f", {line['resolution']}" if line["resolution"] else ""
    return f"{line['side']}, {line['law']}: {number}{line['sign']} {line['verdict']}{told}"


def brief(lines: pd.DataFrame) -> str:
    """A Markdown table with the paper's rows and columns, one verdict as published, one as corrected, and a legend."""
    heads = list(dict.fromkeys(lines["column"]))
    rows, run = [], measured(lines)
    for number, row in lines.groupby("row", sort=False):
        shown = {
            head: "; ".join(filter(None, dict.fromkeys(row.loc[row["column"] == head, "printed"]))) for head in heads
        }
        own = run.loc[run["row"] == number]
        sides = {"as published": AS_PRINTED, "corrected": "corrected"}
        rows.append(
            shown | {name: _one_verdict(own.loc[own["side"].str.startswith(side)]) for name, side in sides.items()}
        )
    text = pd.DataFrame(rows).map(_cell)
    legend = "\n".join(f"- {sign} {meaning}" for sign, meaning in LEGEND.items())
    return f"{text.rename(columns=_cell).to_markdown(index=False, disable_numparse=True)}\n\n{legend}\n"


LEGEND: Final = {
    "✓": "all claims of the row hold: privacy, and the powers of T, d, W and ε",
    "↓": "the bound holds, and regret grows more slowly than it in the given number of claims",
    "?": "the given number of claims is undecided, or steeper than stated without contradicting an explicit bound",
    "✗": "refuted: the loss of privacy exceeds the stated one, or regret grows like the given power of T",
    "–": "not judged: the paper quotes the algorithm without its noise, which is reconstructed here",
}
"""Sign of a cell of `brief` -> its meaning."""


def _one_verdict(own: pd.DataFrame) -> str:
    """The worst verdict of the claims beneath a row, with what decides it."""
    if own.empty:
        return "–"
    signs, count = own["sign"], len(own)
    failed = own.loc[signs == MARKS[VIOLATED][0]]
    if len(failed):
        return "✗ " + ", ".join(
            f"regret like {law}^{power.partition(' ')[0]}" if power else "privacy" if law == PRIVACY else verdict
            for law, power, verdict in zip(failed["law"], failed["power"], failed["verdict"], strict=True)
        )
    for sign, words in (("?", (INCONCLUSIVE, STEEPER, STEEPER_HELD)), ("↓", (BELOW, ABOVE))):
        found = signs.isin([MARKS[word][0] for word in words]).sum()
        if found:
            return f"{sign} {found} of {count}"
    return f"✓ {count} of {count}"

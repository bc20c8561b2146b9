"""A filled table as HTML and as LaTeX.

HTML: one screen wide, formulas as MathML, every number a link to its claim; pages that take the fragment in need
`STYLE`. LaTeX: a file that compiles alone and, with three usual packages, inside a paper by \\input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Final

import jinja2
from markupsafe import Markup

from dpregret.paper_figs.judge.vocabulary import COLOURS, MARKS
from dpregret.paper_figs.tables.printed import FilledTable, Line, Shown
from dpregret.paper_figs.text import escaping, formula
from dpregret.paper_figs.text.escaping import tex
from dpregret.paper_figs.text.formats import FITTED, alone
from dpregret.paper_figs.text.formula import in_tex

TEMPLATES: Final = Path(__file__).with_name("templates")
STYLE: Final = (TEMPLATES / "printed.css").read_text(encoding="utf-8")
GAP: Final = 0.015
"""Space between columns of LaTeX, as a share of the width."""
WIDTH: Final = (
    r"\dimexpr\ifdim1.35\textwidth<500pt 1.35\textwidth\else\ifdim\textwidth<500pt 500pt\else\textwidth\fi\fi\relax"
)
"""The width of the text; where that is narrow, the table reaches into both margins."""


def html_page(table: FilledTable) -> str:
    """The table with its notes, as a document that opens alone."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, undefined=jinja2.StrictUndefined, finalize=escaping.in_html,
    )  # fmt: skip
    return environment.get_template("printed.html.j2").render(
        table=table, columns=table.printed.columns, above=_above(table), style=Markup(STYLE), marks=MARKS,
        colours=COLOURS, slug=_slug, formula=lambda sentence: Markup(formula.in_html(sentence)),
        share=100 / sum(column.width for column in table.printed.columns),
    )  # fmt: skip


def fragment_of(page: str) -> str:
    """The table in what `html_page` wrote, without a style. Raises ValueError for anything else."""
    found = re.search(r"<main>\n(.*)</main>", page, re.DOTALL)
    if found is None:
        raise ValueError("no page of a printed table")
    return found[1]


def _above(table: FilledTable) -> list[tuple[str, int]]:
    """What stands above heads, and how many; nothing where nothing does."""
    heads = [column.above for column in table.printed.columns]
    return [(above, len(list(columns))) for above, columns in groupby(heads)] if any(heads) else []


def _slug(text: str) -> str:
    """Text as part of an address inside a page, as in the report."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")


def latex(table: FilledTable, label: str) -> str:
    """The file of LaTeX. Beneath each rate stand numbers with the sign of their verdict; notes name verdicts and
    claims."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(line.claim for line in table.lines()), 1)}
    columns = table.printed.columns
    share = (1 - GAP * (len(columns) - 1)) / sum(column.width for column in columns)
    gap = rf"@{{\hspace{{{GAP}\linewidth}}}}"
    shape = gap.join(rf"p{{{share * column.width:.4f}\linewidth}}" for column in columns)
    rows = [_row(r"\par ".join(_part(part, numbers) for part in cell) for cell in row) for row in table.rows]
    cited = ", ".join(filter(None, (table.cite, table.printed.name)))
    lines = [
        r"\begin{table*}[tp]",
        rf"\sbox0{{\parbox{{{WIDTH}}}{{\centering\footnotesize",
        rf"\caption{{{in_tex(table.printed.caption)}{f' ({tex(cited)})' if cited else ''}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{@{{}}{shape}@{{}}}}",
        r"\toprule",
        *_heads_above(table),
        _row(in_tex(column.head) for column in columns),
        r"\midrule",
        ("\n" + r"\addlinespace" + "\n").join(rows),
        r"\bottomrule",
        r"\end{tabular}",
        *_notes(table, numbers),
        "}}",
        FITTED,
        r"\end{table*}",
    ]
    return alone("amsmath,booktabs,graphicx", "\n".join(lines))


def _heads_above(table: FilledTable) -> list[str]:
    cells, rules, first = [], "", 1
    for above, span in _above(table):
        cells.append(rf"\multicolumn{{{span}}}{{c}}{{{in_tex(above)}}}")
        rules += rf"\cmidrule(lr){{{first}-{first + span - 1}}}" if above else ""
        first += span
    return [" & ".join(cells) + r" \\", rules] if cells else []


def _row(cells: Iterable[str]) -> str:
    return " &\n".join(rf"\raggedright {cell}" for cell in cells) + r" \tabularnewline"


def _part(part: Shown, numbers: dict[str, int]) -> str:
    text = r"\footnotesize " + in_tex(part.rate)
    for side in part.sides:
        lines = "; ".join(_line(line, numbers[line.claim]) for line in side.lines)
        text += rf"\par\scriptsize \emph{{{in_tex(side.name)}:}} {lines}"
    return text


def _line(line: Line, number: int) -> str:
    """Law, number, the claim's number in the notes, and the sign of the verdict; its word where the notes lack it."""
    measured = f": {line.measured.replace('-', '$-$')}" if line.measured else ""
    word = f" {tex(line.verdict)}" if line.verdict != line.mark else ""
    return rf"{in_tex(line.law)}{measured}$^{{{number}}}$~{MARKS[line.mark][1]}{word}"


def _notes(table: FilledTable, numbers: dict[str, int]) -> list[str]:
    """Notes, the verdicts that occur with their signs, and the claims by number with their resolution."""
    notes = [in_tex(note.replace("±", r"$\pm$")) for note in table.notes()]
    if lines := table.lines():
        signs: dict[str, list[str]] = {}
        for mark in dict.fromkeys(line.mark for line in lines):
            signs.setdefault(MARKS[mark][1], []).append(tex(mark))
        legend = "; ".join(f"{sign} {' or '.join(words)}" for sign, words in signs.items())
        notes.append(f"Verdicts: {legend}.")
        changes = {line.claim: f" ({line.resolution})".replace("±", r"$\pm$") for line in lines if line.resolution}
        claims = (rf"$^{{{number}}}${tex(name)}{changes.get(name, '')}" for name, number in numbers.items())
        notes.append(f"Claims: {', '.join(claims)}.")
    return [r"\par\smallskip", r"\scriptsize\raggedright " + r"\par ".join(notes)] if notes else []

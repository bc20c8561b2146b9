"""A filled table in LaTeX: a file that compiles alone and, with three usual packages, inside a paper by \\input."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from dpregret.paper_figs.judge.vocabulary import MARKS
from dpregret.paper_figs.tables.printed.filled import FilledTable, Line, Shown, Side
from dpregret.paper_figs.text.escaping import tex
from dpregret.paper_figs.text.formats import FITTED, alone
from dpregret.paper_figs.text.formula import in_tex

GAP: Final = 0.015
"""Space between columns, as a share of the width."""
WIDTH: Final = (
    r"\dimexpr\ifdim1.35\textwidth<500pt 1.35\textwidth\else\ifdim\textwidth<500pt 500pt\else\textwidth\fi\fi\relax"
)
"""The width of the text; where that is narrow, the table reaches into both margins."""


def document(table: FilledTable, label: str) -> str:
    """The file. Beneath each rate stand numbers with the sign of their verdict; notes name verdicts and claims."""
    ids = {name: number for number, name in enumerate(_claims(table), 1)}
    columns = table.printed.columns
    free = 1 - GAP * (len(columns) - 1)
    share = free / sum(column.width for column in columns)
    shape = f"@{{\\hspace{{{GAP}\\linewidth}}}}".join(
        f"p{{{share * column.width:.4f}\\linewidth}}" for column in columns
    )
    lines = [
        r"\begin{table*}[tp]", rf"\sbox0{{\parbox{{{WIDTH}}}{{\centering\footnotesize",
        rf"\caption{{{_caption(table)}}}", rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{@{{}}{shape}@{{}}}}", r"\toprule",
        *_above(table), _row(in_tex(column.head) for column in columns), r"\midrule",
        ("\n" + r"\addlinespace" + "\n").join(
            _row(r"\par ".join(_part(part, ids) for part in cell) for cell in row) for row in table.rows),
        r"\bottomrule", r"\end{tabular}", *_notes(table, ids), "}}", FITTED, r"\end{table*}",
    ]  # fmt: skip
    return alone("amsmath,booktabs,graphicx", "\n".join(lines))


def _claims(table: FilledTable) -> list[str]:
    return list(dict.fromkeys(line.claim for part in table.parts() for side in part.sides for line in side.lines))


def _caption(table: FilledTable) -> str:
    told = ", ".join(filter(None, (table.cite, table.printed.name)))
    return in_tex(table.printed.caption) + (f" ({tex(told)})" if told else "")


def _above(table: FilledTable) -> list[str]:
    if not any(column.above for column in table.printed.columns):
        return []
    cells, rules, first = [], [], 1
    for above, columns in groupby(table.printed.columns, key=lambda column: column.above):
        span = len(list(columns))
        cells.append(rf"\multicolumn{{{span}}}{{c}}{{{in_tex(above)}}}")
        rules += [rf"\cmidrule(lr){{{first}-{first + span - 1}}}"] if above else []
        first += span
    return [" & ".join(cells) + r" \\", "".join(rules)]


def _row(cells: object) -> str:
    return " &\n".join(rf"\raggedright {cell}" for cell in cells) + r" \tabularnewline"  # type: ignore[attr-defined]


def _part(part: Shown, ids: dict[str, int]) -> str:
    sides = "".join(rf"\par\scriptsize {_side(side, ids)}" for side in part.sides)
    return r"\footnotesize " + in_tex(part.rate) + sides


def _side(side: Side, ids: dict[str, int]) -> str:
    return rf"\emph{{{in_tex(side.name)}:}} " + "; ".join(_line(line, ids[line.claim]) for line in side.lines)


def _line(line: Line, number: int) -> str:
    """Law, number, the claim's number in the notes, and the sign of the verdict; its word where the notes lack it."""
    measured = f": {_minus(line.measured)}" if line.measured else ""
    word = f" {tex(line.verdict)}" if line.verdict != line.mark else ""
    return rf"{in_tex(line.law)}{measured}$^{{{number}}}$~{MARKS[line.mark][1]}{word}"


def _minus(number: str) -> str:
    return number.replace("-", "$-$")


def _notes(table: FilledTable, ids: dict[str, int]) -> list[str]:
    """Notes, the verdicts that occur with their signs, and the claims by number with their resolution."""
    shown = [line for part in table.parts() for side in part.sides for line in side.lines]
    signs: dict[str, list[str]] = {}
    for mark in dict.fromkeys(line.mark for line in shown):
        signs.setdefault(MARKS[mark][1], []).append(tex(mark))
    notes = [in_tex(note.replace("±", r"$\pm$")) for note in table.notes()]
    legend = "; ".join(f"{sign} {' or '.join(words)}" for sign, words in signs.items())
    notes += [f"Verdicts: {legend}."] if shown else []
    told = {line.claim: line.resolution.replace("±", r" ($\pm$") + ")" * bool(line.resolution) for line in shown}
    notes += (
        ["Claims: " + ", ".join(f"$^{{{ids[name]}}}${tex(name)}{told[name]}" for name in ids) + "."] if shown else []
    )
    body = r"\par ".join(notes)
    return [r"\par\smallskip", rf"\scriptsize\raggedright {body}"] if notes else []

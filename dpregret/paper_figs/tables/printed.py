"""Tables as the papers print them: a paper's `printed.yaml`, with what was measured beneath each rate, as text, in HTML
and in LaTeX.

A cell of the file is a sentence with formulas between dollars, a mapping of `rate` and `measured` (what a side is
called -> its claims), or a list of those where the paper prints several in one cell. Claims are named, or selected by
the statement that they are on and the learner.variant that is played: a selection leaves none out and has no checks.
Claims of one side that state the same law of the same parameter are told apart by `when`.

HTML: one screen wide, formulas as MathML, every number a link to its claim; pages that take the fragment in need
`STYLE`. LaTeX: a file that compiles alone and, with three usual packages, inside a paper by \\input.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dpregret.core.errors import not_allowed, printable
from dpregret.core.yaml_source import KeyPath, in_order, validate
from dpregret.paper_figs.judge import vocabulary as word
from dpregret.paper_figs.judge.claims import LAWS, Claim, ClaimsError, ClaimsFile, Played, Strict, Table, is_on
from dpregret.paper_figs.judge.read_claims import source_of
from dpregret.paper_figs.judge.result_tables import claim_value
from dpregret.paper_figs.judge.verdicts import rate_text
from dpregret.paper_figs.judge.vocabulary import COLOURS, MARKS, NOT_RUN, Parameter, Response, labels_of
from dpregret.paper_figs.text import escaping, formats, formula
from dpregret.paper_figs.text.escaping import paragraph
from dpregret.paper_figs.text.formula import checked, in_tex, in_text

if TYPE_CHECKING:
    import jinja2

PAPER_FILES: Final = ("printed.yaml",)
"""Files of a paper's folder that this module reads."""
FILE: Final = PAPER_FILES[0]
HOW_TO_READ: Final = (
    "Beneath a rate: the law that it states for one parameter, the power that was fitted beside the same logarithms "
    "with its 95 % interval, the verdict, and ± the smallest change of that power, in either direction, that the "
    "experiment detects with probability 0.95; in brackets the tolerance of the verdict."
)
PRIVACY: Final = "privacy"
"""The law of a claim about a guarantee."""
COLUMNS: Final = (
    "row", "column", "part", "printed", "side", "claim", "law", "power", "verdict", "sign", "resolution",
)  # fmt: skip
"""Columns of the CSV. A printed cell without a number has one line, any other a line for each claim beneath it."""
PRINTED: Final = formats.Form(needed=COLUMNS, rows=True)
"""The required form of this CSV."""
WORDS: Final = ("as printed", "reconstructed")
"""The form of an algorithm to the letter of a text that was read, and of one that was not."""
LEGEND: Final = {
    "✓": "all claims of the cell hold; checks are not counted",
    "↓": "so many claims grow more slowly than their bound",
    "?": "so many are undecided, or faster without contradicting an explicit bound",
    "✗": "refuted: privacy is lost beyond the claim, or regret grows like this power of T",
    "–": "not tested as printed: its text is reconstructed here",
}
"""Sign of a cell of `brief` -> its meaning."""
UNDECIDED: Final = (word.INCONCLUSIVE, word.STEEPER, word.STEEPER_HELD)
INDENT: Final = 2
"""Spaces on a terminal before what is beneath a row."""
Sentence = Annotated[str, AfterValidator(checked)]
"""Text with formulas between dollars."""
Record = Mapping[Hashable, Any]


class Beneath(Strict):
    """A claim by its id, or all claims whose `source` is a statement, that play `learner`, and have an `origin`.

    A selection takes no consistency checks, and none of the claims that the row names. `when` is the setting of a
    claim, in words, beside another claim with its law.
    """

    claim: str = ""
    when: Sentence = ""
    source: str = ""
    learner: Played | Literal[""] = ""
    origin: Literal["paper", "derived", "baseline"] = "paper"

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        return {"claim": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _consistent(self) -> Beneath:
        if bool(self.claim) == bool(self.source) or bool(self.source) != bool(self.learner):
            raise ValueError("a side lists claims, or {source: a statement, learner: name.variant}")
        if self.when and not self.claim:
            raise ValueError("when needs claim: a selection takes several")
        return self

    def takes(self, claim: Claim) -> bool:
        """Whether a selection takes a claim."""
        played = f"{claim.learner}.{claim.variant}"
        return (claim.kind, claim.origin, played) == ("claim", self.origin, self.learner) and is_on(
            claim.source, self.source
        )


def _listed(side: Any) -> Any:
    return [side] if isinstance(side, Mapping) else side


Side = Annotated[tuple[Beneath, ...], Field(min_length=1), BeforeValidator(_listed)]
"""What stands beneath a rate on one side of it; the file may write a single selection without a list."""


class CellPart(Strict):
    """What a paper prints in a cell or in a part of one, and the claims that measure it, by side."""

    rate: Sentence
    measured: dict[Sentence, Side] = Field(default_factory=dict)

    @property
    def ids(self) -> dict[str, tuple[str, ...]]:
        """The claims of each side; selections must have been replaced by what they take."""
        return {side: tuple(entry.claim for entry in entries) for side, entries in self.measured.items()}


def _parts(cell: Any) -> list[Any]:
    """The parts of a cell; the file may write a single part without a list, and a sentence without `rate`."""
    parts = cell if isinstance(cell, list) else [cell]
    return [{"rate": part} if isinstance(part, str | int | float) else part for part in parts]


Cell = Annotated[tuple[CellPart, ...], BeforeValidator(_parts)]
"""A cell of a printed table."""


class Column(Strict):
    """A column: its heading, the heading of its group if columns are grouped, and its share of the width."""

    head: Sentence
    above: Sentence = ""
    width: float = Field(default=1.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        return {"head": data} if isinstance(data, str) else data


class PrintedTable(Strict):
    """A table: its name in the paper, a caption in our words, and notes that are needed to read it."""

    name: str
    caption: Sentence
    notes: Sentence = ""
    columns: tuple[Column, ...] = Field(min_length=1)
    rows: tuple[tuple[Cell, ...], ...] = Field(min_length=1)


def load_printed(
    folder: Path | str, claims: ClaimsFile, universal: Collection[str] | None = None
) -> PrintedTable | None:
    """The printed table of a paper's folder, None where it has none. Raises ClaimsError.

    Every claim that is named must exist, and every row have a cell for each column. A cell may quote a law that holds
    always (`judge/universal.py`): one of the names `universal`, where these are known.
    """
    path = Path(folder) / FILE
    if not path.exists():
        return None
    source = source_of(path)
    table = validate(PrintedTable, source, error=ClaimsError)
    table, faults = _selected(table, claims.claims)
    faults += _faults(table, {claim.id: claim for claim in claims.claims}, universal)
    if problems := [f"{source.at(key_path)}: {fault}" for key_path, fault in faults]:
        raise ClaimsError(in_order(problems))
    return table


def _selected(table: PrintedTable, claims: Sequence[Claim]) -> tuple[PrintedTable, list[tuple[KeyPath, str]]]:
    """The table with the claims that its selections take, and those selections that take none; a side as printed of a
    text that was not read is called reconstructed."""
    faults: list[tuple[KeyPath, str]] = []
    unread = {claim.id for claim in claims if claim.provenance != "printed"}

    def called(side: str, entries: Iterable[Beneath]) -> str:
        return side.replace(*WORDS) if any(entry.claim in unread for entry in entries) else side

    def taken(entry: Beneath, named: Collection[str], key_path: KeyPath) -> list[Beneath]:
        if entry.claim:
            return [entry]
        found = [claim.id for claim in claims if entry.takes(claim)]
        if not found:
            faults.append(
                (key_path, f"there is no claim of origin {entry.origin} on {entry.source!r} of {entry.learner}")
            )
        return [Beneath(claim=name) for name in found if name not in named]

    rows = []
    for line, row in enumerate(table.rows):
        named = {name for cell in row for part in cell for ids in part.ids.values() for name in ids}
        cells = []
        for index, cell in enumerate(row):
            parts = []
            for part in cell:
                key_path: KeyPath = ("rows", line, index, "measured")
                measured = {
                    side: tuple(each for entry in entries for each in taken(entry, named, (*key_path, side)))
                    for side, entries in part.measured.items()
                }
                measured = {called(side, entries): entries for side, entries in measured.items()}
                parts.append(part.model_copy(update={"measured": measured}))
            cells.append(tuple(parts))
        rows.append(tuple(cells))
    return table.model_copy(update={"rows": tuple(rows)}), faults


def _faults(
    table: PrintedTable, claims: Mapping[str, Claim], universal: Collection[str] | None
) -> Iterator[tuple[KeyPath, str]]:
    for line, row in enumerate(table.rows):
        if len(row) != len(table.columns):
            yield ("rows", line), f"{len(row)} cells, the table has {len(table.columns)} columns"
        for index, cell in enumerate(row):
            for position, part in enumerate(cell):
                key_path: KeyPath = ("rows", line, index, *([position] if len(cell) > 1 else []))
                for side, ids in part.ids.items():
                    for name in ids:
                        if name.partition(".")[0] in LAWS:
                            allowed = [name] if universal is None else universal
                        else:
                            allowed = claims
                        if name not in allowed:
                            yield (*key_path, "measured", side), not_allowed("claim", name, allowed)
                    for first, second in _alike(part.measured[side], claims):
                        yield (*key_path, "measured", side), f"{first} and {second} read alike: give one of them `when`"


def _alike(side: Iterable[Beneath], claims: Mapping[str, Claim]) -> Iterator[tuple[str, str]]:
    """Pairs of claims beneath a rate whose lines nothing but their numbers tells apart."""
    before: dict[tuple[str, str], str] = {}
    for entry in side:
        if claim := claims.get(entry.claim):
            key = _law(claim.type, rate_text(claim), claim.response, claim.parameter), entry.when
            if (first := before.setdefault(key, claim.id)) != claim.id:
                yield first, claim.id


def as_printed(claims: ClaimsFile, table: Table) -> PrintedTable:
    """A table of a claims file in the form of a printed one, for a paper that has no `printed.yaml`."""
    rows = []
    for row in table.rows:
        bound = row.bound_latex if "$" in row.bound_latex else _as_text(row.bound_text)
        ids = tuple(dict.fromkeys(row.exponents.values()))
        parts = [CellPart(rate=_as_text(text)) for text in (row.label, row.privacy, row.operation)]
        side = tuple(Beneath(claim=name) for name in ids)
        parts.append(CellPart(rate=bound, measured={row.group or "measured": side} if ids else {}))
        rows.append(tuple((part,) for part in parts))
    widths = {"algorithm": 1.6, "privacy": 1.0, "operation": 1.2, "bound": 4.0}
    columns = tuple(Column(head=head, width=width) for head, width in widths.items())
    return PrintedTable.model_construct(
        name="", caption=_as_text(table.caption), notes="", columns=columns, rows=tuple(rows)
    )


def _as_text(text: str) -> str:
    """Text without dollar signs, so that it holds no formula."""
    return text.replace("$", "")


Line = Mapping[str, str]
"""A claim beneath a rate: the columns of the CSV from `claim` on, and `mark`, the verdict whose sign and colour it
shows. `law` is a sentence with LaTeX."""


class FilledTable(NamedTuple):
    """A printed table with its verdicts. `paper` is the folder's name, with which addresses of claims begin; `run` has
    the claims that were run."""

    paper: str
    cite: str
    printed: PrintedTable
    run: Mapping[str, Line]

    def sides(self, part: CellPart) -> list[tuple[str, list[Line]]]:
        """What was measured of a part, by the name of a form of the algorithm: as printed, corrected."""
        run = self.run
        sides = [
            (name, [_set(run[entry.claim], entry.when) for entry in entries if entry.claim in run])
            for name, entries in part.measured.items()
        ]
        return [(name, lines) for name, lines in sides if lines]

    def claims(self) -> list[str]:
        """All claims beneath rates, in the order of the table."""
        parts = (part for row in self.printed.rows for cell in row for part in cell)
        return [claim for part in parts for ids in part.ids.values() for claim in ids]

    def lines(self) -> list[Line]:
        """The lines of the claims that were run."""
        return [self.run[claim] for claim in self.claims() if claim in self.run]

    def notes(self) -> list[str]:
        """Notes of the table: how to read it, the paper's own conditions, and what was not run."""
        run, among = len(self.lines()), len(self.claims())
        absent = not_here(among - run, among) if run < among else ""
        return list(filter(None, [HOW_TO_READ if run else "", self.printed.notes, absent]))


def not_here(missing: int, among: int) -> str:
    """The note below a table about claims that were not run."""
    return f"Not in this profile: {missing} of the {among} claims that stand beneath rates."


def fill(printed: PrintedTable, claims: ClaimsFile, judged: pd.DataFrame) -> FilledTable:
    """The table with verdicts (rows of claims.csv and checks.csv) beneath their rates."""
    run = {row["claim"]: _line(row, claims) for row in judged.to_dict("records") if row["verdict"] != NOT_RUN}
    return FilledTable(claims.paper, claims.cite, printed, run)


def _set(line: Line, when: str) -> Line:
    return {**line, "law": f"{line['law']}, {when}"} if when else line


def _law(kind: str, rate: str, response: Response, parameter: Parameter | None) -> str:
    """The law of a claim as a sentence with LaTeX; no parameter: nothing was fitted."""
    if kind == "private":
        return PRIVACY
    text = word.law(rate, labels_of(response).symbols[parameter] if parameter else "")
    return text + (" (cost of privacy)" if response == "overhead" else "")


def _line(record: Record, claims: ClaimsFile) -> Line:
    fitted = claim_value(record)
    mark, verdict = word.outcome(record["type"], str(record["verdict"]), claims.response)
    change = float(str(record["resolution"]) or "nan")
    resolution = f"±{formats.format_number(change)}" if fitted and np.isfinite(change) else ""
    resolution += f" ({float(str(record['tolerance'])):g})" if resolution else ""
    law = _law(record["type"], str(record["rate"]), record["response"], record["parameter"] if fitted else None)
    sign = MARKS[mark][0]
    line = {"claim": record["claim"], "law": law, "power": fitted, "verdict": verdict, "sign": sign}
    return {**line, "resolution": resolution, "mark": mark}


def frame(table: FilledTable) -> pd.DataFrame:
    """The table as text, a line per claim beneath a rate; formulas in Unicode."""
    lines: list[Line] = []
    for position, row in enumerate(table.printed.rows, 1):
        for column, cell in zip(table.printed.columns, row, strict=True):
            head = f"{column.above}: {column.head}" if column.above else column.head
            for index, part in enumerate(cell, 1):
                location = {"row": str(position), "column": head, "part": str(index), "printed": part.rate}
                beneath = [{"side": name, **line} for name, run in table.sides(part) for line in run]
                missing = [claim for ids in part.ids.values() for claim in ids if claim not in table.run]
                beneath += [{"claim": claim, "verdict": NOT_RUN, "sign": MARKS[NOT_RUN][0]} for claim in missing]
                lines += [{**location, **line} for line in beneath or [{}]]
    text = pd.DataFrame(lines, columns=list(COLUMNS), dtype=str).fillna("")
    return text.assign(**{name: text[name].map(in_text) for name in ("column", "printed", "side", "law")})


def markdown_page(table: FilledTable) -> str:
    """A Markdown file: the caption, the table, and its notes."""
    name = f"{table.printed.name}. " if table.printed.name else ""
    notes = [paragraph(in_text(note)) for note in table.notes()]
    return "\n\n".join([paragraph(name + in_text(table.printed.caption)), markdown(frame(table)), *notes]) + "\n"


def _measured(lines: Sequence[Line]) -> list[Line]:
    """The lines of claims that were run."""
    return [line for line in lines if line["claim"] != "" and line["verdict"] != NOT_RUN]


def _grouped(lines: Iterable[Line], *columns: str) -> dict[tuple[str, ...], list[Line]]:
    """Lines by their cells of some columns, in the order of the table."""
    groups: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        groups.setdefault(tuple(line[name] for name in columns), []).append(line)
    return groups


def _heads(lines: Iterable[Line]) -> list[str]:
    """The paper's columns."""
    return list(dict.fromkeys(line["column"] for line in lines))


def markdown(table: pd.DataFrame) -> str:
    """The table of `frame` in Markdown: a row as the paper has it, beneath it one row per measurement."""
    lines = formats.records(table)
    heads, rows = _heads(lines), []
    for row in _grouped(lines, "row").values():
        cells = [list(_in_markdown([line for line in row if line["column"] == head])) for head in heads]
        rows += [dict(zip(heads, line, strict=True)) for line in zip_longest(*cells, fillvalue="")]
    return formats.markdown(pd.DataFrame(rows, columns=heads), raw=heads).removesuffix("\n")


def _in_markdown(cell: Sequence[Line]) -> Iterator[str]:
    """Lines of Markdown for one cell: what is printed in bold, then what was measured, one line per claim."""
    for part in _grouped(cell, "part").values():
        rate = part[0]["printed"]
        yield f"**{formats.markdown_cell(rate)}**" if rate else ""
        for line in _measured(part):
            fitted = f"{line['power']} " if line["power"] else ""
            change = f", {line['resolution']}" if line["resolution"] else ""
            text = f"{line['side']}, {line['law']}: {fitted}{line['sign']} {line['verdict']}{change}"
            yield f"{formats.markdown_cell(text)} (`{line['claim']}`)"


def brief(lines: pd.DataFrame) -> str:
    """`brief_frame` as a Markdown table, and a legend."""
    legend = "\n".join(f"- {sign} {meaning}" for sign, meaning in LEGEND.items())
    return f"{formats.markdown(brief_frame(lines))}\n{legend}\n"


def brief_frame(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's rows and columns, one verdict as printed (of a paper that was not read: reconstructed), and one as
    corrected."""
    lines = formats.records(table)
    letter = next((word for word in WORDS if any(line["side"].startswith(word) for line in lines)), WORDS[0])
    heads, rows = _heads(lines), []
    for row in _grouped(lines, "row").values():
        run = _measured(row)
        verdicts = {side: _verdict(run, side) for side in (letter, "corrected")}
        rows.append({head: _printed(row, head) for head in heads} | verdicts)
    return pd.DataFrame(rows)


def _printed(row: Sequence[Line], head: str) -> str:
    """What the paper prints in one column of a row."""
    return "; ".join(filter(None, dict.fromkeys(line["printed"] for line in row if line["column"] == head)))


def _verdict(run: Sequence[Line], beginning: str) -> str:
    """The worst verdict of each side with this beginning; a check counts where it fails, and never as a claim."""
    counted = [line for line in run if line["side"].startswith(beginning) and line["verdict"] != word.HOLDS]
    sides = {side: _worst(lines) for (side,), lines in _grouped(counted, "side").items()}
    if len(sides) < 2:
        return next(iter(sides.values()), "–")
    names = {side: side.removeprefix(beginning).removeprefix(", ") or side for side in sides}
    return "; ".join(f"{names[side]}: {text}" for side, text in sides.items())


def _worst(lines: Sequence[Line]) -> str:
    """The worst verdict of claims, with what decides it."""
    failed = [line for line in lines if line["sign"] == MARKS[word.VIOLATED][0]]
    if failed:
        return "✗ " + ", ".join(
            f"regret like {line['law']}^{formats.format_number(float(line['power'].partition(' ')[0]))}"
            if line["power"]
            else (PRIVACY if line["law"].startswith(PRIVACY) else line["verdict"])
            for line in failed
        )
    for sign, verdicts in (("?", UNDECIDED), ("↓", (word.BELOW, word.ABOVE))):
        if count := sum(line["sign"] in [MARKS[verdict][0] for verdict in verdicts] for line in lines):
            return f"{sign} {count} of {len(lines)}"
    return f"✓ {len(lines)} of {len(lines)}"


def terminal(lines: Sequence[Line], title: str) -> str:
    """The rows of `frame` in lines of the terminal's width, each row as the paper has it and beneath it what was
    measured; no identifier is broken."""
    heads, rows = _heads(lines), list(_grouped(lines, "row").values())
    beneath = [list(_beneath(row)) for row in rows]
    measured = [line for line in chain.from_iterable(beneath) if not isinstance(line, str)]
    aligned = iter(_aligned(measured, 2 * INDENT))
    head, *printed = _aligned([heads, *([_printed(row, head) for head in heads] for row in rows)])
    output = [*formats.folded(printable(title)), *head, "─" * max(map(len, chain(head, *printed)))]
    for row, below in zip(printed, beneath, strict=True):
        output += row
        for line in below:
            output += formats.folded(printable(line), indent=" " * INDENT) if isinstance(line, str) else next(aligned)
        output.append("")
    claims = sum(line["claim"] != "" for line in lines)
    if len(measured) < claims:
        output += [not_here(claims - len(measured), claims), ""]
    return "\n".join(output)


def _aligned(rows: list[list[str]], indent: int = 0) -> list[list[str]]:
    """Rows in columns; on a terminal too narrow for them, one cell per line."""
    return formats.columns(rows, indent=indent) or [[" " * indent + printable(c) for c in row if c] for row in rows]


def _beneath(row: Sequence[Line]) -> Iterator[list[str] | str]:
    """The measurements of a row: one line per claim, below the name of its rate if the row has several."""
    parts = _grouped(row, "column", "part")
    several = {head for head, count in Counter(head for head, _ in parts).items() if count > 1}
    measured = [(head, part) for (head, _), part in parts.items() if _measured(part)]
    for head, part in measured:
        rate = [f"{head}, {part[0]['printed']}" if head in several else head] if len(measured) > 1 else []
        before = None
        for line in _measured(part):
            if line["side"] != before and (heading := ", ".join(filter(None, [*rate, line["side"]]))):
                yield heading
            before = line["side"]
            verdict = f"{line['sign']} {line['verdict']}"
            yield [line["law"], line["power"], verdict, line["resolution"], line["claim"]]


TEMPLATES: Final = Path(__file__).with_name("templates")
STYLE: Final = (TEMPLATES / "printed.css").read_text(encoding="utf-8")


def environment(folder: Path, form: str = "html", **options: Any) -> jinja2.Environment:
    """The environment of the templates in a folder; it escapes text. LaTeX templates use `<< >>` and `<% %>`."""
    if form == "tex":
        signs = {"block": ("<%", "%>"), "variable": ("<<", ">>"), "comment": ("<#", "#>")}
        for name, (start, end) in signs.items():
            options |= {f"{name}_start_string": start, f"{name}_end_string": end}
    import jinja2  # late: the terminal shows tables without templates

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=form == "html",
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize={"md": escaping.plain, "tex": escaping.in_tex}.get(form, escaping.in_html),
        **options,
    )


def _page(table: FilledTable, form: str, **more: Any) -> str:
    """The table rendered by the template of a format."""
    columns = table.printed.columns
    heads, above, first = [column.above for column in columns], [], 1
    for head, group in groupby(heads):
        span = len(list(group))
        above.append((head, span, first))
        first += span
    written = {"html": formula.in_html, "tex": in_tex}[form]
    template = environment(TEMPLATES, form, keep_trailing_newline=True).get_template(f"printed.{form}.j2")
    return template.render(
        table=table,
        columns=columns,
        above=above if any(heads) else [],
        widths=sum(column.width for column in columns),
        marks=MARKS,
        formula=lambda sentence: Markup(written(sentence)),
        **more,
    )


def html_page(table: FilledTable) -> str:
    """The table with its notes, as a self-contained document."""
    return _page(table, "html", style=Markup(STYLE), colours=COLOURS, slug=slug)


def fragment_of(page: str) -> str:
    """The table in a page from `html_page`, without its style. Raises ValueError for any other text."""
    match = re.search(r"<main>\n(.*)</main>", page, re.DOTALL)
    if match is None:
        raise ValueError("no page of a printed table")
    return match[1]


def slug(text: object) -> str:
    """Text as part of an address inside a page."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", str(text)).strip("-")


def latex(table: FilledTable) -> str:
    """The file of LaTeX. Beneath each rate stand numbers with the sign of their verdict; notes name verdicts and
    claims."""
    lines = table.lines()
    signs: dict[str, list[str]] = {}
    for mark in dict.fromkeys(line["mark"] for line in lines):
        signs.setdefault(MARKS[mark][1], []).append(mark)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(line["claim"] for line in lines), 1)}
    changes = {line["claim"]: line["resolution"] for line in lines}
    cited = ", ".join(filter(None, (table.cite, table.printed.name)))
    return _page(table, "tex", label=f"tab:{table.paper}", cited=cited, signs=signs, numbers=numbers, changes=changes)

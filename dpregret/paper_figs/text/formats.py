"""Numbers as text, one frame as CSV and Markdown with the same bytes every time, and tables read back.

All text that is written is escaped, here or by templates: see escaping.py. A damaged table is refused in one line with
file, line and column.
"""

from __future__ import annotations

import csv
import io
import math
import re
import shutil
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import pandas as pd

from dpregret.core.errors import printable
from dpregret.core.files import opened
from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.text.escaping import paragraph, plain, shielded, tex, unshielded

DASH = "-"
MOST_COLUMNS = 1000
HEADS = {
    "half_width": "half-width", "resolution_log": "resolution, power of ln T", "noticed_power": "noticed in the power",
    "noticed_log": "noticed in the power of ln T", "deserves": "deserved verdict",
    "phrase": "words in its reason", "right": "share judged so",
    "else": "most frequent other verdict", "with": "mechanism", "over": "replaced mechanism", "where": "selected",
    "value": "its value",
}  # fmt: skip
"""Column of a table of numbers -> its head for readers, where that is not the same with spaces."""
WIDE, GAP = 120, 2
"""Columns of a line that goes to a file or a pipe, and the spaces between two columns of a table."""


def format_number(value: float, digits: int = 2) -> str:
    """Fixed-point text without a negative zero; a dash for NaN, `inf` for infinity."""
    if math.isnan(value):
        return DASH
    return f"{round(value, digits) + 0.0:.{digits}f}"


def size(value: float) -> int | str:
    """A whole number; beyond 2^53 the power of two that is nearest."""
    return int(value) if value < 2**53 else f"2^{round(math.log2(value))}"


def significant(value: float, digits: int = 3) -> str:
    """Text with `digits` significant digits; a dash for NaN."""
    if math.isnan(value):
        return DASH
    rounded = abs(float(f"{value:.{digits}g}"))
    return f"{value:.{digits}g}" if not 1e3 <= rounded < 1e7 else f"{value:.0f}"


def all_digits(value: float, digits: int = 3) -> str:
    """The same with its last zeros, so that the numbers of a column have equally many digits: `4.00`."""
    text = f"{value:#.{digits}g}"
    return text.rstrip(".") if math.isfinite(value) and "e+" not in text else significant(value, digits)


def significant_interval(estimate: Estimate, text: Callable[[float, int], str] = significant) -> str:
    """`value [low, high]` with three significant digits, or as many as tell the ends apart.

    A number in a unit, such as a regret: how wide its interval is, its own size says.
    """
    return _with_ends(estimate, text, 3, abs(estimate.value))


def with_interval(estimate: Estimate, digits: int = 2, least: float = 1.0) -> str:
    """`value [low, high]` with `digits` decimals, or as many as tell the ends apart.

    An interval is narrow by the size of its number, or by `least` where that is larger: one, as exponents are compared.
    """
    return _with_ends(estimate, format_number, digits, max(least, abs(estimate.value)))


MOST_DIGITS = 6
"""Of a number in a table of results."""
NO_SPREAD, NARROW = "no spread", 1e-5
"""What stands in place of an interval whose width is at most this share of its number, for decimals at least of one."""


def _with_ends(estimate: Estimate, text: Callable[[float, int], str], digits: int, scale: float) -> str:
    """The shortest text from `digits` on in which the ends differ; without ends where by `scale` they hardly do."""
    if estimate.high - estimate.low <= NARROW * scale:
        return f"{text(estimate.value, digits)} ({NO_SPREAD})"
    value, low, high = _apart(estimate, text, digits)
    return f"{value} [{low}, {high}]"


def _apart(numbers: Iterable[float], text: Callable[[float, int], str], digits: int) -> list[str]:
    """Texts of numbers, of which the last two are ends: with the fewest digits, from `digits` on, that tell these
    apart."""
    texts = [[text(number, more) for number in numbers] for more in range(digits, max(digits, MOST_DIGITS) + 1)]
    return next((row for row in texts if row[-2] != row[-1]), texts[0])


def ends(low: float, high: float, digits: int = 3) -> str:
    """`[low, high]` with `digits` decimals, or as many as tell the ends apart."""
    return f"[{', '.join(_apart((low, high), format_number, digits))}]"


def several(count: int, noun: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """CSV with unix line ends and `shielded` text, which `read_csv` gives back; whole numbers have all their digits,
    others six significant ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _mapped(frame, shielded).to_csv(path, index=False, float_format=_in_csv, lineterminator="\n")


def _in_csv(value: Any) -> str:
    whole = float(value).is_integer() and abs(value) < 2**53
    return f"{value:.0f}" if whole else f"{value:.6g}"


def read_csv(path: Path | str, **options: Any) -> pd.DataFrame:
    """A table from `write_csv`; options as of `pandas.read_csv`."""
    with opened(path) as file:
        return _mapped(pd.read_csv(file, **options), unshielded)


def _mapped(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """A copy of the frame with its text and the names of its columns changed, and nothing else."""
    copy = frame.set_axis([change(str(name)) for name in frame.columns], axis="columns").copy()
    for index, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            column = frame.iloc[:, index].map(lambda cell: change(cell) if isinstance(cell, str) else cell)
            copy.isetitem(index, column.array)
    return copy


def markdown(frame: pd.DataFrame, raw: Collection[str] = ()) -> str:
    """A Markdown table of text cells, shown as they are; columns in `raw` already hold Markdown."""
    text = frame.astype("str")
    text = pd.DataFrame(
        {markdown_cell(name): text[name] if name in raw else text[name].map(markdown_cell) for name in frame.columns}
    )
    return str(text.to_markdown(index=False, disable_numparse=True)) + "\n"


def markdown_cell(text: object) -> str:
    """A cell of a Markdown table that shows the text as it is."""
    return plain(text).replace("|", "\\|")


def latex(frame: pd.DataFrame, raw: Collection[str] = (), columns: str = "") -> str:
    """A LaTeX table of text cells (package booktabs), shown as they are; heads and columns in `raw` already hold LaTeX.

    columns: their alignment, to the left where none is given.
    """
    rows = [[str(cell) if name in raw else tex(cell) for name, cell in row.items()] for row in frame.to_dict("records")]
    heads = [str(name) if name in raw else tex(name) for name in frame.columns]
    lines = [" & ".join(cells) + r" \\" for cells in (heads, *rows)]
    begin = rf"\begin{{tabular}}{{{columns or 'l' * len(heads)}}}"
    return "\n".join([begin, r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"])


def write_captioned(frame: pd.DataFrame, caption: str, out: Path, name: str) -> None:
    """A frame as {name}.md, below its caption, with heads in words; numbers that are not whole have three significant
    digits. Columns X_low and X_high of an interval stand in brackets behind the column X."""
    text = frame.map(lambda cell: significant(cell) if isinstance(cell, float) else cell)
    for column in [name for name in text if {f"{name}_low", f"{name}_high"} <= {*text}]:
        low, high = (text.pop(f"{column}_{end}") for end in ("low", "high"))
        text[column] = [f"{mean} [{least}, {most}]" for mean, least, most in zip(text[column], low, high, strict=True)]
    text = text.rename(columns=lambda name: HEADS.get(name, str(name).replace("_", " ")))
    (out / f"{name}.md").write_text(f"{paragraph(caption)}\n\n{markdown(text)}", encoding="utf-8")


def write_forms(out: Path, name: str, **forms: str) -> None:
    """Write one thing in several formats, as {name}.{form}."""
    for form, text in forms.items():
        (out / f"{name}.{form}").write_text(text, encoding="utf-8")


def columns(rows: Sequence[Sequence[str]], indent: int = 0) -> list[list[str]] | None:
    """The lines of each row, its cells in columns; the widest columns fold between words where they do not fit.

    None where even the longest words do not fit side by side.
    """
    rows, room = [[_bound(printable(cell)) for cell in row] for row in rows], line_width() - indent
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    longest = [max(len(word) for cell in column for word in cell.split(" ")) for column in zip(*rows, strict=True)]
    for _ in range(sum(widths) + GAP * (len(widths) - 1) - room):
        widest = max(range(len(widths)), key=lambda at: (widths[at] > longest[at], widths[at]), default=0)
        if widths[widest] <= longest[widest]:
            return None
        widths[widest] -= 1
    wrapped = ([folded(cell, wide) for cell, wide in zip(row, widths, strict=True)] for row in rows)
    return [
        [
            (" " * indent + (" " * GAP).join(map(str.ljust, line, widths))).rstrip()
            for line in zip_longest(*cells, fillvalue="")
        ]
        for cells in wrapped
    ]


def _bound(text: str) -> str:
    """Keep each interval on one line."""
    return re.sub(r"(?<=\[)[^][]*(?=\])", lambda match: match.group().replace(" ", "\xa0"), text)


def folded(text: str, width: int = 0, indent: str = "") -> list[str]:
    """Lines of at most `width` characters, by default those of the terminal; no word is broken."""
    shape: dict[str, Any] = {"initial_indent": indent, "subsequent_indent": indent, "break_long_words": False}
    lines = textwrap.wrap(_bound(text), width or line_width(), break_on_hyphens=False, **shape)
    return [line.replace("\xa0", " ") for line in lines] or [""]


def line_width() -> int:
    """Columns of the terminal; of a file or a pipe what COLUMNS says, else 120."""
    return shutil.get_terminal_size((WIDE, 24)).columns


Cells = Mapping[str, str]
"""A row of a table as text: column -> cell."""


def records(frame: pd.DataFrame) -> list[Cells]:
    """The rows of a frame of text."""
    return [{str(name): cell for name, cell in row.items()} for row in frame.to_dict("records")]


def terminal(frame: pd.DataFrame, title: str) -> str:
    """`in_lines` of a frame."""
    return in_lines([str(name) for name in frame.columns], frame.astype("str").to_numpy().tolist(), title)


def in_lines(heads: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> str:
    """A table of text for the terminal. No word is broken: where the columns do not fit, each row is a block."""
    lines = columns([heads, *rows])
    output = folded(printable(title))
    if lines is not None:
        rule = "─" * max(map(len, chain.from_iterable(lines)), default=0)
        output += [*lines[0], rule, *chain.from_iterable(lines[1:])]
        return "\n".join(output) + "\n"
    for row in rows:
        output.append(printable(row[0]))
        for head, cell in zip(heads[1:], row[1:], strict=True):
            if cell not in ("", DASH):
                output += folded(printable(f"{head}: {cell}"), indent="  ")
    return "\n".join(output) + "\n"


class DamageError(ValueError):
    """A table that cannot be trusted; the message is one line."""


@dataclass(frozen=True)
class Form:
    """The required form of a table.

    needed: columns that must be there, besides `key` and `filled`. key: columns that no two rows share. numbers:
    columns of finite numbers, where they are there; an empty cell is NaN, except in `filled`. allowed: column ->
    allowed values. intervals: names of columns X of numbers with X_low <= X <= X_high, all three or none. rows: whether
    there must be a row below the header.
    """

    needed: Sequence[str]
    key: Sequence[str] = ()
    numbers: Sequence[str] = ()
    filled: Sequence[str] = ()
    allowed: Mapping[str, Set[str]] = field(default_factory=dict)
    intervals: Sequence[str] = ()
    rows: bool = False

    @property
    def of_numbers(self) -> list[str]:
        """All columns of numbers, those of intervals too."""
        bounded = (end for name in self.intervals for end in _interval(name))
        return list(dict.fromkeys((*self.numbers, *self.filled, *bounded)))


def read_table(path: Path, form: Form, text: bool = False) -> pd.DataFrame:
    """The rows of `read_rows` as a frame. Numbers are floats unless `text` leaves every cell as it is written."""
    heads, rows = read_rows(path, form)
    frame = pd.DataFrame(rows, columns=heads, dtype=str)
    numbers = [] if text else [name for name in form.of_numbers if name in frame]
    return frame.assign(**{name: pd.to_numeric(frame[name], errors="coerce").astype(float) for name in numbers})


def read_rows(path: Path, form: Form) -> tuple[list[str], list[Cells]]:
    """The header and the rows of a CSV file, every cell as it is written.

    Raises DamageError naming the line (and column), and OSError.
    """
    lines, heads, rows = _cells(path)
    known = set(heads)
    whole = [name for name in form.intervals if not known.isdisjoint(_interval(name))]
    needed = (*form.needed, *form.key, *form.filled, *(end for name in whole for end in _interval(name)))
    if missing := [name for name in needed if name not in known]:
        raise DamageError(f"{path}:1: no column {missing[0]!r}")
    if form.rows and not rows:
        raise DamageError(f"{path}:1: no row below the header")

    def refuse(name: str, wrong: Iterable[bool], fault: str) -> None:
        for line, row, is_wrong in zip(lines, rows, wrong, strict=True):
            if is_wrong:
                raise DamageError(f"{path}:{line}: column {name}: {row[name]!r} {fault}")

    for name in (*form.key, *form.filled):
        refuse(name, [row[name] == "" for row in rows], "is empty")
    if form.key:
        keys = [tuple(row[name] for name in form.key) for row in rows]
        above = [key in keys[:at] for at, key in enumerate(keys)] if len({*keys}) < len(keys) else [False] * len(keys)
        refuse(form.key[0], above, f"has the {' and '.join(form.key)} of a row above")
    for name, values in form.allowed.items():
        refuse(name, [row[name] not in values for row in rows], f"is unknown, allowed: {', '.join(sorted(values))}")
    for name in [name for name in form.of_numbers if name in known]:
        refuse(name, [row[name] != "" and math.isnan(_finite(row[name])) for row in rows], "is no finite number")
    for name in whole:
        refuse(name, [_outside(row, name) for row in rows], "is not within its interval")
    return heads, rows


def _finite(cell: str) -> float:
    """The finite number of a cell; NaN for any other text."""
    try:
        value = float(cell) if cell.isascii() and "_" not in cell else math.nan  # as pandas reads it
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _outside(row: Cells, name: str) -> bool:
    """Whether a number is not within its interval; all three may be empty."""
    low, value, high = (_finite(row[end]) for end in _interval(name))
    return not low <= value <= high and any(row[end] for end in _interval(name))


def _interval(name: str) -> tuple[str, str, str]:
    """The columns of a number with an interval."""
    return f"{name}_low", name, f"{name}_high"


def _cells(path: Path) -> tuple[list[int], list[str], list[Cells]]:
    """The numbers of the lines of rows below the header, the header, and these rows."""
    with opened(path) as file:
        data = file.read()
    if not data.endswith(b"\n"):
        line = data.count(b"\n") + 1
        raise DamageError(f"{path}:{line}: cut off, the last line has no end")
    lines, rows = [], []
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
        for row in reader:
            lines.append(reader.line_num)
            if len(row) > MOST_COLUMNS:
                raise csv.Error(f"{len(row)} cells, a table of results has at most {MOST_COLUMNS}")
            rows.append([unshielded(cell) for cell in row])
            if len(row) != len(rows[0]):
                raise csv.Error(f"{len(row)} cells, the header has {len(rows[0])}")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise DamageError(f"{path}:{line}: not UTF-8") from None
    except csv.Error as fault:
        raise DamageError(f"{path}:{reader.line_num}: {fault}") from None
    if duplicates := [name for name, count in Counter(rows[0]).items() if count > 1]:
        raise DamageError(f"{path}:1: column {duplicates[0]!r} stands twice")
    return lines[1:], rows[0], [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]

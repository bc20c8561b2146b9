"""A study for a CSV file of one's own, the command `dpregret new my_study --data my.csv`: what the file tells is
written, and what it must not or cannot tell is a key without a value, with the question beside it.

A public range and the class that is positive are the user's to say; a run names each that is not answered. Columns that
are left out, and levels, which are read off the records and must be public, are printed.
"""

from __future__ import annotations

import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpregret import study
from dpregret.core.errors import NAME_PATTERN, ConfigError
from dpregret.core.progress import Progress
from dpregret.core.yaml_source import read_source
from dpregret.datasets.csv_file import SEPARATORS, CsvFile
from dpregret.datasets.overview import identifies
from dpregret.datasets.records import (
    THOUSANDS,
    UNNAMED,
    check_first_line,
    is_missing,
    named_columns,
    number_in,
    padded,
    quoted,
    taken,
)

if TYPE_CHECKING:
    import jinja2

MOST_LEVELS: Final = 12
"""Values of a column of words that may be its levels; of more the column is left out."""
MOST_RANGES: Final = 500
"""Columns of numbers up to which each range is a question; a norm suffices."""
SEPARATED: Final = re.compile(r"[-+]?(\d+[.,]\d+|[1-9]\d{0,2}([.,' \xa0\u2009\u202f\u2019]\d{3})+([.,]\d+)?)")
"""A number, but for its separators."""
FEWEST: Final = 5
"""Records with a level from which on it is not asked whether the level is public."""
TEMPLATES: Final = Path(__file__).with_name("templates") / "records"


def opened(path: Path, encoding: str | None = None, names: Sequence[str] | None = None) -> CsvFile:
    """A CSV file with the separator that makes most names of its first line. Raises ConfigError."""
    tried = [_tried(path, separator, encoding, names) for separator in SEPARATORS.values()]
    found = [file for file in tried if file is not None]
    return max(found, key=lambda file: len(file.names)) if found else CsvFile(path, encoding=encoding, names=names)


def _tried(path: Path, separator: str, encoding: str | None, names: Sequence[str] | None) -> CsvFile | None:
    """The file, if its records are as long as the line of names that the separator makes, of two at least."""
    try:
        file = CsvFile(path, separator, encoding, names)
        readable = len(file.names) > 1 and all(block.lines for block in file.blocks())
    except ConfigError:
        return None
    return CsvFile(path, separator, encoding, names) if readable else None


@dataclass(frozen=True)
class Written:
    """What `write` made of a file. open_keys: to be answered. dropped: column -> why it is left out. levels: column
    whose levels were read off the records -> the remark on it."""

    open_keys: list[str]
    dropped: dict[str, str]
    levels: dict[str, str]


def write(
    folder: Path, path: Path, label: str | None, encoding: str | None = None, header: str | None = None
) -> Written:
    """Write data.yaml, experiments.yaml and a copy of the file below a folder.

    encoding: None for that of the file's mark, else utf-8. header: `yes`, or names with commas between them.

    Raises ConfigError for what cannot be read.
    """
    names = None if header in (None, "yes") else [name.strip() for name in (header or "").split(",")]
    file = opened(path, encoding, names)
    if header is None:
        try:
            check_first_line(file)
        except ConfigError as error:
            raise ConfigError(f"{error}; here: `--header yes`, or `--header NAME,NAME,...`") from None
    named_columns(file, [name for name in file.names if re.fullmatch(UNNAMED, name)])
    if label is not None:
        file.require([label])
    counts, sizes = [Counter[str]() for _ in file.names], 0
    progress = Progress(f"reads {file.name}")
    for block in file.blocks():
        progress.tick()
        sizes += len(block.lines)
        for counter, texts in zip(counts, block.columns, strict=True):
            counter.update(text.strip() for text in texts)
    columns = dict(zip(file.names, counts, strict=True))
    name = re.sub(r"[^a-z0-9_-]+", "-", path.name.split(".")[0].lower()).strip("-_") or "records"
    name = f"my-{name}" if name in taken() or not re.fullmatch(NAME_PATTERN, name) else name
    word = next(word for word, separator in SEPARATORS.items() if separator == file.separator)

    def line_of(column: str, text: str) -> int:
        """The line of the first record with a text."""
        again, at = CsvFile(path, file.separator, encoding, names), file.positions[column]
        return next(
            line
            for block in again.blocks()
            for line, found in zip(block.lines, block.columns[at], strict=True)
            if found.strip() == text
        )

    facts = _facts(file.name, columns, label, line_of) | {
        "name": name,
        "path": _path(f"data/{path.name}"),
        "separator": word,
        "encoding": file.encoding,
        "header": None if header is None else "true" if header == "yes" else _list(file.names),
        "rounds": sizes,
    }
    (folder / "data").mkdir(parents=True)
    shutil.copyfile(path, folder / "data" / path.name)
    for written in (study.DATA, study.NEEDED[0]):
        (folder / written).write_text(_templates().get_template(f"{written}.j2").render(facts), encoding="utf-8")
    (entry,) = read_source(folder / study.DATA).data.values()
    keys = entry | {f"ranges.{column}": value for column, value in entry.get("ranges", {}).items()}
    open_keys = [key for key, value in keys.items() if value is None]
    return Written(open_keys, dict(facts["drop"]), {column: remark for column, _, remark in facts["levels"]})


def _templates() -> jinja2.Environment:
    import jinja2  # late: most commands on a study need none

    options: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, autoescape=False, **options
    )
    found.filters |= {"quoted": quoted, "listed": _list}
    return found


def _facts(
    name: str, columns: dict[str, Counter[str]], label: str | None, line_of: Callable[[str, str], int]
) -> dict[str, Any]:
    """What the templates say of the columns of a file: column -> how often it holds each text. Raises ConfigError."""
    commas = [value for found in columns.values() if _has_commas(found) for value in found if "," in value]
    number = _with_point if commas else number_in
    two = [column for column, values in columns.items() if len(values) == 2] if label is None else []
    left = label if label is not None else two[0] if len(two) == 1 else None
    values = columns.get(left or "", Counter())
    asked = _asked(left, values, number, line_of) if label is not None and left and len(values) > MOST_LEVELS else None
    ranges, levels, drop = [], [], []
    for column, found in columns.items():
        if column == left:
            continue
        present = sorted(value for value in found if not is_missing(value))
        if re.fullmatch(UNNAMED, column):
            drop.append((column, "it has no name"))
        elif len(found) == 1:
            drop.append((column, "it has one value only"))
        elif (remark := _asked(column, found, number, line_of)) is not None:
            ranges.append((column, remark))
        elif 2 <= len(present) <= MOST_LEVELS:
            levels.append((column, present, "; ".join(filter(None, (_lacks(found), _rare(present, found))))))
        elif len(present) < 2:
            drop.append((column, f"{present[0]!r} or no value" if present else "it has no value"))
        else:
            drop.append((column, f"words, or no numbers, of {len(found)} kinds"))
    dimension = len(ranges) + sum(len(found) - 1 for _, found, _ in levels)
    if not dimension:
        why = "".join(f"; {column!r}: {why}" for column, why in drop[:MOST_LEVELS])
        raise ConfigError(f"{name}: no column of numbers, and none of at most {MOST_LEVELS} words{why}")
    numeric = [column for column, _ in ranges] + ([left] if left is not None and asked is not None else [])
    points = [text for column in numeric for text in columns[column] if "." in text and number(text) is not None]
    return {
        "label": label, "two": two, "left": left, "columns": [*columns], "most": MOST_LEVELS, "asked": asked,
        "values": [f"{value!r} ({count})" for value, count in values.most_common(MOST_LEVELS)], "kinds": len(values),
        "commas": commas[:1], "decimal": any(THOUSANDS.fullmatch(value) is None for value in commas), "drop": drop,
        "points": points[:1] if all(map(THOUSANDS.fullmatch, points)) else [],
        "ranges": ranges, "bounded": len(ranges) <= MOST_RANGES, "levels": levels, "dimension": dimension,
        "norm": f"{math.ceil(math.sqrt(dimension) * 1e4) / 1e4:.4f}",  # rounded up: no row is longer
    }  # fmt: skip


def _asked(
    column: str, found: Counter[str], number: Callable[[str], float | None], line_of: Callable[[str, str], int]
) -> str | None:
    """The remark on a column whose records are for the most part numbers, or numbers but for separators; None for
    another column."""
    present = {text: count for text, count in found.items() if not is_missing(text)}
    others = [text for text in present if number(text) is None]
    words = sum(present[text] for text in others if not SEPARATED.fullmatch(text))
    if 2 * words >= sum(present.values()):
        return None
    remarks = [_lacks(found)]
    if others:
        # a mistake first: separators are met by whoever mends it
        text = next((text for text in others if not SEPARATED.fullmatch(text)), others[0])
        where = f"{text!r} in line {line_of(column, text)}" + f" and {len(others) - 1} more" * (len(others) > 1)
        if SEPARATED.fullmatch(text):
            remarks.append(f"has {where}: write its numbers without separators of thousands, with one decimal mark")
        else:
            listed = f" as {_list(sorted(present))}" if len(present) <= MOST_LEVELS else ""
            remarks.append(f"numbers, but for {where}: a mistake? Else move it to levels{listed}, or to drop")
    else:
        marked = [text for text in present if re.search("[.,]", text)]
        if marked and all(map(THOUSANDS.fullmatch, marked)):
            marks = "points" if "." in marked[0] else "commas"
            remarks.append(f"is {marked[0]} above a thousand? Then take the {marks} out of the file")
        remarks.append(_odd(found, number))
    return "; ".join(filter(None, remarks))


def _lacks(found: Counter[str]) -> str:
    """What to do about records without a value."""
    lacking = sum(count for text, count in found.items() if is_missing(text))
    return f"no value in {lacking} records: leave them out of the file, or the column with drop" if lacking else ""


def _rare(levels: Sequence[str], found: Counter[str]) -> str:
    """A level that few records have is perhaps known of these persons only."""
    rare = [f"{level!r} ({found[level]})" for level in levels if found[level] < FEWEST]
    return f"few records have {', '.join(rare)}: public?" if rare else ""


def _odd(found: Counter[str], number: Callable[[str], float | None]) -> str:
    """What makes a column of numbers look like one of names or codes, with the remedy."""
    numbers = [value for text in found if (value := number(text)) is not None]
    if code := padded(list(found)):
        return f"has {code!r}: a code, no number? Then list its values in levels, or move it to drop"
    if len(found) == found.total() and identifies(np.array(numbers)):
        return "another whole number in every record: an identifier? Then move it to drop"
    return ""


def _has_commas(found: Counter[str]) -> bool:
    """Whether a column holds numbers, some with a comma."""
    present = [value for value in found if not is_missing(value)]
    return any("," in value for value in present) and all(_with_point(value) is not None for value in present)


def _with_point(text: str) -> float | None:
    """The number that a text is with a decimal comma; a point beside it could mean either."""
    return None if "." in text else number_in(text.replace(",", "."))


def _list(words: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, words))}]"


def _path(text: str) -> str:
    """A path as YAML reads it."""
    return text if re.fullmatch(r"[A-Za-z0-9_./-]+", text) else quoted(text)

"""A study for a CSV file of one's own, the command `dpregret new my_study --data my.csv`: what the file tells is
written, and what it must not or cannot tell is a key without a value, with the question beside it.

A public range, a norm and the class that is positive are the user's to say; a run names each that is not answered.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
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
THOUSANDS: Final = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
"""A number with a decimal comma, or with a separator of thousands."""
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


def write(
    folder: Path, path: Path, label: str | None, encoding: str | None = None, header: str | None = None
) -> list[str]:
    """Write data.yaml, experiments.yaml and a copy of the file below a folder; returns the keys to be answered.

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
    facts = _facts(file.name, columns, label) | {
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
    return [key for key, value in keys.items() if value is None]


def _templates() -> jinja2.Environment:
    import jinja2  # late: most commands on a study need none

    options: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, autoescape=False, **options
    )
    found.filters |= {"quoted": quoted, "listed": _list}
    return found


def _facts(name: str, columns: dict[str, Counter[str]], label: str | None) -> dict[str, Any]:
    """What the templates say of the columns of a file: column -> how often it holds each text. Raises ConfigError."""
    commas = [value for found in columns.values() if _has_commas(found) for value in found if "," in value]
    number = _with_point if commas else number_in
    two = [column for column, values in columns.items() if len(values) == 2] if label is None else []
    left = label if label is not None else two[0] if len(two) == 1 else None
    values = columns.get(left or "", Counter())
    of_numbers = label is not None and len(values) > MOST_LEVELS and all(number(value) is not None for value in values)
    ranges, levels, drop = [], [], []
    for column, found in columns.items():
        if column == left:
            continue
        present = sorted(value for value in found if not is_missing(value))
        lacking = sum(count for value, count in found.items() if is_missing(value))
        lacks = f"no value in {lacking} records: leave them out of the file, or the column with drop" if lacking else ""
        if re.fullmatch(UNNAMED, column):
            drop.append((column, "it has no name"))
        elif len(found) == 1:
            drop.append((column, "it has one value only"))
        elif present and all(number(value) is not None for value in present):
            ranges.append((column, " ".join(filter(None, (lacks, _odd(found, number))))))
        elif 2 <= len(present) <= MOST_LEVELS:
            words = [value for value in present if number(value) is None]
            if len(words) < len(present):
                lacks = f"numbers, but for {words[0]!r}: a mistake? {lacks}".rstrip()
            levels.append((column, present, lacks))
        else:
            drop.append((column, f"words, or no numbers, of {len(found)} kinds"))
    dimension = len(ranges) + sum(len(found) - 1 for _, found, _ in levels)
    if not dimension:
        raise ConfigError(f"{name}: no column of numbers, and none of at most {MOST_LEVELS} words")
    return {
        "label": label, "two": two, "left": left, "columns": [*columns], "most": MOST_LEVELS, "of_numbers": of_numbers,
        "values": [f"{value!r} ({count})" for value, count in values.most_common(MOST_LEVELS)], "kinds": len(values),
        "commas": commas[:1], "decimal": any(THOUSANDS.fullmatch(value) is None for value in commas), "drop": drop,
        "ranges": ranges, "bounded": len(ranges) <= MOST_RANGES, "levels": levels, "dimension": dimension,
    }  # fmt: skip


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
    return number_in(text.replace(",", "."))


def _list(words: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, words))}]"


def _path(text: str) -> str:
    """A path as YAML reads it."""
    return text if re.fullmatch(r"[A-Za-z0-9_./-]+", text) else quoted(text)

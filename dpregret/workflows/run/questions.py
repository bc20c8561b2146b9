"""A study for a CSV file of one's own, the command `dpregret new my_study --data my.csv`: what the file tells is
written, and what it must not or cannot tell is a key without a value, with the question beside it.

A public range, a norm and the class that is positive are the user's to say; a run names each that is not answered.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Final

from dpregret import study
from dpregret.core.errors import NAME_PATTERN, ConfigError
from dpregret.datasets.csv_file import SEPARATORS, CsvFile
from dpregret.datasets.records import MISSING, number_in, quoted, taken

MOST_LEVELS: Final = 12
"""Values of a column of words that may be its levels; of more the column is left out."""
EXPERIMENT: Final = """\
# What is played on the records. T is the number of records, so that each is in one round. docs/your_study.md says more.
defaults: {{set: ball, window: [horizon], epsilon: [1.0], delta: 1.0e-6, runs: 8}}
experiments:
  records:
    title: {title} losses of the records
    sweep: none
    streams: [{stream}]
    options: {{source: {name}}}{ridge}
    dimension: [{dimension}]
    horizon: [{rounds}]
    learners: {{dp-ftrl-lipschitz: [root, corrected], projected-descent: [plain]}}
"""
LOGISTIC: Final = {"title": "Logistic", "stream": "records-logistic", "ridge": ""}
"""The losses of a label of two classes."""
SQUARED: Final = {
    "title": "Squared",
    "stream": "fetched-regression",
    "ridge": "\n    strong_convexity: 0.1 # the weight of the ridge",
}
"""Those of a label of numbers."""


def opened(path: Path) -> CsvFile:
    """A CSV file with the separator that makes most names of its first line. Raises ConfigError."""
    found = [file for separator in SEPARATORS.values() if (file := _tried(path, separator)) is not None]
    return max(found, key=lambda file: len(file.names)) if found else CsvFile(path)


def _tried(path: Path, separator: str) -> CsvFile | None:
    """The file, if its records are as long as the line of names that the separator makes, of two at least."""
    try:
        file = CsvFile(path, separator)
        readable = len(file.names) > 1 and all(block.lines for block in file.blocks())
    except ConfigError:
        return None
    return CsvFile(path, separator) if readable else None


def write(folder: Path, path: Path, label: str | None) -> list[str]:
    """Write data.yaml, experiments.yaml and a copy of the file below a folder; returns the keys to be answered.

    Raises ConfigError for what cannot be read.
    """
    file = opened(path)
    if label is not None:
        file.require([label])
    counts, sizes = [Counter[str]() for _ in file.names], 0
    for block in file.blocks():
        sizes += len(block.lines)
        for counter, texts in zip(counts, block.columns, strict=True):
            counter.update(text.strip() for text in texts)
    columns = dict(zip(file.names, counts, strict=True))
    name = re.sub(r"[^a-z0-9_-]+", "-", path.name.split(".")[0].lower()).strip("-_") or "records"
    name = f"my-{name}" if name in taken() or not re.fullmatch(NAME_PATTERN, name) else name
    lines, questions, dimension = _declared(name, path.name, file, columns, label)
    (folder / "data").mkdir(parents=True)
    shutil.copyfile(path, folder / "data" / path.name)
    (folder / study.DATA).write_text("\n".join(lines) + "\n", encoding="utf-8")
    losses = SQUARED if "range" in questions else LOGISTIC
    text = EXPERIMENT.format(name=name, dimension=dimension, rounds=sizes, **losses)
    (folder / study.NEEDED[0]).write_text(text, encoding="utf-8")
    return questions


def _declared(
    name: str, file_name: str, file: CsvFile, columns: dict[str, Counter[str]], label: str | None
) -> tuple[list[str], list[str], int]:
    """The lines of data.yaml, the keys without a value, and the number of features."""
    lines = [
        "# Give a value to each key that has none: what you know without looking at these records, since the guarantee",
        "# does not cover a constant that was read off them. Then `dpregret data` shows what was read.",
        f"{name}:",
        f"  file: data/{file_name}",
    ]
    word = next(word for word, separator in SEPARATORS.items() if separator == file.separator)
    lines += [f"  separator: {word}"] * (word != "comma")
    questions = []
    if label is None:
        two = [column for column, values in columns.items() if len(values) == 2]
        questions.append("label")
        listed = ", ".join(two or columns)
        lines.append(
            f"  label: # which column is to be predicted? {'Columns of two values' if two else 'Columns'}: {listed}"
        )
    else:
        lines.append(f"  label: {quoted(label)}")
    values = columns.get(label or "", Counter())
    listed = ", ".join(f"{value!r} ({count})" for value, count in values.most_common(MOST_LEVELS))
    if label is not None and len(values) > MOST_LEVELS and all(number_in(value) is not None for value in values):
        questions.append("range")
        lines.append("  range: # [low, high] of the label, a public constant: numbers outside of it are clipped")
    else:
        questions.append("positive")
        lines.append(f"  positive: # which value of the label becomes +1?{f' The file has {listed}' if listed else ''}")
    ranges, levels, drop = [], [], []
    for column, found in columns.items():
        if column == label:
            continue
        present = [value for value in found if value not in MISSING]
        if column == "" or re.fullmatch(r"Unnamed: \d+", column) or len(found) == 1:
            drop.append(column)
        elif all(number_in(value) is not None for value in present) and present:
            ranges.append(column)
        elif len(present) <= MOST_LEVELS and len(present) == len(found):
            levels.append((column, sorted(present)))
        else:
            drop.append(column)
    if drop:
        lines.append(f"  drop: [{', '.join(map(quoted, drop))}] # no names, one value only, or words of many kinds")
    if ranges:
        lines.append("  ranges: # the public range of each column: [low, high]; values outside of it are clipped")
        lines += [f"    {quoted(column)}:" for column in ranges]
        questions += [f"ranges.{column}" for column in ranges]
    if levels:
        lines.append("  levels: # as in the file: are these the values that there can be?")
        lines += [f"    {quoted(column)}: [{', '.join(map(quoted, found))}]" for column, found in levels]
    dimension = len(ranges) + sum(len(found) - 1 for _, found in levels)
    if not dimension:
        raise ConfigError(f"{file.name}: no column of numbers, and none of at most {MOST_LEVELS} words")
    lines.append(
        f"  norm: {dimension**0.5:.4f} # the square root of {dimension} features, each in [-1, 1]: no row is longer"
    )
    return lines, questions, dimension

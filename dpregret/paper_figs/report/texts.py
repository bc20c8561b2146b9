"""Displayed names of learners, and the tables of a run as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import pandas as pd

from dpregret.paper_figs.judge.result_tables import read_lines
from dpregret.paper_figs.text.escaping import from_plain
from dpregret.paper_figs.text.formats import read_csv

Names = Mapping[str, str]
"""Identifier -> what people write; the identifiers are `learner`, `learner.variant`, `stream:name` and `set:name`."""
NOBODY: Final[Names] = MappingProxyType({})


def learner_name(names: Names, learner: str, variant: str) -> str:
    """The displayed name of a learner in a variant, or in all variants that match a pattern with `*`."""
    plain = names.get(learner, learner)
    if "*" in variant:
        return plain
    return names.get(f"{learner}.{variant}", plain if variant == "plain" else f"{plain} {variant}")


Record = Mapping[str, str]
"""A row of a table, by its columns."""


def lines_of(folder: Path) -> dict[str, Record]:
    """The lines of claims.csv and checks.csv, by their claims."""
    return {line["claim"]: line for line in _records(read_lines(folder, text=True))}


def records(path: Path) -> list[Record]:
    """The rows of a CSV file as text; none where there is no file."""
    return _records(read_csv(path, dtype=str, keep_default_na=False)) if path.exists() else []


def _records(frame: pd.DataFrame) -> list[Record]:
    return [{str(key): str(value) for key, value in row.items()} for row in frame.to_dict("records")]


class TextTable(NamedTuple):
    """A table of text with its caption."""

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def text_table(name: str, title: str, caption: str, frame: pd.DataFrame) -> TextTable:
    """The table of a frame of text."""
    rows = tuple(map(tuple, frame.astype(str).to_numpy()))
    return TextTable(name, title, caption, tuple(map(str, frame.columns)), rows)


def read_captioned(path: Path, title: str) -> TextTable:
    """Read a Markdown table below its caption."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    caption = from_plain(text[: text.index(lines[0])].strip())
    rows = [tuple(from_plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in lines]
    return TextTable(path.stem, title, caption, rows[0], tuple(rows[2:]))


def read_all(titles: Mapping[Path, str]) -> list[TextTable]:
    """The tables that there are, by their titles."""
    return [read_captioned(path, title) for path, title in titles.items() if path.exists()]

"""Tables of text that the page shows as they were written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dpregret.paper_figs.text.escaping import from_plain


@dataclass(frozen=True)
class TextTable:
    """A table of text with its caption."""

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_captioned(path: Path, title: str) -> TextTable:
    """Read a Markdown table below its caption."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    caption = from_plain(text[: text.index(lines[0])].strip())
    rows = [tuple(from_plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in lines]
    return TextTable(path.stem, title, caption, rows[0], tuple(rows[2:]))

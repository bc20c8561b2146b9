"""A CSV file as people have it: compressed or not, in an encoding and with a separator that the reader is given.

Nothing is guessed, dropped or filled in. A record has as many fields as the first line has names, every mistake is one
line with the file and the line in it, and line numbers count line breaks within quotation marks. Python's `csv` is
strict in just this; pandas takes surplus fields for an index and fills missing ones.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from dpregret.core.errors import ConfigError, not_allowed, one_line
from dpregret.core.files import opened
from dpregret.core.yaml_source import shown

SEPARATORS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "blank": " ", "bar": "|"}
"""Word -> separator; of blanks, several are one."""
MOST_CONTENT: Final = 1 << 30
"""Bytes that a compressed file may hold."""
BLOCK: Final = 4096
"""Records that are held as text at a time."""
_OPENERS: Final[dict[bytes, Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
_MARKS: Final = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF8: "utf-8-sig",
}  # fmt: skip
"""Bytes that a text begins with -> its encoding; the longer ones first, since they begin with the shorter ones."""


class Block(NamedTuple):
    """Some records in a row. lines: on which each begins. columns: the text of each column."""

    lines: list[int]
    columns: list[tuple[str, ...]]


class CsvFile:
    """The names in the first line of a file, and its records.

    path: of the file; compressed files (gz, bz2, xz, zip of one file) are recognised by their content. separator: one
    character. encoding: a name that Python knows. Raises ConfigError.
    """

    def __init__(self, path: Path, separator: str = ",", encoding: str = "utf-8") -> None:
        self.name, self.separator = shown(path), separator
        self.text = _decoded(self.name, _content(path), encoding)
        self.records = self._records(separator)
        _, names = next(self.records, (1, []))
        if not names:
            raise ConfigError(f"{self.name}:1: not a CSV file of records: no names of columns")
        self.names = [name.strip() for name in names]

    def require(self, names: list[str]) -> None:
        """Raise ConfigError for a name that the first line lacks, with the separator that it seems to have."""
        for name in names:
            if name not in self.names:
                found = next((word for word, names in self._other_names() if name in names), None)
                if found is None and len(self.names) == 1:
                    found = next((word for word, names in self._other_names() if len(names) > 1), None)
                hint = f"; the names look separated otherwise: give `separator: {found}`" if found else ""
                raise ConfigError(f"{self.name}:1: {not_allowed('column', name, self.names)}{hint}")

    def _other_names(self) -> Iterator[tuple[str, list[str]]]:
        """Word for each other separator, with the names that it makes of the first line."""
        for word, separator in SEPARATORS.items():
            if separator != self.separator:
                try:
                    yield word, [name.strip() for name in next(self._records(separator), (1, []))[1]]
                except ConfigError:
                    continue

    def blocks(self) -> Iterator[Block]:
        """All records, some at a time; only once. Raises ConfigError."""
        while records := list(islice(self.records, BLOCK)):
            lines, rows = zip(*records, strict=True)
            yield Block(list(lines), list(zip(*rows, strict=True)))

    def _records(self, separator: str) -> Iterator[tuple[int, list[str]]]:
        """(line, fields) of the first line and of each record, all of one length. Blank lines at the end are none."""
        lines: Iterator[str] = io.StringIO(self.text, newline="")
        if separator == " ":  # blanks at the end of a line separate nothing
            lines = (line.rstrip(" \r\n") + "\n" for line in lines)
        reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
        expected, blank, line = 0, 0, 1
        while True:
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise ConfigError(f"{self.name}:{line}: not a record: {one_line(error)}") from None
            if not fields:
                blank = blank or line
            elif blank:
                raise ConfigError(f"{self.name}:{blank}: a blank line, and records after it")
            else:
                expected = expected or len(fields)
                if len(fields) != expected:
                    counted = f"{len(fields)} field{'s' * (len(fields) != 1)}, the first line has {expected} names"
                    raise ConfigError(f"{self.name}:{line}: {counted}")
                yield line, fields
            line = reader.line_num + 1


def _content(path: Path) -> bytes:
    """The bytes of a file, decompressed where it is compressed."""
    try:
        with opened(path) as file:
            start = file.read(6)
            file.seek(0)
            if start.startswith(b"PK\x03\x04"):
                return _only_member(path, file)
            if start.startswith(b"PAR1"):
                raise ConfigError(f"{shown(path)}: a Parquet file, not CSV")
            opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), None)
            content: bytes = file.read() if opener is None else opener(file).read(MOST_CONTENT + 1)
    except (OSError, EOFError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        raise ConfigError(f"{shown(path)}: cannot be read: {reason}") from None
    if opener and len(content) > MOST_CONTENT:
        raise ConfigError(f"{shown(path)}: holds more than {MOST_CONTENT} bytes, the most of a compressed file")
    return content


def _only_member(path: Path, file: Any) -> bytes:
    """The content of a zip archive of one file."""
    with zipfile.ZipFile(file) as archive:
        members = [name for name in archive.namelist() if name[-1:] != "/" and not name.startswith("__MACOSX/")]
        if len(members) != 1:
            held = f"an archive of {len(members)} files" + " (an Excel workbook)" * ("xl/workbook.xml" in members)
            raise ConfigError(f"{shown(path)}: {held}, not one CSV file")
        with archive.open(members[0]) as member:
            content = member.read(MOST_CONTENT + 1)
    if len(content) > MOST_CONTENT:
        raise ConfigError(f"{shown(path)}: holds more than {MOST_CONTENT} bytes, the most of a compressed file")
    return content


def _decoded(name: str, content: bytes, encoding: str) -> str:
    """The text of bytes. Raises ConfigError for other encodings, with the line and what to give."""
    marked = next((codec for mark, codec in _MARKS.items() if content.startswith(mark)), None)
    codec, marked_codec = codecs.lookup(encoding).name, codecs.lookup(marked or encoding).name
    if marked == "utf-8-sig" and codec == "utf-8":
        codec = marked
    elif marked and not codec.startswith(marked_codec.removesuffix("-sig")):
        given = marked.removesuffix("-sig")
        raise ConfigError(f"{name}: its first bytes are the mark of {given}: give `encoding: {given}`, not {encoding}")
    try:
        text = content.decode(codec)
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = content.count(b"\n", 0, start) + 1
        byte = content[start : start + 1].hex()
        raise ConfigError(
            f"{name}:{line}: byte 0x{byte} is not {encoding}: give the `encoding` of the file, such as latin-1 or "
            "cp1252 (of Windows)"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ConfigError(f"{name}:{line}: a character of value 0: not text, or `encoding: utf-16`")
    return text

"""A CSV file as people have it: compressed or not, in an encoding and with a separator that the reader is given.

Nothing is guessed, dropped or filled in. A record has as many fields as the first line has names, every mistake is one
line with the file and the line in it, and line numbers count line breaks within quotation marks. Python's `csv` is
strict in just this; pandas takes surplus fields for an index and fills missing ones.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import io
import json
import lzma
import re
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from dpregret.core.errors import ConfigError, not_allowed, one_line
from dpregret.core.files import opened
from dpregret.core.yaml_source import display_path

SEPARATORS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "blank": " ", "bar": "|"}
"""Word -> separator; of blanks, several are one."""
MOST_CONTENT: Final = 1 << 30
"""Bytes that a compressed file may hold."""
LONGEST_LINE: Final = 10_000
"""Characters of the first line that are searched for another separator or encoding."""
BLOCK: Final = 1 << 15
"""Fields that are held as text at a time."""
_DECOMPRESSORS: Final[dict[bytes, Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": lzma.LZMADecompressor,
}  # fmt: skip
"""First bytes of a compressed file -> what reads one of its streams."""
_OTHERS: Final = {
    b"PK\x03\x04": "a zip archive", b"PK\x05\x06": "an empty zip archive", b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive", b"Rar!\x1a": "a rar archive", b"\x1f\x9d": "compressed by compress",
    b"\x04\x22\x4d\x18": "compressed by lz4", b"\x1f\x8b": "compressed twice", b"BZh": "compressed twice",
    b"\xfd7zXZ\0": "compressed twice", b"PAR1\x15": "a Parquet file", b"ARROW1\0\0": "a Feather file",
    b"\xd0\xcf\x11\xe0": "an Excel workbook", b"\x89HDF": "an HDF5 file", b"\x93NUMPY": "an array of NumPy",
    b"SQLite format 3": "a database of SQLite", b"%PDF": "a PDF file", b"$FL2@": "a file of SPSS",
    b"<stata_dta>": "a file of Stata", b"<!DOCTYPE": "an HTML page", b"<html": "an HTML page",
    b"version https://git-lfs": "a pointer of Git LFS, without its content",
}  # fmt: skip
"""First bytes of a file that is no text of records -> what it is."""
_MARKS: Final = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF8: "utf-8-sig",
}  # fmt: skip
"""Bytes that a text begins with -> its encoding; the longer ones first, since they begin with the shorter ones."""


_QUOTES: Final = {
    "unexpected end of data": "a quotation mark is not closed",
    "expected after": "a quotation mark within a field: double it, or put the field in quotation marks",
}
"""What `csv` says of quotation marks -> the same for who has the file before him."""


class Block(NamedTuple):
    """Some records in a row. lines: on which each begins. columns: the text of each column."""

    lines: list[int]
    columns: list[tuple[str, ...]]


def may_separate(char: str) -> bool:
    """Whether a character can separate fields: no letter or digit, and no part of a number or of a line's end."""
    return len(char) == 1 and not char.isalnum() and char not in '"\r\n.+-_'


class CsvFile:
    """The names in the first line of a file, and its records.

    path: of the file; compressed files (gz, bz2, xz, zip of one file) are recognised by their content. separator: one
    character. encoding: a name that Python knows; None: that of the mark in the first bytes, else utf-8. names: of the
    columns of a file without a line of names. Text is in the composed form of Unicode (NFC), so that what looks the
    same is the same. Raises ConfigError.
    """

    def __init__(
        self, path: Path, separator: str = ",", encoding: str | None = "utf-8", names: Sequence[str] | None = None
    ) -> None:
        self.name, self.separator, self.given = display_path(path), separator, names
        content = _content(path)
        self.encoding = encoding or (_marked(content) or "utf-8").removesuffix("-sig")
        self.text = _decoded(self.name, content, self.encoding)
        self.records = self._records(separator)
        if names is None:
            if self.text[:4].lower() == "sep=" and len(self.text.splitlines()[0]) <= 6:
                raise ConfigError(
                    f"{self.name}:1: a line for Excel, not names of columns: take it out, and give `separator`"
                )
            _, names = next(self.records, (1, []))
        if not names:
            raise ConfigError(f"{self.name}:1: not a CSV file of records: no names of columns")
        self.names = [name.strip() for name in names]
        self.positions = {name: at for at, name in enumerate(self.names)}

    def require(self, names: list[str]) -> None:
        """Raise ConfigError for a name that the first line lacks, with the separator that it seems to have."""
        for name in names:
            if name not in self.positions:
                found = next((word for word, names in self._other_names() if name in names), None)
                if found is None and len(self.names) == 1:
                    others = self._other_names()
                    found = next((word for word, names in others if len(names) > 1 and word in SEPARATORS), None)
                hint = f"; the names look separated otherwise: give `separator: {found}`" if found else ""
                if not found and (encoding := self._other_encoding(name)):
                    hint = f"; in another encoding the first line has it: give `encoding: {encoding}`"
                raise ConfigError(f"{self.name}:1: {not_allowed('column', name, self.names)}{hint}")

    def _other_names(self) -> Iterator[tuple[str, list[str]]]:
        """Word for each other separator that makes as many fields of the second line as of the first, with these."""
        first = self.text[: self.text.find("\n")][:LONGEST_LINE]
        characters = sorted({char for char in first if may_separate(char)} - {*SEPARATORS.values()})
        for word, separator in (*SEPARATORS.items(), *((json.dumps(char), char) for char in characters)):
            if separator != self.separator and self.given is None:
                try:
                    (_, names), *_ = islice(self._records(separator), 2)
                    yield word, [name.strip() for name in names]
                except (ConfigError, ValueError):
                    continue

    def _other_encoding(self, name: str) -> str | None:
        """The first of a few encodings in which the first line of the same bytes holds a name."""
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            try:
                start = self.text[:LONGEST_LINE].encode(self.encoding).decode(encoding, "ignore")
            except UnicodeError:
                continue
            if name in start.partition("\n")[0] and encoding != self.encoding:
                return encoding
        return None

    def blocks(self) -> Iterator[Block]:
        """All records, some at a time; only once. Raises ConfigError."""
        while records := list(islice(self.records, max(1, BLOCK // len(self.names)))):
            lines, rows = zip(*records, strict=True)
            yield Block(list(lines), list(zip(*rows, strict=True)))

    def _records(self, separator: str) -> Iterator[tuple[int, list[str]]]:
        """(line, fields) of the first line and of each record, all of one length. Blank lines at the end are none."""
        lines: Iterator[str] = io.StringIO(self.text, newline="")
        if separator == " ":
            if "\t" in self.text:
                line = self.text.count("\n", 0, self.text.index("\t")) + 1
                raise ConfigError(f"{self.name}:{line}: a tab, in a file that blanks separate: write blanks for it")
            # blanks at the end of a line separate nothing
            lines = (line.rstrip(" \r\n") + "\n" for line in lines)
        # blanks before a quotation mark are no part of a field; others are left to who reads the column
        skips = separator == " " or re.search(rf'(^|{re.escape(separator)}) +"', self.text, re.MULTILINE) is not None
        reader = csv.reader(lines, delimiter=separator, skipinitialspace=skips, strict=True)
        expected, blank, line = len(self.given or ()), 0, 1
        counted = "`header` has {} names" if self.given else "the first line has {} name{}"
        while True:
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                reason = next((why for text, why in _QUOTES.items() if text in str(error)), one_line(error))
                raise ConfigError(f"{self.name}:{line}: not a record: {reason}") from None
            if not fields or (len(fields) == 1 != expected and not fields[0].strip()):
                blank = blank or line
            elif blank:
                raise ConfigError(f"{self.name}:{blank}: a blank line, and records after it")
            else:
                expected = expected or len(fields)
                if len(fields) != expected:
                    count = f"{len(fields)} field{'s' * (len(fields) != 1)}"
                    raise ConfigError(f"{self.name}:{line}: {count}, {counted.format(expected, 's' * (expected != 1))}")
                yield line, fields
            line = reader.line_num + 1


def _content(path: Path) -> bytes:
    """The bytes of a file, decompressed where it is compressed."""
    name = display_path(path)
    try:
        with opened(path) as file:
            start = file.read(6)
            file.seek(0)
            if start.startswith(b"PK\x03\x04"):
                content = _only_member(name, file)
            else:
                content = file.read()
                kind = next((kind for magic, kind in _DECOMPRESSORS.items() if start.startswith(magic)), None)
                if kind is not None:
                    content = _decompressed(name, kind, content)
    except (
        OSError,
        EOFError,
        RuntimeError,
        NotImplementedError,
        zlib.error,
        lzma.LZMAError,
        zipfile.BadZipFile,
    ) as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        raise ConfigError(f"{name}: cannot be read: {reason}") from None
    other = next((what for magic, what in _OTHERS.items() if content.startswith(magic)), None)
    other = "a tar archive" if content[257:262] == b"ustar" else other
    if other is not None:
        raise ConfigError(f"{name}: {other}, not CSV: a file of text, or one that gz, bz2, xz or zip compressed once")
    return content


def _decompressed(name: str, kind: Any, content: bytes) -> bytes:
    """The content of all streams of a compressed file; what follows them would be lost, and is refused."""
    parts, size = list[bytes](), 0
    while content:
        reader, part = kind(), b""
        try:
            part = reader.decompress(content, MOST_CONTENT + 1 - size)
        except (OSError, zlib.error, lzma.LZMAError):
            if not parts:
                raise
        size += len(part)
        if size > MOST_CONTENT:
            raise ConfigError(f"{name}: holds more than {MOST_CONTENT} bytes, the most of a compressed file")
        if not reader.eof:
            other = f"{len(content)} bytes after the compressed data" if parts and not part else ""
            raise ConfigError(f"{name}: cannot be read: {other or 'the compressed data end too early'}")
        parts.append(part)
        content = reader.unused_data.lstrip(b"\0")  # zeros are padding
    return b"".join(parts)


def _only_member(name: str, file: Any) -> bytes:
    """The content of a zip archive of one file."""
    with zipfile.ZipFile(file) as archive:
        members = [name for name in archive.namelist() if name[-1:] != "/" and not name.startswith("__MACOSX/")]
        if len(members) != 1:
            holds = f"an archive of {len(members)} files" + " (an Excel workbook)" * ("xl/workbook.xml" in members)
            raise ConfigError(f"{name}: {holds}, not one CSV file")
        with archive.open(members[0]) as member:
            content = member.read(MOST_CONTENT + 1)
    if len(content) > MOST_CONTENT:
        raise ConfigError(f"{name}: holds more than {MOST_CONTENT} bytes, the most of a compressed file")
    return content


def _marked(content: bytes) -> str | None:
    """The encoding whose mark the bytes begin with."""
    return next((codec for mark, codec in _MARKS.items() if content.startswith(mark)), None)


def _decoded(name: str, content: bytes, encoding: str) -> str:
    """The text of bytes. Raises ConfigError for other encodings, with the line and what to give."""
    marked, codec = _marked(content), codecs.lookup(encoding).name
    if marked:
        given = marked.removesuffix("-sig")
        ordered = codec in (f"{given}-le", f"{given}-be") and content.startswith("\ufeff".encode(codec))
        if codec not in (given, marked) and not ordered:
            raise ConfigError(
                f"{name}: its first bytes are the mark of {given}: give `encoding: {given}`, not {encoding}"
            )
        codec = marked  # which takes the mark off
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
    return text if text.isascii() else unicodedata.normalize("NFC", text)

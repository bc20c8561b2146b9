"""Download declared data sets, verify them, and convert them to the .npz form of ``bundled``.

Run as ``python -m dpregret.datasets.fetch NAME --to DIR``. Every failure is one line on standard error, exit code 1,
and no new file: a download stays in memory until its digest is right. Nothing in the default run calls this.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import hashlib
import io
import re
import signal
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from dpregret.core.errors import ConfigError, one_line
from dpregret.core.files import atomic_write
from dpregret.core.validation import NAME_PATTERN, validate
from dpregret.core.yaml_source import Expanded, read_source
from dpregret.datasets.bundled import check_finite, save, scale_rows
from dpregret.datasets.download import FetchError, download

SOURCES = Path(__file__).resolve().parent.parent / "workflows" / "config" / "sources.yaml"
MOST_BYTES: Final = 1 << 26
"""Of a download that does not declare its size."""
MOST_CELLS: Final = 1 << 26
"""Rows times columns: half a gigabyte as numbers."""
_CELL_BYTES: Final = 32
"""Of one entry as text, ``index:value`` and a space, at most."""
_BLOCK: Final = 1 << 20
_LEFT_SECONDS: Final = 60.0
_OPENERS: Final[dict[str, Callable[[Any], Any]]] = {".gz": gzip.open, ".bz2": bz2.open}
# https, or http on this machine; parts of plain characters that begin with no dot: no query, nothing that leads upwards
_URL: Final = r"^(https://[A-Za-z0-9.-]+|http://(localhost|127\.0\.0\.1)(:[0-9]+)?)(/[A-Za-z0-9_~+-][A-Za-z0-9._~+-]*)+"
_Open = io.BytesIO | io.BufferedReader
_DIGEST: Final = r"^[0-9a-f]{64}$"


class Source(BaseModel):
    """One declared download: a two-class data set in LIBSVM format.

    bytes: size of the file. sha256: digest of the file as sent; sha256_content: that of what it holds once it is
    decompressed. vouched_by: who else has published the digest, or a file that has it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=NAME_PATTERN)
    url: str
    licence: str = Field(min_length=1)
    bytes: int | None = Field(default=None, ge=1, le=1 << 29)
    sha256: str | None = Field(default=None, pattern=_DIGEST)
    sha256_content: str | None = Field(default=None, pattern=_DIGEST)
    vouched_by: tuple[str, ...] = ()
    rows: int = Field(ge=1)
    columns: int = Field(ge=1)

    @field_validator("url")
    @classmethod
    def _is_plain(cls, url: str) -> str:
        if not re.fullmatch(_URL, url):
            raise ValueError(
                "must be https://HOST/PATH, parts of letters, digits and . _ ~ + - that do not begin with a dot"
            )
        return url

    @model_validator(mode="after")
    def _is_bounded(self) -> Source:
        if self.rows * self.columns > MOST_CELLS:
            raise ValueError(f"{self.rows} rows of {self.columns} columns are more than {MOST_CELLS} numbers")
        if self.filename == f"{self.name}.npz":
            raise ValueError(f"the download must not be called {self.filename}: that is what it is converted to")
        return self

    @property
    def filename(self) -> str:
        """Last part of the URL's path; its suffix tells the loader whether the file is compressed."""
        return self.url.rsplit("/", 1)[-1]

    def require_trust(self) -> None:
        """Raise FetchError unless a strong digest is pinned and two others vouch for it."""
        if self.sha256 is None and self.sha256_content is None:
            raise FetchError(
                f"{self.name}: no sha256 is pinned, so {self.filename} cannot be trusted; run with --pin, compare what "
                f"is printed with independent sources and write it into {SOURCES.name}"
            )
        if len(set(self.vouched_by)) < 2:
            raise FetchError(f"{self.name}: two sources must vouch for the digest, {SOURCES.name} names "
                             f"{len(set(self.vouched_by))} (vouched_by)")  # fmt: skip


class _Measured(NamedTuple):
    bytes: int
    sha256: str
    sha256_content: str


def read_sources(path: Path = SOURCES) -> dict[str, Source]:
    """Read the declarations: name -> source. Raises FetchError naming the file, the line, the entry and the field."""
    try:
        declared = read_source(path)
        if not isinstance(declared.data, dict) or not all(isinstance(entry, dict) for entry in declared.data.values()):
            raise FetchError(f"{path}: expected a mapping from names to mappings of fields")
        entries = {
            name: Expanded({"name": name, **entry}, {(): (declared, (name,))}) for name, entry in declared.data.items()
        }
        return {name: validate(Source, entry) for name, entry in entries.items()}
    except ConfigError as error:
        raise FetchError(str(error)) from None


def find_source(name: str, path: Path = SOURCES) -> Source:
    """Return one declared source. Raises FetchError naming the declared ones."""
    sources = read_sources(path)
    if name not in sources:
        raise FetchError(f"no declared source {name!r}; {path} has: {', '.join(sources)}")
    return sources[name]


def fetch(source: Source, directory: Path) -> Path:
    """Bring the verified file to ``directory`` and return its path; a file that is already there is only verified.

    Raises FetchError if the source is not to be trusted, the file cannot be downloaded within its limits, or is
    another one than declared. A failed download leaves nothing behind.
    """
    source.require_trust()
    path = directory / source.filename
    if path.is_file():
        verify(source, path)
        return path
    content = download(source.url, source.bytes or MOST_BYTES)
    _check(source, io.BytesIO(content), source.url)
    directory.mkdir(parents=True, exist_ok=True)
    _clear(path)
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)
    return path


def pin(source: Source) -> str:
    """Download without verification and return what the declaration lacks, as YAML; the file is not kept."""
    content = download(source.url, source.bytes or MOST_BYTES)
    found = _measure(source, io.BytesIO(content), source.url)._asdict()
    if Path(source.filename).suffix not in _OPENERS:
        del found["sha256_content"]
    return "".join(f"{key}: {value}\n" for key, value in found.items())


def verify(source: Source, path: Path) -> None:
    """Raise FetchError unless the file is the declared one."""
    source.require_trust()
    with path.open("rb") as file:
        _check(source, file, str(path))


def convert(source: Source, directory: Path) -> Path:
    """Verify the file in ``directory`` and write ``directory/NAME.npz``: rows divided by the largest norm, labels +-1.

    Raises FetchError if the file is missing, unverified, unreadable, of another size than declared, or has other
    than two classes; ValueError naming row and column of a value that is not finite.
    """
    raw = directory / source.filename
    if not raw.exists():
        raise FetchError(
            f"{raw} is missing; get it with: python -m dpregret.datasets.fetch {source.name} --to {directory}"
        )
    verify(source, raw)
    try:
        from sklearn.datasets import load_svmlight_file  # slow to import, and checks read this module

        matrix, classes = load_svmlight_file(str(raw), n_features=source.columns)
    except (OSError, EOFError, ValueError) as error:
        message = " ".join(str(error).split())
        raise FetchError(f"{raw}: not a LIBSVM file of {source.columns} columns ({message})") from error
    if len(classes) != source.rows:
        raise FetchError(f"{raw}: {len(classes)} rows, {source.rows} declared")
    features = matrix.toarray()
    check_finite(features, classes, str(raw))
    distinct = np.unique(classes)
    if len(distinct) != 2:
        raise FetchError(f"{raw}: {len(distinct)} classes, expected 2")
    path = directory / f"{source.name}.npz"
    save(path, scale_rows(features, str(raw)), np.where(classes == distinct[1], 1.0, -1.0))
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.datasets.fetch", description=main.__doc__)
    parser.add_argument("name", help="entry of the declared sources")
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="folder for the file and its .npz")
    parser.add_argument("--sources", type=Path, default=SOURCES, help="YAML file of declared sources")
    parser.add_argument("--pin", action="store_true", help="only print size and SHA-256 of what the URL gives now")
    options = parser.parse_args(arguments)
    try:
        source = find_source(options.name, options.sources)
        if options.pin:
            print(pin(source), end="")
        else:
            fetch(source, options.to)
            print(f"{convert(source, options.to)} (licence: {source.licence})")
    except (ValueError, OSError) as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    return 0


def _check(source: Source, file: _Open, where: str) -> None:
    """Raise FetchError unless the open file is the declared one."""
    found = _measure(source, file, where)
    for name, value in found._asdict().items():
        expected = getattr(source, name)
        if expected is not None and value != expected:
            file.seek(0)
            hint = "; it looks like a web page" if file.read(64).lstrip().startswith(b"<") else ""
            raise FetchError(f"{where}: wrong {name}: {value}, declared {expected}{hint}")


def _measure(source: Source, file: _Open, where: str) -> _Measured:
    """Size and digests, read in blocks; FetchError for a content that is damaged or larger than rows and columns allow.

    A digest of the content alone is compared with what has been decompressed without trust: hence the limit.
    """
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    most, held, lines, content = _CELL_BYTES * source.rows * (source.columns + 1), 0, 0, hashlib.sha256()
    try:
        opener = _OPENERS.get(Path(source.filename).suffix)
        opened = opener(file) if opener else file
        while block := opened.read(_BLOCK):
            content.update(block)
            held, lines = held + len(block), lines + block.count(b"\n")
            if held > most or lines > source.rows:
                raise FetchError(
                    f"{where}: holds more than {source.rows} rows of {source.columns} columns (at most {most} bytes)"
                )
    except (OSError, EOFError, zlib.error) as error:
        raise FetchError(f"{where}: cannot be decompressed ({one_line(error)})") from error
    return _Measured(size, digest, content.hexdigest())


def _clear(path: Path) -> None:
    """Remove what a kill in the middle of writing `path` has left."""
    for left in path.parent.glob(f".{path.name}.*.part"):
        if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
            left.unlink(missing_ok=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what is being written is then removed
    sys.exit(main())

"""Download declared data sets, verify them, and convert them to the .npz form of ``bundled``.

Run as ``python -m dpregret.datasets.fetch NAME --to DIR``. Every failure is one line on standard error, exit code 1,
and no new file. Nothing in the default run calls this.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from dpregret.core.errors import ConfigError, one_line
from dpregret.core.validation import validate
from dpregret.core.yaml_source import Expanded, read_source
from dpregret.datasets.bundled import check_finite, save, scale_rows

SOURCES = Path(__file__).resolve().parent.parent / "workflows" / "config" / "sources.yaml"
_TIMEOUT_SECONDS = 30.0


class FetchError(ValueError):
    """A data set that cannot be had or cannot be trusted; the message is one line."""


class Source(BaseModel):
    """One declared download: a two-class data set in LIBSVM format."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    url: str = Field(pattern=r"^https?://[^/]+/.*[^/]$")
    licence: str = Field(min_length=1)
    sha256: str | None = Field(pattern=r"^[0-9a-f]{64}$")
    rows: int = Field(ge=1)
    columns: int = Field(ge=1)

    @property
    def filename(self) -> str:
        """Last part of the URL's path; its suffix tells the loader whether the file is compressed."""
        return urlsplit(self.url).path.rsplit("/", 1)[-1]


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

    Raises FetchError if no checksum is pinned, the server cannot be reached or answers with an error, the file is
    shorter than announced, or its checksum is wrong. A failed download leaves nothing behind.
    """
    path, expected = directory / source.filename, _pinned(source)
    if path.exists():
        verify(source, path)
        return path
    return _download(source, directory, expected)


def checksum(source: Source) -> str:
    """Download without verification and return the SHA-256, for the declaration; the file is not kept."""
    with tempfile.TemporaryDirectory() as folder:
        return _sha256(_download(source, Path(folder), None))


def verify(source: Source, path: Path) -> None:
    """Raise FetchError unless the file's SHA-256 is the pinned one."""
    expected = _pinned(source)
    if (found := _sha256(path)) != expected:
        raise FetchError(f"{path}: wrong checksum: sha256 {found}, expected {expected}")


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
    parser.add_argument("--pin", action="store_true", help="only print the SHA-256 of what the URL gives now")
    options = parser.parse_args(arguments)
    socket.setdefaulttimeout(_TIMEOUT_SECONDS)
    try:
        source = find_source(options.name, options.sources)
        if options.pin:
            print(f"sha256: {checksum(source)}")
        else:
            fetch(source, options.to)
            print(f"{convert(source, options.to)} (licence: {source.licence})")
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _pinned(source: Source) -> str:
    if source.sha256 is None:
        raise FetchError(
            f"{source.name}: no sha256 is pinned, so {source.filename} cannot be trusted; run with --pin, compare the "
            f"printed checksum with an independent source and write it into {SOURCES.name}"
        )
    return source.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(source: Source, directory: Path, sha256: str | None) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    try:
        from sklearn.datasets import fetch_file

        path: Path = fetch_file(source.url, directory, source.filename, sha256, n_retries=0)
    except (OSError, http.client.HTTPException) as error:
        raise FetchError(f"{source.url}: download failed ({one_line(error)})") from error
    return path


if __name__ == "__main__":
    sys.exit(main())

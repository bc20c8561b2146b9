"""Download declared data sets, verify them, and convert them to the .npz form of ``bundled``.

Run as ``python -m dpregret.datasets.fetch NAME --to DIR``. Every failure is one line on standard error, exit code 1,
and no new file: a download stays in memory until its digest is right. Nothing in the default run calls this.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import signal
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from dpregret.core import boundary
from dpregret.core.errors import one_line
from dpregret.core.files import atomic_write, opened
from dpregret.datasets.download import FetchError, download
from dpregret.datasets.examples import check_finite, save, unit_rows
from dpregret.datasets.sources import SOURCES, Declared, Source, find_declared, find_source

MOST_BYTES: Final = 1 << 26
"""Of a download that does not declare its size."""
MOST_CONTENT: Final = 1 << 30
"""Of what a compressed file holds."""
_CELL_BYTES: Final = 32
"""Of one entry as text, ``index:value`` and a space, at most."""
_SPARE_BYTES: Final = 4096
"""Of one line that is no row, at most."""
_BLOCK: Final = 1 << 20
_LEFT_SECONDS: Final = 60.0
_OPENERS: Final[dict[str, Callable[[Any], Any]]] = {".gz": gzip.open, ".tgz": gzip.open, ".bz2": bz2.open}
_Open = io.BytesIO | io.BufferedReader


class _Measured(NamedTuple):
    bytes: int
    sha256: str
    sha256_content: str


def fetch(source: Source, directory: Path) -> Path:
    """Bring the verified file to ``directory`` and return its path; a file that is already there is only verified.

    Raises FetchError if the file cannot be downloaded within its limits, or is another one than declared. A failed
    download leaves nothing behind.
    """
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


def pin(source: Declared) -> str:
    """Download without verification and return what the declaration lacks, as YAML; the file is not kept."""
    content = download(source.url, source.bytes or MOST_BYTES)
    found = _measure(source, io.BytesIO(content), source.url)._asdict()
    if Path(source.filename).suffix not in _OPENERS:
        del found["sha256_content"]
    return "".join(f"{key}: {value}\n" for key, value in found.items())


def verify(source: Source, path: Path) -> None:
    """Raise FetchError unless the file is the declared one."""
    with opened(path) as file:
        _check(source, file, str(path))


def convert(source: Source, directory: Path) -> Path:
    """Verify the file in ``directory`` and write ``directory/NAME.npz``: rows of norm 1, labels in [-1, 1].

    Raises FetchError if the file is missing, unverified, unreadable or of another size than declared; ValueError naming
    row and column of a value that is not finite.
    """
    raw = directory / source.filename
    if not raw.exists():
        raise FetchError(
            f"{raw} is missing; get it with: python -m dpregret.datasets.fetch {source.name} --to {directory}"
        )
    verify(source, raw)
    try:
        features, labels = source.how.read(raw, source.columns, source.hashed)
    except (OSError, EOFError, ValueError) as error:
        raise FetchError(
            f"{raw}: not a {source.format} file of {source.columns} columns ({one_line(error)})"
        ) from error
    if len(labels) != source.rows:
        raise FetchError(f"{raw}: {len(labels)} rows, {source.rows} declared")
    check_finite(features, labels, str(raw))
    path = directory / f"{source.name}.npz"
    save(path, unit_rows(features, str(raw)), labels)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = boundary.Parser(prog="python -m dpregret.datasets.fetch", description=main.__doc__)
    parser.add_argument("name", help="entry of the declared sources")
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="folder for the file and its .npz")
    parser.add_argument("--sources", type=Path, default=SOURCES, help="YAML file of declared sources")
    parser.add_argument("--pin", action="store_true", help="only print size and SHA-256 of what the URL gives now")
    options = parser.parse_args(arguments)
    try:
        if options.pin:
            print(pin(find_declared(options.name, options.sources)), end="")
        else:
            source = find_source(options.name, options.sources)
            fetch(source, options.to)
            print(f"{convert(source, options.to)} (licence: {source.licence})")
    except (ValueError, OSError) as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    return 0


def _check(source: Declared, file: _Open, where: str) -> None:
    """Raise FetchError unless the open file is the declared one."""
    found = _measure(source, file, where)
    for name, value in found._asdict().items():
        expected = getattr(source, name)
        if expected is not None and value != expected:
            file.seek(0)
            hint = "; it looks like a web page" if file.read(64).lstrip().startswith(b"<") else ""
            raise FetchError(f"{where}: wrong {name}: {value}, declared {expected}{hint}")


def _measure(source: Declared, file: _Open, where: str) -> _Measured:
    """Size and digests, read in blocks; FetchError for a content that is damaged or larger than rows and columns allow.

    A digest of the content alone is compared with what has been decompressed without trust: hence the limit.
    """
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    most = min(_CELL_BYTES * source.rows * (source.columns + 1) + _SPARE_BYTES * source.how.spare, MOST_CONTENT)
    held, lines, content = 0, 0, hashlib.sha256()
    try:
        opener = _OPENERS.get(Path(source.filename).suffix)
        opened = opener(file) if opener else file
        while block := opened.read(_BLOCK):
            content.update(block)
            held, lines = held + len(block), lines + block.count(b"\n")
            if held > most or lines > source.rows + source.how.spare:
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

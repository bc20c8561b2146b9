"""Archives of strangers: unpacked within bounds, or refused in one line."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Final

from dpregret.core.errors import one_line
from dpregret.core.files import opened as plain_file

INSIDE: Final = "results"
"""Where the folder of results is in an archive."""
LOCK: Final = "requirements/run.txt"
"""The only other file in it."""
MOST_FILES, MOST_BYTES, AT_ONCE = 50_000, 1 << 30, 16 << 20
LONGEST, MOST_FOLDERS = 1000, 20
"""Of a name."""


class UnreadableError(ValueError):
    """No results, no archive, no list of files: nothing can be checked. One line."""


class _Bounded(gzip.GzipFile):
    """A stream that gives up where an archive claims more than anyone may read."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= AT_ONCE or self.tell() + size > MOST_BYTES:
            raise UnreadableError(f"larger than {MOST_BYTES >> 20} MiB, or damaged")
        return super().read(size)


def plain_name(name: str) -> bool:
    """Whether a name leads to a place below its folder, in one way of writing only."""
    parts = PurePosixPath(name).parts
    odd = len(name) > LONGEST or name[:1] == "/" or ".." in parts or any(each in name for each in "\\\n\r\0")
    return not odd and str(PurePosixPath(name)) == name != "." and len(parts) <= MOST_FOLDERS


def unpack(path: Path, folder: Path) -> None:
    """Write the files of an archive below an empty folder. Raises UnreadableError; what it wrote is then of no use."""
    try:
        with (
            plain_file(path) as packed,
            _Bounded(fileobj=packed) as stream,
            tarfile.open(fileobj=stream, mode="r:") as opened,
        ):
            for number, member in enumerate(opened, 1):
                if not (member.isreg() and not member.issparse() and plain_name(member.name)):
                    raise UnreadableError(f"{member.name!r}: a link, no plain file, or a name that leads elsewhere")
                if not member.name.startswith(f"{INSIDE}/") and member.name != LOCK:
                    raise UnreadableError(f"{member.name!r}: not in archives of this version; compare folders instead")
                content, target = opened.extractfile(member), folder / member.name
                if number > MOST_FILES or target.exists():
                    raise UnreadableError(f"{member.name!r}: there twice, or more than {MOST_FILES} files")
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as file:
                    shutil.copyfileobj(content or io.BytesIO(), file)
            while stream.read(1 << 16):  # so that the checksum of all is compared
                pass
    except (tarfile.TarError, OSError, EOFError, MemoryError, RecursionError, ValueError, zlib.error) as fault:
        raise UnreadableError(one_line(fault) or type(fault).__name__) from None

"""A finished run as one file: its results, as listed in their manifest, with the lock file and where it all came from.

    python -m dpregret.workflows.archive results build/dpregret-full.tar.gz

The same results give the same bytes, whoever packs them, where and when: names are sorted, dates and owners left out,
and commit and machine are those of the run, from its manifest. What is read is bounded in number and size, and nothing
is unpacked.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

from dpregret.core.files import atomic_write, checksum
from dpregret.workflows.fingerprint import ROOT, code_fingerprint
from dpregret.workflows.sbom import bill

NAME, PROVENANCE = "manifest.json", "provenance.json"
ORIGIN = ("profile", "commit", "dirty", "dpregret", "python", "system", "machine", "kernels", "code", "lock")
INSIDE = "results"  # where the folder of results is in an archive
LOCK = "requirements/base.txt"
MOST_FILES, MOST_BYTES, LARGEST = 50_000, 1 << 30, 256 << 20  # in an archive; of what is held in memory at once


class RefusedError(ValueError):
    """An archive that cannot be read safely: one line."""


class _Bounded(gzip.GzipFile):
    """A stream that gives up where an archive claims more than anyone may read."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0 or size > LARGEST or self.tell() + size > MOST_BYTES:
            raise RefusedError(f"larger than {MOST_BYTES >> 20} MiB, or damaged")
        try:
            return super().read(size)
        except zlib.error as fault:
            raise RefusedError(f"damaged ({fault})") from None

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if offset > MOST_BYTES or whence == io.SEEK_END:
            raise RefusedError(f"larger than {MOST_BYTES >> 20} MiB, or damaged")
        return super().seek(offset, whence)


def members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of every file of an archive, in its order.

    Raises RefusedError for links, devices, names that lead elsewhere or come twice, for too many or too large files;
    TarError, OSError and EOFError for what is no archive.
    """
    seen: set[str] = set()
    with _Bounded(path) as stream, tarfile.open(fileobj=stream, mode="r:") as opened:
        for member in opened:
            name = PurePosixPath(member.name)
            plain = member.isreg() and not member.issparse()
            if not plain or name.is_absolute() or ".." in name.parts or str(name) != member.name or "\\" in member.name:
                raise RefusedError(f"{member.name[:200]!r}: a link, no plain file, or a name that leads elsewhere")
            if member.name in seen or len(seen) >= MOST_FILES:
                raise RefusedError(f"{member.name!r}: there twice, or more than {MOST_FILES} files")
            seen.add(member.name)
            content = opened.extractfile(member)
            if content is None:
                raise RefusedError(f"{member.name!r}: no content")
            yield member.name, content
        while stream.read(1 << 20):  # so that the checksum of all is compared
            pass


def provenance(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What the manifest of a run says of its origin; None for what older ones do not say."""
    return {name: manifest.get(name) for name in ORIGIN}


def write(results: Path, manifest: Mapping[str, Any], output: Path) -> None:
    """Archive the files of a folder of results that its manifest lists.

    The bytes follow from these files and from the lock alone: not from the date, the folder or the machine.
    """
    content: dict[str, Path | bytes] = {}
    if (ROOT / LOCK).is_file():
        lock = (ROOT / LOCK).read_bytes()
        content = {LOCK: lock, "requirements/sbom.json": _json(bill(lock.decode()))}
    listed = {name: hashlib.sha256(each).hexdigest() for name, each in content.items() if isinstance(each, bytes)}
    content[PROVENANCE] = _json(self_checked({**provenance(manifest), "files": listed}))
    content |= {f"{INSIDE}/{name}": results / name for name in (NAME, *manifest["files"])}
    with atomic_write(output) as temporary, temporary.open("wb") as raw:
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
        with packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as opened:
            for name, source in sorted(content.items()):
                data = source if isinstance(source, bytes) else source.read_bytes()
                member = tarfile.TarInfo(name)  # date 0, owner 0, mode 644
                member.size = len(data)
                opened.addfile(member, io.BytesIO(data))


def _json(content: object) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


def self_checked(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with a checksum of itself; equal to its argument where that has the right one already."""
    rest = {name: each for name, each in content.items() if name != "checksum"}
    return rest | {"checksum": hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()}


def main() -> int:
    """Archive a folder of results that is as its manifest says."""
    from dpregret.workflows import verify

    if len(sys.argv) != 3:
        print("python -m dpregret.workflows.archive RESULTS FILE.tar.gz", file=sys.stderr)
        return 2
    results, output = map(Path, sys.argv[1:])
    code = verify.main([str(results)])
    if code:
        print(f"{results}: not archived", file=sys.stderr)
        return code
    manifest = json.loads((results / NAME).read_text(encoding="utf-8"))
    lock = ROOT / LOCK
    if (checksum(lock) if lock.is_file() else None) != manifest.get("lock"):
        print(f"{results}: not archived: it was made with another {LOCK} than {ROOT / LOCK}", file=sys.stderr)
        return 2
    if manifest.get("code") != code_fingerprint():
        print(f"{results}: made with other code than this tree's (commit: {manifest.get('commit')})", file=sys.stderr)
    write(results, manifest, output)
    print(f"{output}: {output.stat().st_size >> 10} KiB, sha256 {checksum(output)}")
    print(f"dpregret verify {output} checks it anywhere")
    return 0


if __name__ == "__main__":
    sys.exit(main())

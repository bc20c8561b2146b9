"""A finished run as one file: every file that it lists, and the lock of its packages.

    python -m dpregret.workflows.run.archive results build/dpregret-full.tar.gz

The same results give the same bytes, whoever packs them, where and when: names are sorted, dates and owners left out.
"""

from __future__ import annotations

import gzip
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from dpregret.core import boundary
from dpregret.core.files import atomic_write, checksum
from dpregret.core.files import opened as plain_file
from dpregret.workflows.run import sums
from dpregret.workflows.run.fingerprint import ROOT
from dpregret.workflows.run.origin import lock
from dpregret.workflows.run.unpack import INSIDE, LOCK


def write(results: Path, output: Path) -> None:
    """Archive what a folder of results lists. Raises UnreadableError and OSError."""
    content = {f"{INSIDE}/{name}": results / name for name in (sums.SUMS, *sums.listed(results))}
    content |= {LOCK: ROOT / LOCK} if (ROOT / LOCK).is_file() else {}
    with atomic_write(output) as temporary, temporary.open("wb") as raw:
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
        with packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as opened:
            for name, path in sorted(content.items()):
                member = tarfile.TarInfo(name)  # date 0, owner 0, mode 644
                with plain_file(path) as file:
                    member.size = path.stat().st_size
                    opened.addfile(member, file)


def main(words: Sequence[str] | None = None) -> int:
    """Archive a run that is as it lists; exit codes are those of `dpregret verify`."""
    parser = boundary.Parser(prog="python -m dpregret.workflows.run.archive", description=__doc__)
    parser.add_argument("results", type=Path, help="a folder of results")
    parser.add_argument("output", type=Path, metavar="FILE.tar.gz", help="what is written")
    given = parser.parse_args(words)
    code = sums.main([str(given.results)])
    if not code and sums.described(given.results).get("lock") != lock():
        print(f"{ROOT / LOCK}: not the lock file that the run was made with", file=sys.stderr)
        code = 2
    if code:
        print(f"{given.results}: not archived", file=sys.stderr)
        return code
    write(given.results, given.output)
    print(f"{given.output}: {given.output.stat().st_size >> 10} KiB, sha256 {checksum(given.output)}")
    return 0


if __name__ == "__main__":
    boundary.end(main)

"""Compare two runs, each a folder, an archive (`make archive`) or the address of one: `dpregret compare A B`.

Of an archive every checksum is compared before one number is read. One from an address is bounded in size and time,
its digest is printed, and it lies in temporary files that no other user can read and that are gone at the end.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from dpregret.core import boundary
from dpregret.core.errors import one_line
from dpregret.core.text import printable
from dpregret.datasets.fetch import FetchError, download
from dpregret.paper_figs.compare import compare
from dpregret.paper_figs.text.read_table import DamageError
from dpregret.workflows.run import sums
from dpregret.workflows.run.unpack import UnreadableError

MOST_BYTES: Final = 512 << 20
"""Of an archive from an address."""
WHERE: Final = (
    "a run: a folder of results (or of one of its papers), the file that `make archive` made of one, or the https "
    "address of such a file"
)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def read_run(place: str) -> pd.DataFrame:
    """All lines of a run, with the column `paper`. Raises CompareError, DamageError, OSError."""
    scheme = _SCHEME.match(place)
    if scheme and scheme.group().lower() in ("https://", "http://"):
        return _read_address(place)
    if scheme:
        raise compare.CompareError(f"{place}: only https:// and http:// addresses are read")
    path = Path(place)
    return _read_archive(path, place) if path.is_file() else compare.read_folder(path)


def _read_address(url: str) -> pd.DataFrame:
    try:
        content = download(url, MOST_BYTES)
    except FetchError as fault:
        raise compare.CompareError(one_line(fault)) from None
    with tempfile.NamedTemporaryFile(prefix="dpregret-", suffix=".tar.gz") as file:
        file.write(content)
        file.flush()
        size, digest = len(content), hashlib.sha256(content).hexdigest()
        del content
        found = _read_archive(Path(file.name), url)
    print(printable(f"{url}: {size} bytes, sha256 {digest}"), file=sys.stderr)
    return found


def _read_archive(path: Path, shown: str) -> pd.DataFrame:
    """The lines of an archive in which everything is as listed; `shown` is its name in messages."""
    try:
        with sums.opened(path) as (folder, faults):
            if faults:
                more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
                raise compare.CompareError(f"{shown}: {faults[0]}{more}")
            try:
                return compare.read_folder(folder)
            except (compare.CompareError, DamageError) as fault:
                raise compare.CompareError(str(fault).replace(str(folder), shown)) from None
    except (UnreadableError, OSError) as fault:
        raise compare.CompareError(f"{shown}: {one_line(fault) or type(fault).__name__}") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what differs; exit code 2 when the two cannot be compared."""
    return compare.main(arguments, read_run, WHERE)


if __name__ == "__main__":
    boundary.end(main)

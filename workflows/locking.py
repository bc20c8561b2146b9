"""One live Snakemake per folder, and no trace of dead ones.

Snakemake's lock files do not say who holds them: after ``kill -9`` the next run refuses to start until
``--unlock``. Here every run also holds an operating-system lock, which the kernel takes back when the process
dies however it dies. A run that gets this lock alone knows that nobody is at work, and clears what the dead left.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such lock on this system: Snakemake's own lock stays as it is
    fcntl = None  # type: ignore[assignment]

_held: list[int] = []  # open for as long as the process lives


def clear_stale_locks(folder: Path = Path(".snakemake")) -> bool:
    """Remove Snakemake's lock files from ``folder`` if no other process lives that called this function.

    The process is counted as alive from now on until it ends. Returns whether it was the only one. Jobs that a
    killed run left behind do not count: they write under temporary names and rename.
    """
    if fcntl is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "alive", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    _held.append(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody else is alive, or a file system without such locks
        alone = False
    else:
        alone = True
        shutil.rmtree(folder / "locks", ignore_errors=True)
        (folder / "locks").mkdir(exist_ok=True)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:
        return False
    return alone

"""One live run per folder, and no trace of dead ones.

Snakemake's lock files do not say who holds them: after ``kill -9`` the next run refuses to start until
``--unlock``, and ``--unlock`` takes them from a run that lives. Here a run holds a lock of the operating system too,
which the kernel takes back when the process dies however it dies. Who finds it taken is told by whom, and starts
nothing; who gets it knows that nobody is at work, and clears what the dead left.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from dpregret.workflows.surroundings import check_writable

try:
    import fcntl
except ImportError:  # no such lock on this system: Snakemake's own lock stays as it is
    fcntl = None  # type: ignore[assignment]

SECONDS_TO_WAIT = 1.0  # for a command that only reads, which holds the lock while it clears
READS = frozenset({
    "dryrun", "lint", "list_rules", "list_target_rules", "print_compilation", "dag", "rulegraph", "filegraph", "d3dag",
    "summary", "detailed_summary", "list_changes", "list_input_changes", "list_params_changes", "list_untracked",
    "report", "reporter",
})  # fmt: skip
"""Options of Snakemake that make nothing: they may be used while a run is at work."""

_held: list[int] = []  # open for as long as the process lives


class BusyError(RuntimeError):
    """Another process is at work in the folder; the message is one line that says which and since when."""


def works(words: Sequence[str]) -> bool:
    """Whether Snakemake, called with these words, makes or removes anything."""
    from snakemake.cli import parse_args

    try:
        with contextlib.redirect_stderr(io.StringIO()):
            _, options = parse_args(list(words))
    except SystemExit:  # not called as a command
        return True
    return options.report_after_run or not any(getattr(options, name, None) for name in READS)


def enter(words: Sequence[str], folder: Path = Path(".snakemake")) -> bool:
    """Hold the folder until this process ends, and remove Snakemake's lock files of dead runs.

    words: the command line. Returns whether it works; a command that only reads holds nothing, and runs beside a live
    one. Raises `BusyError`, and `ConfigError` where the folder cannot be written. Jobs that a killed run left behind do
    not count: they write under temporary names and rename.
    """
    check_writable([folder])
    working = works(words)
    if fcntl is None:
        return working
    try:
        held = _take(folder, SECONDS_TO_WAIT if working else 0.0)
    except BlockingIOError:
        if working:
            raise BusyError(_busy(folder, words)) from None
        return False
    if held:
        shutil.rmtree(folder / "locks", ignore_errors=True)
        (folder / "locks").mkdir(exist_ok=True)
    if working:
        _held.extend(held)
        _write(folder, words)
    else:
        _release(held)
    return working


def _take(folder: Path, seconds: float) -> list[int]:
    """Descriptors of the locks that this process has got; BlockingIOError where another process has one.

    Both the file within and the folder around: shared file systems lock files, not folders, and a folder stays the
    same when `.snakemake` is removed under a run.
    """
    end, held = time.monotonic() + seconds, []
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for path, how in ((folder / "alive", os.O_RDWR | os.O_CREAT), (folder.absolute().parent, os.O_RDONLY)):
            held.append(os.open(path, how | os.O_CLOEXEC, 0o666))
            try:
                _lock(held[-1], end)
            except BlockingIOError:
                raise
            except OSError:  # a file system without such locks
                _release([held.pop()])
    except OSError:
        _release(held)
        raise
    return held


def _lock(descriptor: int, end: float) -> None:
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise
            time.sleep(0.05)


def _release(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _write(folder: Path, words: Sequence[str]) -> None:
    """Say who is at work."""
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    command = " ".join(["snakemake", *words]).replace("\n", " ")
    text = f"process {os.getpid()} on {socket.gethostname()} since {since} ({command})\n"
    (folder / "alive").write_text(text, encoding="utf-8", errors="surrogateescape")


def _busy(folder: Path, words: Sequence[str]) -> str:
    try:
        who = (folder / "alive").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        who = ""
    nothing = "nothing was unlocked: " if "--unlock" in words else ""
    return (
        f"{nothing}another run is at work in this folder: {who or 'its record in .snakemake has been removed'}; "
        "wait for it or end it, or use another clone"
    )

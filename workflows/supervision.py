"""A learner at play: a process of its own whose end is looked at, and words for whatever it does.

What a learner raises, `sys.exit` and `KeyboardInterrupt` included, becomes a `LearnerFault` at its cell (`blamed`).
What takes its process away, or lets it stand still, is seen by the process that has started it (`watched`), which says
so in words. Signals from outside are no finding: then nothing is written, and the same command plays again.

This is no sandbox: a learner has the rights of who runs it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import faulthandler
import io
import logging
import math
import mmap
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from dpregret.core.answers import LearnerFault
from dpregret.core.stamped import StampError
from dpregret.paper_figs.runs import RunsError
from dpregret.workflows.forkserver.client import PARENT_DEATH_SIGNAL

LOOKS = 40  # in the minutes that a play may tell of no round, at least
LONGEST = 300  # characters of a reason
PRINTED = 2**20  # characters that a learner may print into its log
MACHINE = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "ESTALE", "ENOMEM", "ETIMEDOUT", "ENOLCK")
    if hasattr(errno, name)
}
"""Faults of files that are the machine's, whatever asked for the file."""
CRASHES = tuple(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP", "SIGXCPU")
    if hasattr(signal, name)
)
"""Signals that a process sends itself by what it does."""
CHILD_SUBREAPER = 36  # of linux/prctl.h
PAGE = 4096
ENDED, BEATS, WORDS = 0, slice(8, 16), slice(16, PAGE)


class Page:
    """What a play tells the process that watches it: how often it has moved, what it plays, and that it has ended."""

    def __init__(self) -> None:
        self.shared = mmap.mmap(-1, PAGE)
        self.beats = 0

    def beat(self) -> None:
        """It moves."""
        self.beats += 1
        self.shared[BEATS] = self.beats.to_bytes(8, "little")

    def now(self, words: str) -> None:
        """What it plays."""
        self.shared[WORDS] = words.encode()[: PAGE - 16].ljust(PAGE - 16, b"\0")
        self.beat()

    def end(self) -> None:
        """It has come to its own end."""
        self.shared[ENDED] = 1

    @property
    def seen(self) -> tuple[bool, bytes, str]:
        """Whether it has ended, its beats, and what it plays."""
        return bool(self.shared[ENDED]), self.shared[BEATS], self.shared[WORDS].rstrip(b"\0").decode(errors="replace")


_page: Page | None = None


def beat() -> None:
    """Tell that this play moves, if anybody watches."""
    if _page is not None:
        _page.beat()


@contextlib.contextmanager
def blamed(where: str) -> Iterator[None]:
    """Turn whatever is raised into a LearnerFault that names the cell; faults of the machine stay what they are."""
    if _page is not None:
        _page.now(where)
    try:
        yield
    except BaseException as fault:
        if isinstance(fault, OSError) and fault.errno in MACHINE:
            raise
        raise LearnerFault(f"{in_words(fault)}; {where}") from fault


def in_words(fault: BaseException) -> str:
    """One line about what was raised, whatever it was."""
    try:
        said = " ".join(str(fault).split())[:LONGEST]
    except BaseException:
        said = "(its message cannot be read)"
    if isinstance(fault, LearnerFault):
        return said
    kind = "out of memory" if isinstance(fault, MemoryError) else type(fault).__name__
    return f"{kind}: {said}" if said else kind


def watched(
    play: Callable[[], None], tell: Callable[[str], None], stall: float, predicted: Callable[[], float]
) -> None:
    """Play in a child of this process; `tell` is called with the reason where the learner took it away or hangs.

    play: writes what there is to write. stall: minutes without a round that are allowed, maybe infinite. predicted:
    as many are allowed if these are more; asked only after the others. Raises SystemExit with the code to end with
    where a signal from outside, or the machine, has ended the play. Where processes cannot be forked safely the play is
    that of this process.
    """
    global _page
    if not hasattr(os, "fork") or sys.platform == "darwin":
        play()
        return
    page = _page = Page()
    killed = _out_of_memory()
    others = set(_children())
    _prctl(CHILD_SUBREAPER, 1)  # what the learner starts and leaves becomes ours
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _be(play, page)
    try:
        code, stalled = _wait(child, page, stall, predicted)
    finally:
        _end_children(others)
        _prctl(CHILD_SUBREAPER, 0)
    ended, _, where = page.seen
    if ended and not stalled:
        if code:
            raise SystemExit(code if code > 0 else 1)
        return
    reason = stalled or _why(code, _out_of_memory() > killed)
    if not reason:
        logging.error("ended by signal %d (%s), %s: nothing is written", -code, signal.Signals(-code).name, where)
        raise SystemExit(128 - code)
    logging.error("%s; %s", reason, where)
    tell(f"{reason}; {where}")


def _why(code: int, starved: bool) -> str:
    """Why a play that has not come to its end is the learner's fault; nothing where it is not."""
    if code >= 0:
        return f"it ended the process by itself, with exit code {code}"
    if -code in CRASHES:
        return f"it crashed the process: {signal.Signals(-code).name} ({signal.strsignal(-code)})"
    return "out of memory: the system killed the process" if -code == signal.SIGKILL and starved else ""


def _be(play: Callable[[], None], page: Page) -> NoReturn:
    """In the child: play, and end without what a learner may have left for the end."""
    code, parent = 1, os.getppid()
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # so that a KeyboardInterrupt is the learner's
        _prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.FileHandler) and handler.stream is not None:
                faulthandler.enable(handler.stream)  # a crash leaves its traceback in the log
                faulthandler.register(signal.SIGUSR1, handler.stream)
        sys.stdout = _Printed()
        play()
        code = 0
    except BaseException as fault:
        logging.error("the job failed: %s", fault, exc_info=not isinstance(fault, RunsError | StampError))
    finally:
        with contextlib.suppress(BaseException):
            logging.shutdown()
            sys.stderr.flush()
        page.end()
        os._exit(code)


class _Printed(io.TextIOBase):
    """What a learner prints goes to the job's log, as far as it is no flood."""

    def __init__(self) -> None:
        self.left = PRINTED

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.left > 0:
            if text.strip():
                logging.info("printed: %s", text.rstrip()[: self.left])
            self.left -= len(text)
            if self.left <= 0:
                logging.warning("more is printed than this log takes (%d characters); the rest is left out", PRINTED)
        return len(text)


def _wait(child: int, page: Page, stall: float, predicted: Callable[[], float]) -> tuple[int, str]:
    """Exit code of the child (minus the signal), and what is to be said of one that was stopped as it did not move.

    Looks are counted, not seconds: time in which this process is halted too does not count.
    """
    beats, quiet, allowed, told = page.seen[1], 0, float(LOOKS), ""

    def look(*_: object) -> None:
        nonlocal beats, quiet, allowed, told
        now = page.seen[1]
        quiet = 0 if now != beats else quiet + 1
        beats = now
        if quiet < allowed or told:
            return
        if allowed == LOOKS:
            allowed = max(allowed, LOOKS * predicted() / stall) + 0.5
            if quiet < allowed:
                return
        told = f"no progress for {quiet / LOOKS * stall:.3g} minutes"
        os.kill(child, signal.SIGUSR1)  # where it hangs, into the log
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))

    every = stall * 60 / LOOKS if math.isfinite(stall) else 0.0  # 0: never
    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, every, every)
    try:
        _, status = os.waitpid(child, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return os.waitstatus_to_exitcode(status), told


def _prctl(option: int, value: int) -> None:
    """Linux's prctl, where there is one."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def _end_children(others: set[int]) -> None:
    """End what is left of a play: processes that its learner has started. others: those that were there before."""
    left = 0
    while children := set(_children()) - others:
        for process in children:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)
        left += len(children)
    if left:
        logging.warning("the learner had left %d processes running; they were ended", left)


def _children() -> list[int]:
    """Processes whose parent this is; none where the system does not tell."""
    try:
        return [int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


def _out_of_memory() -> int:
    """How many processes the kernel has killed for want of memory, of this control group or in all; 0 if untold."""
    for path in ("/sys/fs/cgroup/memory.events", "/proc/vmstat"):
        with contextlib.suppress(OSError):
            for line in Path(path).read_text().splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
    return 0

"""Call foreign code in a child process, which cannot end this one; how it ended is reported in one sentence.

The child sends messages: where it is, and at last its answer. A process that ends without an answer, with whatever
exit code, has failed. This is not a sandbox: the code has the rights of the user.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from dpregret.core import discovery
from dpregret.core.boundary import FAILED
from dpregret.core.errors import LONGEST_REASON, as_text, printable
from dpregret.core.machine import PLAY_MINUTES, bounded_memory, machine_gb

POLL_SECONDS = 0.2  # between checks of a silent child
REFUSED = -1
"""Code of what could not be judged: the command ends with `FAILED`."""
OnProgress = Callable[[str], None]
"""Reports where a call is; the last report is part of the message on its end."""


class Bounds(NamedTuple):
    """minutes, gigabytes: limits of a call, beyond what its process holds already; names: those of the two limits."""

    minutes: float = float("inf")
    gigabytes: float = float("inf")
    names: tuple[str, str] = ("minutes", "gigabytes")


NO_BOUNDS = Bounds()


def bounds_of_play(minutes: float = PLAY_MINUTES, gigabytes: float | None = None) -> Bounds:
    """Of the play of a learner; without a number of gigabytes what this machine has."""
    return Bounds(minutes, machine_gb() if gigabytes is None else gigabytes, ("play_minutes", "play_gb"))


class Ended(NamedTuple):
    """answer: what the call returned, None where it did not return; fault: why, as text."""

    answer: Any
    fault: str


def judged(work: Callable[[], tuple[int, Sequence[str]]], name: str, bounds: Bounds = NO_BOUNDS) -> int:
    """Exit code of a command that calls foreign code: its lines are printed; 2 and one line where it does not return.

    work: gives the exit code and the lines; `REFUSED` for what could not be judged, whose lines go to standard error.
    """

    def quiet(on_progress: OnProgress) -> Any:
        sys.stdout = sys.stderr  # what foreign code prints, or writes to a descriptor, is not part of the answer
        os.dup2(2, 1)
        return work()

    answer, fault = call(quiet, bounds)
    code, lines = answer or (REFUSED, [f"{name}: could not be judged: {fault}"])
    if code == REFUSED:
        lines = [f"dpregret: {line}" for line in lines]
    print(printable("\n".join(lines)), file=sys.stderr if code == REFUSED else sys.stdout)
    return FAILED if code == REFUSED else int(code)


def call(function: Callable[[OnProgress], Any], bounds: Bounds = NO_BOUNDS, log: Path | None = None) -> Ended:
    """The result of `function(say)`, called in a child of this process; its answer consists of types of JSON.

    log: file for its standard output and the traceback of a crash. Processes that it leaves running are ended.
    """
    context: Any = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    child = context.Process(target=_be, args=(function, writer, bounds, log))
    child.start()
    writer.close()
    try:
        answer, where, timeout = _listen(child, reader, bounds)
    finally:
        _end(child)
        reader.close()
    if timeout or answer is None:
        answer = {"answer": None, "fault": timeout or ending(child.exitcode)}
    return Ended(answer["answer"], f"{answer['fault']}; {where}" if answer["fault"] and where else answer["fault"])


def _listen(child: Any, reader: Connection, bounds: Bounds) -> tuple[dict[str, Any] | None, str, str]:
    """The child's answer, where it was last, and the message if it took too long."""
    until, where, sources = time.monotonic() + 60 * bounds.minutes, "", [reader, child.sentinel]
    while True:
        ended = child.exitcode is not None  # checked first: earlier messages are read below
        try:
            while reader in sources and reader.poll():
                message = json.loads(reader.recv_bytes())
                if isinstance(message, dict) and {*message} == {"answer", "fault"}:
                    return message, where, ""
                where = str(message)
        except (EOFError, OSError, ValueError):
            sources.remove(reader)  # there are no further messages
        if ended:
            return None, where, ""
        if time.monotonic() > until:
            return None, where, f"no end within {bounds.minutes:g} minutes (limit {bounds.names[0]})"
        wait(sources, POLL_SECONDS)


def ending(code: int | None) -> str:
    """How a process ended that left no mark of success: its exit code or its signal, in words."""
    if code is None or code >= 0:
        return f"it ended its process, with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"its process was ended by {name}"


def _end(child: Any) -> None:
    """End a child and all that it has started."""
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    child.join()


def _be(function: Callable[[OnProgress], Any], writer: Connection, bounds: Bounds, log: Path | None) -> None:
    """In the child: call, and send the answer as the last message."""
    end, dumps = os._exit, json.dumps  # as they are before foreign code may replace them
    gc.freeze()  # what the parent holds is no garbage of this process: to look through it would copy it
    os.setsid()
    threading.Thread(target=end_with_parent, daemon=True).start()
    if log is not None:
        stream = log.open("a", encoding="utf-8", errors="replace", buffering=1)
        sys.stdout = stream
        faulthandler.enable(stream)
    answer: dict[str, Any] = {"answer": None, "fault": ""}

    place = ""

    def send(where: str) -> None:
        writer.send_bytes(dumps(where[:LONGEST_REASON]).encode())

    def on_progress(where: str) -> None:
        nonlocal place
        place = where
        send(where)

    discovery.announce[:] = [lambda module: send(f"while {module} was imported" if module else place)]
    try:
        with bounded_memory(bounds.gigabytes):
            answer["answer"] = function(on_progress)
    except BaseException as fault:  # sys.exit too
        answer["fault"] = outgrown(fault, bounds) or as_text(fault)
    with contextlib.suppress(Exception):  # before the answer, after which this process is ended
        sys.stdout.flush()
    writer.send_bytes(dumps(answer).encode())
    end(0)  # without exit handlers of the code


def outgrown(fault: BaseException, bounds: Bounds) -> str:
    """That a call took more memory than its bounds, if this is its fault; empty for any other.

    An import names its own limit, though that of the call may be the smaller one.
    """
    of_import = isinstance(fault.__cause__, MemoryError) and bounds.gigabytes < discovery.limits["check_gb"]
    if bounds.gigabytes < float("inf") and (isinstance(fault, MemoryError) or of_import):
        return f"out of memory: more than {bounds.gigabytes:g} GB (limit {bounds.names[1]})"
    return ""


def end_with_parent() -> None:
    """In a thread: end this process when its parent has ended, for then it has no reader."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)

"""A call in a process of its own: foreign code there ends no other process, and its end is reported in one sentence.

The child says where it is and, as its last word, what it came to. Only that word counts: a process that ends without
it, with whatever exit code, has failed. This is not a sandbox: the code has the rights of who runs it.
"""

from __future__ import annotations

import contextlib
import faulthandler
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

from dpregret.core.errors import LONGEST_REASON, as_text, printable
from dpregret.core.machine import bounded_memory

LOOK = 0.2  # seconds between looks at a child that says nothing
Say = Callable[[str], None]
"""The last reported place of a call, for the message on its end."""


class Bounds(NamedTuple):
    """minutes, gigabytes: the most that a call may take, beyond what its process holds already; names: theirs."""

    minutes: float = float("inf")
    gigabytes: float = float("inf")
    names: tuple[str, str] = ("minutes", "gigabytes")


NO_BOUNDS = Bounds()


class Ended(NamedTuple):
    """answer: what the call returned, None where it came to no end of its own; fault: why, in words."""

    answer: Any
    fault: str


def judged(work: Callable[[], tuple[int, Sequence[str]]], what: str, bounds: Bounds = NO_BOUNDS) -> int:
    """Exit code of a command that calls a stranger's code: its lines are printed; 2 and one line where it has no end.

    work: gives the exit code and the lines. Code 2 stands for what could not be judged: its lines go to standard error.
    """

    def quiet(say: Say) -> Any:
        sys.stdout = sys.stderr  # what the stranger's code prints is not part of the answer
        return work()

    answer, fault = call(quiet, bounds)
    code, lines = answer or (2, [f"{what}: could not be judged: {fault}"])
    print(printable("\n".join(lines)), file=sys.stderr if code == 2 else sys.stdout)
    return int(code)


def call(function: Callable[[Say], Any], bounds: Bounds = NO_BOUNDS, log: Path | None = None) -> Ended:
    """The result of `function(say)`, called in a child of this process; its answer consists of types of JSON.

    log: where its standard output goes, and the place where it crashed. What it leaves running is ended.
    """
    context: Any = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    child = context.Process(target=_be, args=(function, writer, bounds, log))
    child.start()
    writer.close()
    try:
        answer, where, late = _listen(child, reader, bounds)
    finally:
        _end(child)
        reader.close()
    if late or answer is None:
        answer = {"answer": None, "fault": late or _ending(child.exitcode)}
    return Ended(answer["answer"], f"{answer['fault']}; {where}" if answer["fault"] and where else answer["fault"])


def _listen(child: Any, reader: Connection, bounds: Bounds) -> tuple[dict[str, Any] | None, str, str]:
    """The child's last word, where it said that it was, and what is to be said if it took too long."""
    until, where, sources = time.monotonic() + 60 * bounds.minutes, "", [reader, child.sentinel]
    while True:
        ended = child.exitcode is not None  # asked first: what it said before is read below
        try:
            while reader in sources and reader.poll():
                message = json.loads(reader.recv_bytes())
                if isinstance(message, dict):
                    return message, where, ""
                where = str(message)
        except (EOFError, OSError, ValueError):
            sources.remove(reader)  # it says nothing more
        if ended:
            return None, where, ""
        if time.monotonic() > until:
            return None, where, f"no end within {bounds.minutes:g} minutes (limit {bounds.names[0]})"
        wait(sources, LOOK)


def _ending(code: int | None) -> str:
    """How a process ended that has not said its last word."""
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


def _be(function: Callable[[Say], Any], writer: Connection, bounds: Bounds, log: Path | None) -> None:
    """In the child: call, and say what came of it as the last word."""
    os.setsid()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if log is not None:
        stream = log.open("a", encoding="utf-8", errors="replace", buffering=1)
        sys.stdout = stream
        faulthandler.enable(stream)
    answer: dict[str, Any] = {"answer": None, "fault": ""}
    try:
        with bounded_memory(bounds.gigabytes):
            answer["answer"] = function(lambda where: writer.send_bytes(json.dumps(where[:LONGEST_REASON]).encode()))
    except BaseException as fault:  # sys.exit too
        answer["fault"] = as_text(fault)
        if isinstance(fault, MemoryError) and bounds.gigabytes < float("inf"):
            answer["fault"] = f"out of memory: more than {bounds.gigabytes:g} GB (limit {bounds.names[1]})"
    with contextlib.suppress(Exception):  # before the last word, after which it is ended
        sys.stdout.flush()
    writer.send_bytes(json.dumps(answer).encode())
    os._exit(0)  # whatever the code has left for the end


def _end_with_parent() -> None:
    """A child whose parent was killed has no reader."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)

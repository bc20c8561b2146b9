"""The end of a run by a signal: at once, with its jobs, and so that the same command resumes.

Snakemake waits for running jobs when it is asked to terminate, and a signal to it alone does not reach them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from types import FrameType

import psutil

from dpregret.workflows.forkserver.client import PARENT_DEATH_SIGNAL

PARENT = os.getppid()  # when this process began
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
SECONDS_TO_END = 5.0  # for jobs that were asked; then they are killed
ASKED = threading.Event()  # set when a signal has asked for the end: what fails now is stopped


def end_on_signals() -> None:
    """End this process' jobs, then Snakemake as by Ctrl-C, on every signal that asks for it and is not ignored now."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _end)


def end_with_make() -> None:
    """Where make has started this process, its end is a SIGTERM; its shell does not pass signals on."""
    if "MAKELEVEL" not in os.environ or sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != PARENT:
        os.kill(os.getpid(), signal.SIGTERM)


def _end(number: int, _: FrameType | None) -> None:
    ASKED.set()
    for other in SIGNALS:
        signal.signal(other, lambda *_: _to_children("kill"))
    _to_children("terminate")
    timer = threading.Timer(SECONDS_TO_END, _to_children, ["kill"])
    timer.daemon = True
    timer.start()
    raise KeyboardInterrupt(signal.Signals(number).name)


def _to_children(what: str) -> None:
    """Clients pass the end on to their jobs; a client that is killed takes its job with it."""
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            getattr(child, what)()

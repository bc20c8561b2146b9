"""The line of an interrupt while a command is still being imported; `core.boundary` has that of a later one.

`python -m dpregret.core.interrupt MODULE ARGUMENT ...` runs a module behind this guard.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import sys
from types import FrameType
from typing import NoReturn

_SIGNALS = {signal.SIGINT}


def _end(kind: type[BaseException], error: BaseException, trace: object) -> None:
    if issubclass(kind, KeyboardInterrupt):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # there may be no standard error
            os.write(sys.stderr.fileno(), b"dpregret: interrupted\n")
        os._exit(130)
    sys.__excepthook__(kind, error, trace)  # type: ignore[arg-type]


def guard() -> None:
    """To be called by what begins a command, before anything large is imported."""
    sys.excepthook = _end
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def go_on(module: str, *arguments: str) -> NoReturn:
    """Become the process of a module; an interrupt waits until that process can say so."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        os.execv(sys.executable, [sys.executable, "-P", "-m", __name__, module, *arguments])
    finally:  # it could not
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def _module(name: str) -> None:
    """Run a module. One that is interrupted and ends with a failure of its own, as Snakemake does, ends with 130."""
    interrupts = list[int]()

    def noted(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as of a job with nohup
        signal.signal(signal.SIGINT, noted)
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if interrupts and end.code not in (None, 0):
            raise SystemExit(130) from None
        raise


if __name__ == "__main__":
    guard()
    del sys.argv[0]
    _module(sys.argv[0])

"""The line of an interrupt while a command is still being imported; `core.boundary` has that of a later one.

`python -m dpregret.core.interrupt MODULE ARGUMENT ...` runs a module behind this guard.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
from typing import NoReturn

_SIGNALS = {signal.SIGINT}


def _end(kind: type[BaseException], error: BaseException, trace: object) -> None:
    if issubclass(kind, KeyboardInterrupt):
        os.write(2, b"dpregret: interrupted\n")
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


if __name__ == "__main__":
    guard()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

"""Progress of a long job: lines in its log, and now and then one on the terminal. Nothing here can make a job fail."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator

from dpregret.workflows.supervision import beat

LOGGER = logging.getLogger("dpregret.progress")
SECONDS_BETWEEN_LINES = 10.0  # in the log, or a tenth of the work
SECONDS_BETWEEN_SHOWN = 30.0  # on the terminal: short jobs say nothing
SHOWN = "DPREGRET_DISPLAY"  # in the environment of jobs whose run has a display: no line of theirs comes between


@contextlib.contextmanager
def progress(total_rounds: int, description: str) -> Iterator[Callable[[int], None]]:
    """Yield ``advance(rounds)``, to be called as rounds are done; ``total_rounds`` may be a guess."""
    total, done, told = max(1, total_rounds), 0, 0
    started = last = shown = time.monotonic()

    def advance(rounds: int) -> None:
        nonlocal done, told, last, shown
        beat()
        done += rounds
        now = time.monotonic()
        if now - last < SECONDS_BETWEEN_LINES and done - told < total / 10:
            return
        told, last = done, now
        rate = done / max(now - started, 1e-9)
        line = f"{description} {min(100.0, 100.0 * done / total):3.0f} % {rate:,.0f} rounds/s"
        LOGGER.info(line)
        if now - shown >= SECONDS_BETWEEN_SHOWN and SHOWN not in os.environ:
            shown = now
            with contextlib.suppress(OSError, ValueError):  # a terminal that vanished
                print(line, file=sys.stderr, flush=True)

    yield advance
    LOGGER.info("%s: %d rounds in %.1f s", description, done, time.monotonic() - started)

"""Progress of a long job: a bar on the terminal for one job at a time, plain lines in the log for all.

Several jobs share one terminal, so the job that gets there first draws the bar and the others wait for it to end.
Nothing here can make a job fail.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LOGGER = logging.getLogger("dpregret.progress")
_SECONDS_BETWEEN_LINES = 10.0
_SHARE_BETWEEN_LINES = 0.1
_SECONDS_BETWEEN_DRAWS = 0.5


@contextlib.contextmanager
def progress(total_rounds: int, description: str) -> Iterator[Callable[[int], None]]:
    """Yield ``advance(rounds)``, to be called as rounds are done; ``total_rounds`` may be a guess."""
    meter = _Meter(max(1, total_rounds), description)
    try:
        yield meter.advance
        meter.finish()
    finally:
        meter.close()


class _Meter:
    def __init__(self, total: int, description: str) -> None:
        self.total, self.description, self.done = total, description, 0
        self.started = self.line_time = self.draw_time = time.monotonic()
        self.line_done = 0
        self.bar = _Bar(total, description) if _terminal() else None

    def advance(self, rounds: int) -> None:
        """Count rounds that are done."""
        self.done += rounds
        now = time.monotonic()
        if self.bar is not None and now - self.draw_time >= _SECONDS_BETWEEN_DRAWS:
            self.draw_time = now
            self.bar.draw(self.done, self.rate(now))
        waited = now - self.line_time >= _SECONDS_BETWEEN_LINES
        if waited or self.done - self.line_done >= _SHARE_BETWEEN_LINES * self.total:
            self.line(now)

    def rate(self, now: float) -> float:
        return self.done / max(now - self.started, 1e-9)

    def line(self, now: float) -> None:
        self.line_time, self.line_done = now, self.done
        share = min(100.0, 100.0 * self.done / self.total)
        LOGGER.info("%s %3.0f %% %s rounds/s", self.description, share, _human(self.rate(now)))

    def finish(self) -> None:
        now = time.monotonic()
        if self.done != self.line_done:
            self.line(now)
        LOGGER.info("%s: %d rounds in %.1f s", self.description, self.done, now - self.started)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class _Bar:
    """A bar of rich that appears as soon as no other job of this user draws one on the same terminal."""

    def __init__(self, total: int, description: str) -> None:
        self.total, self.description = total, description
        self.lock: int | None = None
        self.display: Any = None
        self.task: Any = None

    def draw(self, done: int, rate: float) -> None:
        with contextlib.suppress(Exception):  # a terminal that vanished must not end a job
            if self.display is None and not self._begin():
                return
            self.display.update(self.task, completed=done, total=max(self.total, done), rate=_human(rate))
            self.display.refresh()

    def _begin(self) -> bool:
        import fcntl

        name = f"dpregret-{os.getuid()}-{os.path.basename(os.ttyname(sys.stderr.fileno()))}.bar"
        if self.lock is None:
            path = Path(tempfile.gettempdir()) / name
            self.lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: somebody else draws
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.display = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} % {task.fields[rate]} rounds/s"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            transient=True,
            auto_refresh=False,
        )
        self.task = self.display.add_task(self.description, total=self.total, rate="")
        self.display.start()
        self.display.console.show_cursor(True)  # a killed job must not leave the terminal without one
        return True

    def close(self) -> None:
        with contextlib.suppress(Exception):
            if self.display is not None:
                self.display.stop()
        if self.lock is not None:
            with contextlib.suppress(OSError):
                os.close(self.lock)


def _terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError, OSError):
        return False


def _human(rate: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:.3g} {unit}"
    return f"{rate:.3g}"

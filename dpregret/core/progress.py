"""A line on standard error where somebody would otherwise wait and not know for what."""

from __future__ import annotations

import sys
import time
from typing import Final

SILENCE: Final = 2.0
"""Seconds until the first line, and between two."""
_last = [0.0]


class Progress:
    """Work that may take long. what: it is, as the line says. Nothing that is computed depends on it."""

    def __init__(self, what: str) -> None:
        self.what, self.begun, self.used = what, time.monotonic(), time.process_time()

    def __reduce__(self) -> tuple[type[Progress], tuple[str]]:
        """Equal bytes for equal work, whenever it was begun."""
        return Progress, ("",)

    def tick(self) -> None:
        """Write a line where the last one was written some seconds ago."""
        now = time.monotonic()
        if now - max(self.begun, _last[0]) >= SILENCE:
            _last[0] = now
            print(f"dpregret: {self.what}: {now - self.begun:.0f} s", file=sys.stderr, flush=True)

    def seconds(self) -> float:
        """CPU seconds of this process since the work was begun: other work of the machine does not shorten a bound."""
        return time.process_time() - self.used

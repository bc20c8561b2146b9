"""What all fuzz tests share: how many examples, what one of them may take, and bytes that are damaged.

In the suite each property has a few examples; `DPREGRET_FUZZ=10000` tries as many as it says.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

WANTED = os.environ.get("DPREGRET_FUZZ", "")
CPU_SECONDS, WALL_SECONDS, BYTES = 10.0, 120.0, 5 << 28  # of one example; a check's own bound is 1 GB of these 1.25


def fuzz(few: int) -> settings:
    """Settings of a property: so many examples in the suite."""
    phases = set(Phase) - {Phase.explain, *([Phase.shrink] if WANTED else [])}
    return settings(
        max_examples=int(WANTED or few), deadline=None, phases=phases, suppress_health_check=list(HealthCheck)
    )


class TooLongError(BaseException):
    """An example takes more CPU time than any input may."""


@contextmanager
def bounded() -> Iterator[None]:
    """Bound the CPU time and the memory of the block; one that stands still ends the process with a traceback."""

    def stop(*_: object) -> None:
        raise TooLongError

    before, handler = resource.getrlimit(resource.RLIMIT_AS), signal.signal(signal.SIGVTALRM, stop)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (held + BYTES, before[1]))
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    if WANTED:
        faulthandler.dump_traceback_later(WALL_SECONDS, exit=True)
    try:
        yield
    finally:
        if WANTED:
            faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def refusal(load: Callable[[Path], object], path: Path, error: type[Exception] | tuple[type[Exception], ...]) -> str:
    """What is said of the file; nothing where it is accepted. Any other exception fails the test."""
    try:
        with bounded():
            load(path)
    except error as fault:
        return str(fault)
    return ""


def check_words(said: str, name: str) -> None:
    """A refusal is lines of a length that can be read, and names the file."""
    assert not said or name in said
    assert "Traceback" not in said
    assert all(len(line) < 2000 for line in said.splitlines())


def mostly(right: st.SearchStrategy[Any], odd: st.SearchStrategy[Any], one_in: int = 25) -> st.SearchStrategy[Any]:
    """What is right, and once in so many draws something odd."""
    return st.integers(1, one_in).flatmap(lambda number: odd if number == one_in else right)


@st.composite
def damage(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes changed, put in, taken out, repeated or cut off, at up to four places."""
    made = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(made)))
        how = draw(st.sampled_from(["bit", "byte", "byte", "digit", "insert", "drop", "repeat", "cut", "zero"]))
        if how == "cut":
            del made[place:]
        elif how == "insert":
            made[place:place] = draw(st.binary(min_size=1, max_size=8))
        elif how == "drop":
            del made[place : place + draw(st.integers(1, 300))]
        elif how == "repeat":
            made[place:place] = made[place : place + draw(st.integers(1, 300))]
        elif how == "zero":
            length = len(made[place : place + draw(st.integers(1, 64))])
            made[place : place + length] = bytes(length)
        elif place < len(made):
            old = made[place]
            new = {"bit": old ^ 1 << draw(st.integers(0, 7)), "digit": ord(draw(st.sampled_from('0123456789.,-e\n"')))}
            made[place] = new.get(how, draw(st.integers(0, 255)))
    return bytes(made)

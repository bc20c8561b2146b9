"""Loops that are specialised for their arguments, played in Python while that is little work, compiled once it is much.

To compile a loop takes seconds, for every combination of learner, loss and set; most tests play a few rounds of each.
Both ways give the same bits: `test_rounds.py`, `test_mirror_descent.py` and `make nightly` hold them together.
"""

from __future__ import annotations

from time import process_time
from typing import Any, ClassVar

import numpy as np
from numba.core.event import install_timer

from dpregret.numerics import compiled

compile_for = compiled.specialised


class Tiered:
    """One function for arguments of some classes."""

    known: ClassVar[dict[tuple[Any, ...], Tiered]] = {}
    one: ClassVar[float] = 1.0
    """CPU seconds that one call may take in Python, as foreseen from those before it. Below 0 all is compiled."""
    all: ClassVar[float] = 2.0
    """CPU seconds that all calls together may take in Python: about what it takes to compile."""

    def __init__(self, function: Any, kinds: tuple[Any, ...]):
        self.function, self.kinds = function, kinds
        self.seconds, self.numbers = 0.0, 0.0
        self.watched = any(each.__module__ == "watched_bandits" for each in kinds)  # which costs more to compile
        self.loops: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self.loops is None:
            held, rounds = counted(arguments)
            asked = held * rounds
            rate = self.seconds / self.numbers if self.numbers > 1000 else 1e-6 if rounds == 1 else 1e-7
            if (self.one > 0 and self.watched) or (asked * rate < self.one and self.seconds < self.all):
                compiling: list[float] = []  # kernels that it calls; warnings are off as in compiled loops
                started = process_time()
                with install_timer("numba:compile", compiling.append), np.errstate(all="ignore"):
                    found = self.function(*arguments)
                self.seconds += max(0.0, process_time() - started - sum(compiling))
                self.numbers += asked
                return found
        if self.loops is None or self.one < 0:
            self.loops = compile_for(self.function, *self.kinds)
        return self.loops(*arguments)


def tiered(function: Any, *kinds: Any) -> Tiered:
    """In the place of `specialised`."""
    return Tiered.known.setdefault((function, *kinds), Tiered(function, kinds))


def counted(arguments: Any) -> tuple[float, float]:
    """How many numbers a call is given, and the largest count among its arguments, such as of rounds."""
    held, rounds = 1.0, 1.0
    left = list(arguments)
    while left:
        each = left.pop()
        if isinstance(each, np.ndarray):
            held += each.size
        elif isinstance(each, tuple | list):
            left += each
        elif isinstance(each, int) and 1 < each < 2**40:  # no address of an object
            rounds = max(rounds, each)
    return held, rounds

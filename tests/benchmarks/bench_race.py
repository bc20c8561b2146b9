"""How a benchmark measures: contestants take turns inside one process, and their CPU seconds are compared.

A busy machine slows all of them alike, so ratios mean something where seconds do not. With --benchmark-disable every
body runs once, on the smallest sizes: then it is a test that the benchmark still works. Nothing asserts a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import numpy as np

ROUNDS = 9


def clock(body: Callable[[], object], repeats: int = 1) -> Callable[[], float]:
    """CPU seconds of one call of `body`, from `repeats` of them."""

    def timed() -> float:
        started = process_time()
        for _ in range(repeats):
            body()
        return (process_time() - started) / repeats

    return timed


class Race:
    """Runs contestants in turn. A contestant answers its own CPU seconds, so that its set-up need not count.

    quick: sizes should be the smallest ones, since nobody looks at the times.
    """

    def __init__(self, benchmark: Any):
        self.benchmark = benchmark
        self.quick = bool(benchmark.disabled)

    def seconds(self, *contestants: Callable[[], float], rounds: int = ROUNDS) -> list[list[float]]:
        """CPU seconds, one list a contestant; a first lap warms up and does not count."""
        laps: list[list[float]] = []
        self.benchmark.pedantic(
            lambda: laps.append([contestant() for contestant in contestants]),
            rounds=1 if self.quick else rounds,
            warmup_rounds=0 if self.quick else 1,
        )
        return [list(each) for each in zip(*laps[-rounds:], strict=True)]

    def ratio(
        self,
        what: str,
        condition: str,
        work: Callable[[], float],
        floor: Callable[[], float],
        *,
        target: float | None = None,
        units: float = 1.0,
        group: str = "",
        rounds: int = ROUNDS,
    ) -> None:
        """One row of ratios.csv: best time of `work` over best time of `floor`, and the median of the laps' ratios.

        units: how many round-runs (or calls, or vectors) one call of `work` is.
        """
        worked, bare = self.seconds(work, floor, rounds=rounds)
        laps = [each / other for each, other in zip(worked, bare, strict=True) if other > 0]
        self.note(
            "ratios",
            group=group,
            what=what,
            condition=condition,
            ratio=min(worked) / min(bare) if min(bare) > 0 else math.inf,
            median=median(laps) if laps else math.inf,
            target=target,
            microseconds=1e6 * min(worked) / units,
        )

    def note(self, table: str, **row: object) -> None:
        """Leave a row for paper_figs/tables/speed.py in the benchmark's JSON."""
        kept = {name: float(value) if isinstance(value, np.floating) else value for name, value in row.items()}
        self.benchmark.extra_info.setdefault("rows", []).append({"table": table, **kept})

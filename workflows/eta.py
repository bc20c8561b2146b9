"""How much time a run has left, and where to look when it has ended.

Snakemake counts finished jobs, whose lengths differ by a factor of a hundred. Here every job has an expected length,
measured on a finished run, and the machine's speed is that of the jobs that have ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from dpregret.workflows.config import Config, Job

LEAST_SECONDS = 0.5  # what starting Python costs at least
TRUSTED = 0.05  # share of a run that the expected times are trusted for, whatever was seen


class Eta:
    """How much of the expected work is done, and how long the rest will take.

    expected: seconds that each job of the run, by number, is expected to take. cores: how many run side by side.
    """

    def __init__(
        self, expected: Mapping[int, float], cores: int, clock: Callable[[], float] = time.monotonic
    ) -> None:  # fmt: skip
        self.expected = {job: max(seconds, LEAST_SECONDS) for job, seconds in expected.items()}
        self.cores, self.clock = max(1, cores), clock
        self.running: dict[int, float] = {}  # since when
        self.ended: set[int] = set()
        self.took: dict[int, float] = {}  # of those that were seen to start: members of a group are not

    def start(self, job: int) -> None:
        """A job has been started, or sent; or again, after it failed."""
        self.running[job] = self.clock()
        self.ended.discard(job)

    def end(self, job: int, well: bool = True) -> float | None:
        """A job has ended: well, or not, which says nothing about the machine's speed. Its seconds, where known."""
        self.ended.add(job)
        began = self.running.pop(job, None)
        took = None if began is None else self.clock() - began
        if took is not None and well:
            self.took[job] = took
        return took

    def share(self) -> float:
        """Share of the expected work that has ended."""
        total = sum(self.expected.values())
        return sum(self.expected.get(job, 0.0) for job in self.ended) / total if total else 1.0

    def left(self) -> float:
        """Expected seconds until the end: the work that is left, at the speed of the work that was done.

        Part of the run counts as done in the expected time, so that the first jobs, which compile, frighten nobody.
        """
        done = [job for job in self.took if job in self.expected]
        trusted = TRUSTED * sum(self.expected.values())
        expected = trusted + sum(self.expected[job] for job in done)
        pace = (trusted + sum(self.took[job] for job in done)) / expected if expected else 1.0
        rest = {job: pace * seconds for job, seconds in self.expected.items() if job not in self.ended}
        now = self.clock()
        for job, began in self.running.items():
            if job in rest:
                rest[job] = max(0.0, rest[job] - (now - began))
        return max(sum(rest.values()) / self.cores, max(rest.values(), default=0.0))


def duration(seconds: float) -> str:
    """`40 s`, `12 min` or `2 h 05 min`."""
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def expected_seconds(jobs: Iterable[Any], rules: Mapping[str, float], play: Callable[[Job], float]) -> dict[int, float]:
    """Number -> expected seconds of Snakemake's jobs: of plays what `play` says, else those of the rule."""
    found = {}
    for job in jobs:
        labels = [getattr(job.wildcards, name, None) for name in Job._fields]
        rule = job.rule.name
        found[job.jobid] = play(Job(*map(str, labels))) if all(labels) else rules.get(rule, LEAST_SECONDS)
    return found


def expect(jobs: Iterable[Any], config: Config, cores: int) -> Eta:
    """What is expected of the jobs that Snakemake is about to run.

    Where the table of measured times is not there, every job counts alike.
    """
    from dpregret.workflows.costs.model import estimate, read

    try:
        rules = {name: seconds for (part, _, name), seconds in read().items() if part == "job"}
    except OSError:
        return Eta(expected_seconds(jobs, {}, lambda _: LEAST_SECONDS), cores)
    return Eta(expected_seconds(jobs, rules, lambda job: estimate(config, job)[0]), cores)


def _counted(file: Path) -> str:
    """Verdicts of a table and how many there are of each; nothing where there is no table."""
    counts = pd.read_csv(file, usecols=["verdict"])["verdict"].value_counts() if file.exists() else pd.Series(dtype=int)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def farewell(results: Path, papers: Iterable[str], logs: Iterable[str] = ()) -> str:
    """What a run found, and where to look: one line a paper that has its claims, the reports, and Snakemake's log."""
    lines, pages = [], [results / "report.html"]
    for paper in papers:
        claims, checks = (_counted(results / paper / name) for name in ("claims.csv", "checks.csv"))
        told = claims + (f"; checks: {checks}" if checks else "")
        if told:
            lines.append(f"  {paper}: {told}  ({results / paper}/table_1.md)")
        pages.append(results / paper / "report.html")
    lines += [f"  report: {page}  (dpregret report --open)" for page in pages if page.exists()]
    return "\n".join(["dpregret: done", *lines]) + where_in_full(logs)


def where_in_full(logs: Iterable[str]) -> str:
    """The last line of a run: the files that hold every word that Snakemake said."""
    shown = [os.path.relpath(log) for log in logs]
    return f"\n  all that was said: {', '.join(shown)}" if shown else ""

"""How much time a run has left, and where to look when it has ended.

Snakemake counts finished jobs, whose lengths differ by a factor of a hundred. Here every job has an expected length,
measured on a finished run, and the machine's speed is that of the jobs that have ended.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from dpregret.workflows.config import Config, Job

SECONDS_BETWEEN_LINES = 15.0
LEAST_SECONDS = 0.5  # what starting Python costs at least
FEWEST = 3  # jobs that must have ended before the machine's speed is trusted


class Eta(logging.Handler):
    """Listens to Snakemake's events and tells, now and then, how much time is left.

    expected: seconds that each job of the run, by number, is expected to take. cores: how many run side by side.
    tell: where a line goes. Nothing here can make a run fail.
    """

    def __init__(
        self, expected: Mapping[int, float], cores: int, tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        super().__init__()
        self.expected = {job: max(seconds, LEAST_SECONDS) for job, seconds in expected.items()}
        self.cores, self.tell, self.clock = max(1, cores), tell, clock
        self.started: dict[int, float] = {}
        self.ended: set[int] = set()
        self.took: dict[int, float] = {}  # of those that were seen to start: members of a group are not
        self.told = clock()

    def emit(self, record: logging.LogRecord) -> None:
        """Note what started and what ended; tell the time left at most every `SECONDS_BETWEEN_LINES`."""
        try:
            self._note(record)
        except Exception:
            self.handleError(record)

    def _note(self, record: logging.LogRecord) -> None:
        event, now = str(getattr(record, "event", "")), self.clock()
        if event == "job_info":
            self.started[int(record.__dict__["jobid"])] = now
        elif event == "job_finished":
            job = int(record.__dict__["job_id"])
            self.ended.add(job)
            if job in self.started:
                self.took[job] = now - self.started[job]
        elif event == "progress" and now - self.told >= SECONDS_BETWEEN_LINES and len(self.ended) >= FEWEST:
            self.told = now
            left = self.left(now)
            if left > 0:
                self.tell(f"{self.share():.0%} of the work done, about {duration(left)} left")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Say nothing: a line of comfort must not end a run."""

    def share(self) -> float:
        """Share of the expected work that has ended."""
        total = sum(self.expected.values())
        return sum(self.expected.get(job, 0.0) for job in self.ended) / total if total else 1.0

    def left(self, now: float) -> float:
        """Expected seconds until the end: the work that is left, at the speed of the work that was done."""
        done = [job for job in self.took if job in self.expected]
        expected = sum(self.expected[job] for job in done)
        pace = sum(self.took[job] for job in done) / expected if expected else 1.0
        rest = {job: pace * seconds for job, seconds in self.expected.items() if job not in self.ended}
        for job in rest:
            if job in self.started:
                rest[job] = max(0.0, rest[job] - (now - self.started[job]))
        return max(sum(rest.values()) / self.cores, max(rest.values(), default=0.0))


def duration(seconds: float) -> str:
    """`40 s`, `12 min` or `2 h 05 min`."""
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def expected_seconds(
    jobs: Iterable[Any], rules: Mapping[str, float], runs: Mapping[tuple[str, ...], float]
) -> dict[int, float]:
    """Number -> expected seconds of Snakemake's jobs: those of `runs`, else those of the rule.

    runs: (paper, experiment, learner, variant) -> seconds.
    """
    found = {}
    for job in jobs:
        labels = tuple(str(getattr(job.wildcards, name, "")) for name in Job._fields)
        found[job.jobid] = runs.get(labels, rules.get(job.rule.name, LEAST_SECONDS))
    return found


def watch(jobs: Iterable[Any], config: Config, cores: int) -> None:
    """Listen to Snakemake from now on; `jobs` are those that it is about to run.

    Says nothing where the table of measured times is not there.
    """
    from snakemake.logging import logger

    from dpregret.workflows.costs.model import job_costs, read

    with contextlib.suppress(OSError):
        costs = job_costs(config)
        runs = dict(zip(costs[list(Job._fields)].itertuples(index=False, name=None), costs["seconds"], strict=True))
        rules = {name: seconds for (part, _, name), seconds in read().items() if part == "job"}
        logger.addHandler(Eta(expected_seconds(jobs, rules, runs), cores, logger.info))


def _counted(file: Path) -> str:
    """Verdicts of a table and how many there are of each; nothing where there is no table."""
    counts = pd.read_csv(file, usecols=["verdict"])["verdict"].value_counts() if file.exists() else pd.Series(dtype=int)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def farewell(results: Path, papers: Iterable[str]) -> str:
    """What a run found, and where to look: one line a paper that has its claims, then the report."""
    lines = []
    for paper in papers:
        claims, checks = (_counted(results / paper / name) for name in ("claims.csv", "checks.csv"))
        told = claims + (f"; checks: {checks}" if checks else "")
        if told:
            lines.append(f"  {paper}: {told}  ({results / paper}/table_1.md)")
    report = results / "report.html"
    if report.exists():
        lines.append(f"  everything on one page: {report} (open it in a browser)")
    return "\n".join(["dpregret: done", *lines]) if lines else ""

"""What a run shows on the terminal: how far it is, how much time is left, what runs, what ended last, what failed.

On a terminal that is a few lines drawn anew by rich; elsewhere, as in CI, a line now and then. Every word of Snakemake
stands in its log file, which the last line names. A job that fails is told with its whole log and where that lies.

This listens where the workflow starts, and is no logger plugin: Snakemake finds none in an editable installation, and
a profile that named one would end every run in an environment of yesterday. Who asks Snakemake for more, for less or
for another logger (--verbose, --printshellcmds, --quiet, --logger) gets that instead.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dpregret.core.text import printable
from dpregret.workflows import ending
from dpregret.workflows.eta import Eta, duration
from dpregret.workflows.progress import SHOWN

FEWEST: Final = 3  # jobs that must have ended before the machine's speed is trusted
STEP, SOONEST, LATEST = 0.05, 5.0, 30.0  # a line after so much of the work but no sooner, or after so many seconds
MOST_SHOWN: Final = 6  # running jobs
STANDARD: Final = "DefaultStreamHandler"  # as Snakemake calls its own
NOTHING: Final = "Nothing to be done"
NOISE: Final = re.compile(
    "Assuming unrestricted|Building DAG|Using shell|Group jobs|Conda env|Singularity cont|Complete log"
)
"""What Snakemake says of itself; its events are dropped too, unless the display has a use for them."""
AGAIN: Final = re.compile(
    r"RuleException:\s+CalledProcessError|Exiting because a job|WorkflowError:\s+At least one job"
)
"""What it says beside the failure of a job, which is told already, but for the exit status."""
CODE: Final = re.compile(r"exit status \d+|died with \S+")


def label(rule: str, wildcards: Mapping[str, object]) -> str:
    """What a job is called: `lou_cheung_2020 horizon/ftal.plain` for a run, else its rule and what it is about."""
    values = {name: str(value) for name, value in wildcards.items()}
    if rule == "run" and {"paper", "experiment", "learner", "variant"} <= set(values):
        return "{paper} {experiment}/{learner}.{variant}".format(**values)
    return " ".join([rule.replace("_", " "), *values.values()])


class Display(logging.Handler):
    """Hears what Snakemake tells and shows little of it. Nothing here can make a run fail.

    console: where to; live: whether it is a terminal, whose last lines are drawn anew; whole: Snakemake's own words
    for a record.
    """

    def __init__(
        self, console: Console, live: bool, whole: Callable[[logging.LogRecord], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        super().__init__()
        self.console, self.whole, self.clock = console, whole, clock
        self.eta: Eta | None = None
        self.found: Callable[[], str] = str  # what the results say, for a run that has nothing to do
        self.labels: dict[int, str] = {}
        self.failed: set[int] = set()
        self.codes: dict[int | None, str] = {}  # of threads of Snakemake, each of which tells of its job next
        self.last = ""
        self.told, self.told_at = 0.0, clock()
        self.live = Live(self, console=console, transient=True, refresh_per_second=4) if live else None
        if self.live:
            self.live.start()
            console.show_cursor(True)  # who kills the run by force must not lose it

    def begin(self, eta: Eta) -> None:
        """The jobs are known."""
        self.eta = eta
        os.environ[SHOWN] = "1"
        jobs, cores = len(eta.expected), eta.cores
        self.say(
            f"dpregret: {jobs} job{'s' * (jobs > 1)}, {cores} at a time, expected to take about {duration(eta.left())}"
        )

    def say(self, text: str, style: str = "") -> None:
        """One text above the display, as it is but for what a terminal would obey."""
        self.console.print(Text(printable(text), style=style), soft_wrap=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of an event, or show a message that somebody has to see."""
        try:
            self._hear(record)
        except Exception:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Say nothing: a line of comfort must not end a run."""

    def close(self) -> None:
        """Give the terminal back."""
        if self.live:
            self.live.stop()
        super().close()

    def _hear(self, record: logging.LogRecord) -> None:
        told, event, message = record.__dict__, str(getattr(record, "event", None) or ""), record.getMessage()
        if event == "job_info" and self.eta:
            self.labels[told["jobid"]] = label(told["rule_name"], told["wildcards"] or {})
            self.failed.discard(told["jobid"])
            self.eta.start(told["jobid"])
        elif event == "job_finished" and self.eta:
            self.last = self._ended(told["job_id"], self.eta.end(told["job_id"]))
        elif event == "job_error":
            self._failure(told, record)
        elif event == "group_error":
            self._failed("a group of jobs", told["aux_logs"], record)
        elif event == "progress" and self.eta and not self.live:
            self._line(self.eta)
        elif code := CODE.search(message) if AGAIN.match(message) else None:
            self.codes[record.thread] = f" with {code[0]}"
        elif record.levelno >= logging.WARNING and not AGAIN.match(message):
            self.say(self.whole(record), "red" if record.levelno >= logging.ERROR else "yellow")
        elif not event and self._wanted(message):
            self.say(message)
            if message.startswith(NOTHING):
                self.say(self.found())

    def _wanted(self, message: str) -> bool:
        """Once jobs run, only what the workflow itself says, and what is tried again."""
        ours = message.startswith(("dpregret: ", "Trying to restart"))
        return ours if self.eta else bool(message) and not NOISE.match(message)

    def _ended(self, job: int, took: float | None) -> str:
        return self.labels.get(job, f"job {job}") + ("" if took is None else f" ({duration(took)})")

    def _failure(self, told: Mapping[str, Any], record: logging.LogRecord) -> None:
        """A job that was stopped, or one that failed."""
        job = told["jobid"]
        self.labels.setdefault(job, label(told["rule_name"], {}))
        name = self._ended(job, self.eta.end(job, well=False) if self.eta else None)
        code = self.codes.pop(record.thread, "")
        if ending.ASKED.is_set():
            self.say(f"stopped: {name}")
        else:
            self.failed.add(job)
            self._failed(name + code, told["log"], record)

    def _failed(self, name: str, logs: Iterable[object], record: logging.LogRecord) -> None:
        """What failed, with all its logs; where these are empty, with all that Snakemake knows."""
        paths = [path for path in (Path(str(each)) for each in logs) if path.is_file()]
        texts = {path: path.read_text("utf-8", "replace").strip() for path in paths}
        lines = [f"failed: {name}"] if any(texts.values()) else [f"failed: {name}", self.whole(record)]
        for path, text in texts.items():
            lines += [*(f"    {line}" for line in text.splitlines()), f"  its log: {path}"]
        self.say("\n".join(lines), "red")

    def _line(self, eta: Eta) -> None:
        """Where there is no terminal: how far the run is, now and then."""
        share, now = eta.share(), self.clock()
        since = now - self.told_at
        if share < 1 and len(eta.ended) >= FEWEST and (
            since >= LATEST or (since >= SOONEST and share - self.told >= STEP)
        ):  # fmt: skip
            self.told, self.told_at = share, now
            self.say(f"dpregret: {self._state(eta)}")

    def _state(self, eta: Eta) -> str:
        left = f"about {duration(eta.left())} left" if len(eta.ended) >= FEWEST else "time left not known yet"
        parts = [f"{eta.share():.0%}", left, f"{len(eta.ended)} of {len(eta.expected)} jobs"]
        return ", ".join([*parts, *([f"{len(self.failed)} failed"] if self.failed else [])])

    def __rich__(self) -> Any:
        """The lines that are drawn anew."""
        eta = self.eta
        if eta is None:
            return Text("finding out what is to be done", style="dim")
        lines = Table.grid(padding=(0, 1))
        head = Table.grid(padding=(0, 1))
        head.add_row(
            ProgressBar(1.0, eta.share(), width=24, complete_style="green"), Text(self._state(eta), overflow="ellipsis")
        )
        lines.add_row(head)
        running = sorted(eta.running.copy().items(), key=lambda each: each[1])
        for job, began in running[:MOST_SHOWN]:
            lines.add_row(self._row("runs", self._ended(job, self.clock() - began)))
        if len(running) > MOST_SHOWN:
            lines.add_row(self._row("", f"and {len(running) - MOST_SHOWN} more"))
        if self.last:
            lines.add_row(self._row("ended", self.last))
        return lines

    @staticmethod
    def _row(what: str, text: str) -> Text:
        return Text.assemble((f"{what:6}", "dim"), printable(text), no_wrap=True, overflow="ellipsis")


def take_over(logger: logging.Logger, settings: Any) -> Display | None:
    """Show the run in place of Snakemake's own lines; None where somebody has asked for these, or for others.

    settings: Snakemake's of its output.
    """
    asked = ("quiet", "verbose", "printshellcmds", "debug_dag", "dryrun")
    standard = next((each for each in logger.handlers if each.name == STANDARD), None)
    if standard is None or any(getattr(settings, name, None) for name in asked):
        return None
    live = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not os.environ.get("CI")
    display = Display(Console(stderr=True, highlight=False, no_color=settings.nocolor or None), live, standard.format)
    logger.removeHandler(standard)
    logger.addHandler(display)
    return display

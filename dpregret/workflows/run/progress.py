"""What `dpregret run` shows of Snakemake: a line for each finished job, its time by the clock, and what has failed.

`python -m dpregret.workflows.run.progress ARGUMENT ...` is `snakemake ARGUMENT ...` with this display. All else is in
the log of the run, which the last line names; what jobs and Snakemake print themselves is in JOBS. Both classes read
the events of Snakemake's interface of logger plugins.
"""

from __future__ import annotations

import logging
import os
import runpy
import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Final, NoReturn, TextIO

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from dpregret.core.errors import printable

NAME: Final = "dpregret"
OURS: Final = {"ours": True}
"""Extra attributes of a message of the Snakefile for readers."""
NO_WORK: Final = {"mark", "all"}
"""Rules whose jobs have no line; the Snakefile adds those of papers."""
AT_REST: Final[list[Callable[[], str]]] = []
"""What the Snakefile has to say where nothing is to be done: Snakemake calls no hook then."""
TAIL: Final = 20
"""Last lines of the log of a failed job that are shown."""
LOGGED: Final = "Complete log(s): "
JOBS: Final = Path(".snakemake/log/jobs.log")
REPEATED: Final = ("At least one job did not complete", "Exiting because a job execution failed", "RuleException")
"""Errors that repeat what the line of a failed job has said."""


class LogHandler(LogHandlerBase):
    """The display, as Snakemake finds it in a plugin."""

    writes_to_stream, writes_to_file, has_filter, has_formatter, needs_rulegraph = True, False, True, True, False
    screen: ClassVar[TextIO | None] = None
    """Standard error, where this is None."""
    shown: ClassVar[LogHandler | None] = None
    """The display of this process, once Snakemake has made it."""
    interrupted = begun = listed = dry_run = False

    def __post_init__(self) -> None:
        LogHandler.begun, LogHandler.shown = True, self
        if self.screen:
            JOBS.write_bytes(b"")  # what Snakemake printed before is of no job
        self.running: dict[int, tuple[str, float]] = {}
        self.done = self.total = 0
        LogHandler.dry_run = self.common_settings.dryrun
        self.terminal = (self.screen or sys.stderr).isatty()

    def emit(self, record: logging.LogRecord) -> None:
        """Show one message, or nothing of it. Called by one thread, in the order of the messages."""
        try:
            self._emit(record, vars(record))
        except BrokenPipeError:
            pass
        except Exception:
            self.handleError(record)

    def _emit(self, record: logging.LogRecord, about: dict[str, Any]) -> None:
        event, message = about.get("event"), record.getMessage() if record.msg else ""
        if event == LogEvent.RUN_INFO:
            self.total = work(about["stats"])
            if self.dry_run and not self.listed:  # Snakemake lists them again at the end
                what = f"run {self.total} jobs" if self.total else "list the files again"
                self._line(f"dpregret: would {what}")
            LogHandler.listed = True
        elif event == LogEvent.JOB_INFO:
            if about["rule_name"] in NO_WORK:
                pass
            elif self.dry_run:
                self._line(f"  {about['rule_msg']}")
            else:
                self.running[about["jobid"]] = (about["rule_msg"] or about["rule_name"], record.created)
                self._status()
        elif event == LogEvent.JOB_FINISHED:
            if job := self.running.pop(about["job_id"], None):
                self.done += 1
                wide = len(str(self.total))
                self._line(f"[{self.done:{wide}}/{self.total}] {job[0]}  {clock(record.created - job[1])}")
        elif event == LogEvent.JOB_ERROR:
            what, began = self.running.pop(about["jobid"], (about["rule_name"], record.created))
            ended = "stopped" if self.interrupted else "failed"
            self._line(f"{ended}: {what}  {clock(record.created - began)}")
            if not self.interrupted:
                self._line(said([*map(Path, about["log"]), JOBS]))
        elif "ours" in about:
            self._line(message)
        elif message.startswith(LOGGED):
            self._line(f"  log: {message.removeprefix(LOGGED)}")
        elif record.levelno >= logging.WARNING and not any(text in message for text in REPEATED):
            self._line(message)

    def end(self, now: float) -> None:
        """Name the jobs that an interrupt has stopped and of which Snakemake reports no end."""
        running, self.running = self.running, {}
        for what, began in running.values() if self.interrupted else ():
            self._line(f"stopped: {what}  {clock(now - began)}")

    def _line(self, text: str) -> None:
        clear = "\r\x1b[K" if self.terminal else ""
        if self.terminal:
            text = "\n".join(map(wrapped, text.splitlines()))
        print(f"{clear}{text}", file=self.screen or sys.stderr, flush=True)
        self._status()

    def _status(self) -> None:
        """On a terminal: what is at work, in place of the last line."""
        if self.terminal and self.running:
            texts = "; ".join(text for text, _ in self.running.values())
            print(f"\r\x1b[K... {printable(texts)[:70]}", end="", file=self.screen or sys.stderr, flush=True)


def wrapped(line: str) -> str:
    """A line broken between words at the width of the terminal; a path stays whole."""
    width = shutil.get_terminal_size().columns
    inner = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, width, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False)


def work(stats: Mapping[str, int]) -> int:
    """The jobs of a run that have a line. stats: rule -> jobs, and `total`."""
    return stats.get("total", 0) - sum(count for rule, count in stats.items() if rule in NO_WORK)


class Started(logging.Handler):
    """Collects the outputs of the jobs that a run starts; jobs: how many it will run, and done: how many it has
    finished, both without those that have no line."""

    def __init__(self) -> None:
        super().__init__()
        self.outputs: list[str] = []
        self.jobs: int | None = None
        self.done = 0
        self._with_line: set[int] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Note a job that begins, with its outputs, or ends."""
        about = vars(record)
        event = about.get("event")
        if event == LogEvent.JOB_INFO:
            self.outputs += about["output"]
            if about["rule_name"] not in NO_WORK:
                self._with_line.add(about["jobid"])
        elif event == LogEvent.JOB_FINISHED:
            self.done += about["job_id"] in self._with_line
        elif event == LogEvent.RUN_INFO:
            self.jobs = work(about["stats"])


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours from one hour on: `0:31`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def said(logs: Iterable[Path]) -> str:
    """The end of the first log file that says anything."""
    logs = [*logs]
    for log in logs:
        if log.is_file() and (lines := last_lines(log)):
            return "\n".join([f"  {log}:", *(f"    {line}" for line in lines)])
    from dpregret.workflows.run.stage import FULL  # late: what only jobs need

    full = any(shutil.disk_usage(log.parent).free < FULL for log in logs if log.parent.is_dir())
    return "  it left no log" + (": the disk is full" if full else "")


def last_lines(log: Path) -> list[str]:
    """The last lines of a log file, without control characters."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [printable(line) for line in lines[-TAIL:]]


def keep_apart() -> TextIO:
    """Let jobs and Snakemake print to JOBS. Returns what was standard error."""
    JOBS.parent.mkdir(parents=True, exist_ok=True)
    screen = os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace")
    JOBS.unlink(missing_ok=True)
    with JOBS.open("ab") as file:
        os.dup2(file.fileno(), 2)
    return screen


def note_interrupts() -> None:
    """Let the display know of an interrupt, which ends the jobs, too."""
    before = signal.getsignal(signal.SIGINT)
    if callable(before):  # else it is ignored, as of a job with nohup

        def noted(number: int, frame: FrameType | None) -> None:
            LogHandler.interrupted = True
            before(number, frame)

        signal.signal(signal.SIGINT, noted)


def main() -> NoReturn:
    """Run Snakemake with the display; ends as Snakemake does."""
    LoggerPluginRegistry().register_plugin(NAME, sys.modules[__name__])
    sys.argv += ["--logger", NAME]
    screen = LogHandler.screen = keep_apart()
    note_interrupts()
    try:
        runpy.run_module("snakemake", run_name="__main__", alter_sys=True)
        raise SystemExit
    except SystemExit as end:
        if LogHandler.shown:
            LogHandler.shown.end(time.time())
        if end.code and not LogHandler.begun:  # it did not come as far as its log
            print("\n".join(last_lines(JOBS)), file=screen)
        elif not (end.code or LogHandler.listed):
            texts = [text() for text in AT_REST if not LogHandler.dry_run]
            print("dpregret: nothing to do", *texts, sep="\n", file=screen)
        raise
    finally:
        sys.stderr = screen


if __name__ == "__main__":
    from dpregret.workflows.run import progress  # as the Snakefile knows it

    progress.main()

"""What `dpregret run` shows of Snakemake: a line for each finished job, its time by the clock, and what has failed.

`python -m dpregret.workflows.run.progress ARGUMENT ...` is `snakemake ARGUMENT ...` with this display. All else is in
the log of the run, which the last line names; what jobs print themselves is in JOBS.
"""

from __future__ import annotations

import builtins
import logging
import os
import runpy
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Final

from snakemake import cli
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from dpregret.core.errors import printable

NAME: Final = "dpregret"
OURS: Final = {"ours": True}
"""Extra attributes of a message of the Snakefile for readers."""
NO_WORK: Final = frozenset({"mark"})
"""Rules whose jobs have no line."""
TAIL: Final = 20
"""Last lines of the log of a failed job that are shown."""
LOGGED: Final = "Complete log(s): "
JOBS: Final = Path(".snakemake/log/jobs.log")
REPEATED: Final = ("At least one job did not complete", "Exiting because a job execution failed", "RuleException")
"""Errors that repeat what the line of a failed job has said."""


class LogHandler(LogHandlerBase):
    """The display, as Snakemake finds it in a plugin."""

    writes_to_stream, writes_to_file, has_filter, has_formatter, needs_rulegraph = True, False, True, True, False
    interrupted = False

    def __post_init__(self) -> None:
        self.running: dict[int, tuple[str, float]] = {}
        self.done = self.total = 0
        self.terminal = sys.stderr.isatty()

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
            hidden = sum(count for rule, count in about["stats"].items() if rule in NO_WORK)
            self.total = about["stats"].get("total", 0) - hidden
        elif event == LogEvent.JOB_INFO:
            if about["rule_name"] not in NO_WORK:
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
            logs = [path for path in (*map(Path, about["log"]), JOBS) if path.is_file() and not self.interrupted]
            for log in logs[:1]:
                self._line(f"  {log}:\n" + "\n".join(f"    {line}" for line in last_lines(log)))
        elif "ours" in about:
            self._line(message)
        elif message.startswith(LOGGED):
            self._line(f"  log: {message.removeprefix(LOGGED)}")
        elif record.levelno >= logging.WARNING and not any(text in message for text in REPEATED):
            self._line(message)

    def _line(self, text: str) -> None:
        clear = "\r\x1b[K" if self.terminal else ""
        print(f"{clear}{text}", file=sys.stderr, flush=True)
        self._status()

    def _status(self) -> None:
        """On a terminal: what is at work, in place of the last line."""
        if self.terminal and self.running:
            texts = "; ".join(text for text, _ in self.running.values())
            print(f"\r\x1b[K... {printable(texts)[:70]}", end="", file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours from one hour on: `0:31`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def last_lines(log: Path) -> list[str]:
    """The last lines of a log file, without control characters."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [printable(line) for line in lines[-TAIL:]]


def _print(*words: Any, **options: Any) -> None:
    """Print; Snakemake's line on its profile is left out."""
    if not (words and str(words[0]).startswith("Using ")):
        builtins.print(*words, **options)


def keep_apart() -> None:
    """Let jobs print to JOBS, and this process to where it printed before."""
    JOBS.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace")
    with JOBS.open("wb") as file:
        os.dup2(file.fileno(), 2)


def note_interrupts() -> None:
    """Let the display know of an interrupt, which ends the jobs, too."""
    before = signal.getsignal(signal.SIGINT)
    if callable(before):  # else it is ignored, as of a job with nohup

        def noted(number: int, frame: FrameType | None) -> None:
            LogHandler.interrupted = True
            before(number, frame)

        signal.signal(signal.SIGINT, noted)


if __name__ == "__main__":
    LoggerPluginRegistry().register_plugin(NAME, sys.modules["__main__"])
    vars(cli)["print"] = _print
    sys.argv += ["--logger", NAME]
    keep_apart()
    note_interrupts()
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)

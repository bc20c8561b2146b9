"""The log file of a job: every message, warning and traceback of one Snakemake script."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from dpregret.core.errors import ConfigError
from dpregret.core.parquet import StampError
from dpregret.core.text import printable
from dpregret.paper_figs.judge.runs import RunsError


class _Printable(logging.Formatter):
    """Messages and tracebacks without anything that a terminal would obey: they hold names and words of learners."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


@contextlib.contextmanager
def job_log(path: Path | str) -> Iterator[None]:
    """Send messages and warnings to ``path``; log a failure's traceback there and end the process with code 1.

    The terminal stays free: Snakemake prints the log of a failed job by itself.
    """
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(_Printable("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    try:
        yield
    except (RunsError, StampError, ConfigError) as fault:
        logging.error("%s", fault)
        raise SystemExit(1) from None
    except Exception:
        logging.exception("the job failed")
        raise SystemExit(1) from None

"""The log file of a job: every message, warning and traceback of one Snakemake script."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from dpregret.paper_figs.runs import RunsError


@contextlib.contextmanager
def job_log(path: Path | str) -> Iterator[None]:
    """Send messages and warnings to ``path``; log a failure's traceback there and end the process with code 1.

    The terminal stays free: Snakemake prints the log of a failed job by itself.
    """
    logging.basicConfig(
        filename=path, filemode="w", level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", force=True
    )
    logging.captureWarnings(True)
    try:
        yield
    except RunsError as fault:
        logging.error("%s", fault)
        raise SystemExit(1) from None
    except Exception:
        logging.exception("the job failed")
        raise SystemExit(1) from None

"""Snakemake script: compare fitted exponents with the reference; the comparison is the output, and the log."""

import contextlib
import io
import logging
from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.paper_figs.gate import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main(["compare", snakemake.input.current, snakemake.input.reference])
    logging.info("comparison with %s\n%s", snakemake.input.reference, printed.getvalue())
    if code:
        raise SystemExit(code)
    Path(snakemake.output[0]).write_text(printed.getvalue())

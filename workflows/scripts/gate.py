"""Compare a run with its reference; the comparison is the output, and the log."""

import contextlib
import io
import logging

from dpregret.paper_figs.gate import main as compare
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--current --reference --papers --output"""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = compare(["compare", asked.one("current"), asked.one("reference"), "--papers", *asked.values["papers"]])
    logging.info("comparison with %s\n%s", asked.one("reference"), printed.getvalue())
    if code:
        raise SystemExit(code)
    asked.output.write_text(printed.getvalue())

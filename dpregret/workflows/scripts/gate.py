"""Compare a run with its reference; the comparison is the output, and the log."""

import contextlib
import io
import logging
from pathlib import Path

from dpregret.core.files import reference
from dpregret.paper_figs.compare.gate import main as compare
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    kept, printed = reference() / Path(script.plan.results).relative_to("results"), io.StringIO()
    words = ["compare", str(script.results()), str(kept), "--papers", *script.config.papers]
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = compare(words)
    Path(script.out).write_text(printed.getvalue())
    logging.info("comparison with %s\n%s", kept, printed.getvalue())
    if code:
        raise SystemExit(code)

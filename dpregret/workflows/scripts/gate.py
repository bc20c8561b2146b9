"""Compare the tables that the plan names with the reference; the comparison is the output, and the log."""

import logging
from pathlib import Path

from dpregret.core.files import reference
from dpregret.paper_figs.compare.gate import INCOMPARABLE, MOVED, GateError, Tables, compare, papers, report
from dpregret.paper_figs.text.read_table import DamageError
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    plan = script.plan
    planned: dict[tuple[str, ...], tuple[str, str]] = {
        (paper, part.experiment, play.learner, play.variant): (part.settings, play.code)
        for paper, parts in plan.parts.items()
        for part in parts.values()
        for play in part.plays
    }
    try:
        now = Tables.read({paper: script.file(f"tables/{paper}") for paper in plan.parts})
        before = Tables.read(papers(reference() / Path(plan.results).relative_to("results")))
        found, counted = compare(now, before, planned)
    except (GateError, DamageError, OSError) as fault:
        logging.error("gate: cannot compare: %s", fault)
        raise SystemExit(INCOMPARABLE) from None
    text = report(found, counted, plan.results)
    logging.info("comparison with the reference\n%s", text)
    if found:
        raise SystemExit(MOVED)
    script.out.write_text(text)

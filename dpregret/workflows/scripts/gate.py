"""Compare the tables that the plan names with the reference."""

import logging

from dpregret.paper_figs.compare.gate import (
    INCOMPARABLE,
    MOVED,
    GateError,
    Tables,
    compare,
    papers,
    report,
    within_chance,
)
from dpregret.paper_figs.text.formats import DamageError
from dpregret.workflows.run.stage import Job, make


def gate(job: Job) -> None:
    """The comparison is the output, and the log."""
    plan = job.plan
    planned: dict[tuple[str, ...], tuple[str, str]] = {
        (paper, part.experiment, play.learner, play.variant): (part.settings, play.code)
        for paper, parts in plan.parts.items()
        for part in parts.values()
        for play in part.plays
    }
    try:
        now = Tables.read({paper: job.results / paper for paper in plan.parts})
        before = Tables.read(papers(job.reference))
        differences, summary = compare(now, before, planned)
    except (GateError, DamageError, OSError) as fault:
        logging.error("gate: cannot compare: %s", fault)
        raise SystemExit(INCOMPARABLE) from None
    text = report(differences, summary, plan.results, within_chance(now, before))
    logging.info("comparison with the reference\n%s", text)
    if differences:
        raise SystemExit(MOVED)
    job.file.write_text(text)


make(snakemake, gate)

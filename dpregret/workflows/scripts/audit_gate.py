"""Fail when a ledger is wrong, the audit is blind, or an accounting left its reference."""

import logging

from dpregret.paper_figs.compare.gate import INCOMPARABLE, MOVED, report
from dpregret.paper_figs.text.formats import DamageError
from dpregret.workflows.audit.tables import Tables, faults
from dpregret.workflows.run.stage import Job, make


def audit_gate(job: Job) -> None:
    """The comparison is the output, and the log."""
    reference = job.reference / "audit"
    try:
        now = Tables.read(job.results / "audit", *job.of("losses"))
        wrong = faults(now, Tables.read(reference, reference / "exact_losses.csv"))
    except (DamageError, OSError) as fault:
        logging.error("audit gate: cannot compare: %s", fault)
        raise SystemExit(INCOMPARABLE) from None
    summary = f"audit gate: {len(now.audit)} private learner variants, {len(now.planted)} injected bugs"
    text = report(wrong, summary, job.plan.results)
    if wrong:
        logging.error("the audit found\n%s", text)
        raise SystemExit(MOVED)
    job.file.write_text(text)


make(snakemake, audit_gate)

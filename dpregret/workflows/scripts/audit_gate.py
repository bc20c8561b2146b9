"""Fail when a ledger is wrong, the audit is blind, or an accounting left its reference."""

import logging
from pathlib import Path

from dpregret.core.files import reference
from dpregret.paper_figs.compare.gate import INCOMPARABLE, MOVED, report
from dpregret.paper_figs.text.read_table import DamageError
from dpregret.workflows.audit.tables import Tables, faults
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    kept = reference() / Path(script.plan.results).relative_to("results") / "audit"
    try:
        now = Tables.read(script.file("audit_tables/all"), script.file("exact_losses/all"))
        wrong = faults(now, Tables.read(kept, kept / "exact_losses.csv"))
    except (DamageError, OSError) as fault:
        logging.error("audit gate: cannot compare: %s", fault)
        raise SystemExit(INCOMPARABLE) from None
    counted = f"audit gate: {len(now.audit)} private learner variants, {len(now.planted)} planted bugs"
    text = report(wrong, counted, script.plan.results)
    if wrong:
        logging.error("the audit found\n%s", text)
        raise SystemExit(MOVED)
    script.out.write_text(text)

"""Snakemake script: fail when a ledger is wrong, the audit is blind, or an accounting left its reference."""

import logging
from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    import pandas as pd

    from dpregret.workflows.audits.tables import faults

    tables = [pd.read_csv(name) for name in (snakemake.input.audit, snakemake.input.planted)]
    wrong = faults(*tables, pd.read_csv(snakemake.input.reference))
    if wrong:
        logging.error("the audit found\n%s", "\n".join(wrong))
        raise SystemExit(1)
    report = (
        f"{len(tables[0])} private learner variants audited: every ledger holds; {len(tables[1])} planted bugs caught\n"
    )
    Path(snakemake.output[0]).write_text(report)

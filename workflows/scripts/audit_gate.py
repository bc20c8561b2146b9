"""Fail when a ledger is wrong, the audit is blind, or an accounting left its reference."""

import logging

from dpregret.paper_figs.formats import read_csv
from dpregret.workflows.audits.tables import faults
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--audit --planted --reference --output"""
    audit, planted, reference = (read_csv(asked.path(name)) for name in ("audit", "planted", "reference"))
    wrong = faults(audit, planted, reference)
    if wrong:
        logging.error("the audit found\n%s", "\n".join(wrong))
        raise SystemExit(1)
    report = f"{len(audit)} private learner variants audited: every ledger holds; {len(planted)} planted bugs caught\n"
    asked.output.write_text(report)

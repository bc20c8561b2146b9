"""Write the tables of the audit."""

from dpregret.workflows.audits.tables import write_audit
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--families --planted --output"""
    write_audit(asked.paths("families"), asked.path("planted"), asked.output.parent)

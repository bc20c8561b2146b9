"""Simulate fits, verdicts and gate on planted laws."""

from dpregret.paper_figs.validation import write_validation
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--simulations --output"""
    write_validation(asked.output.parent, int(asked.one("simulations")))

"""Measure what one call of each oracle costs."""

from dpregret.core import stamped
from dpregret.workflows.oracle_costs import measure_costs
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--paper --settings --output"""
    stamped.write(measure_costs(asked.settings, asked.one("paper")), asked.output, asked.stamp)

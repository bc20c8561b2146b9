"""Prepare one bundled data set, or the errors of classifiers trained on one."""

from dpregret.datasets import bundled, expert_data, flights
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--name --output"""
    name = asked.one("name")
    makers = dict.fromkeys(expert_data.TASKS, expert_data.prepare) | dict.fromkeys(flights.TABLES, flights.prepare)
    makers.get(name, bundled.prepare)(name, asked.output)

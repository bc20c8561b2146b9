"""Prepare one bundled data set, or the errors of classifiers trained on one."""

from dpregret.datasets import bundled, expert_data
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--name --output"""
    name = asked.one("name")
    prepare = expert_data.prepare if name in expert_data.TASKS else bundled.prepare
    prepare(name, asked.output)

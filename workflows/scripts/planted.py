"""Does the audit see mistakes that were made on purpose?"""

from dpregret.core import stamped
from dpregret.workflows.audits.planted import planted_rows
from dpregret.workflows.scripts.run import prepare
from dpregret.workflows.task import Asked

__all__ = ["main", "prepare"]


def main(asked: Asked) -> None:
    """--seed --repeats --output"""
    found = planted_rows(int(asked.one("seed")), int(asked.one("repeats")))
    stamped.write(found, asked.output, asked.stamp)

"""Audit all private learners of one family."""

from dpregret.core import stamped
from dpregret.workflows.audits.plan import family_rows
from dpregret.workflows.scripts.run import prepare
from dpregret.workflows.task import Asked

__all__ = ["main", "prepare"]


def main(asked: Asked) -> None:
    """--family --seed --runs --output"""
    found = family_rows(asked.one("family"), int(asked.one("seed")), int(asked.one("runs")))
    stamped.write(found, asked.output, asked.stamp)

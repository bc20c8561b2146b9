"""Does the audit see mistakes that were made on purpose?"""

from dpregret.workflows.audits.planted import planted_rows
from dpregret.workflows.results import write_parquet
from dpregret.workflows.scripts.run import prepare
from dpregret.workflows.task import Asked

__all__ = ["main", "prepare"]


def main(asked: Asked) -> None:
    """--seed --repeats --output"""
    write_parquet(planted_rows(int(asked.one("seed")), int(asked.one("repeats"))), asked.output)

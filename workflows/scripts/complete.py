"""Fail when a learner of the paper crashed."""

import logging

import pandas as pd

from dpregret.paper_figs.runs import crashes
from dpregret.workflows.task import Asked

COLUMNS = ["experiment", "learner", "variant", "stream", "status"]


def main(asked: Asked) -> None:
    """--runs --output"""
    runs = asked.paths("runs")
    broken = crashes(pd.concat([pd.read_parquet(path, columns=COLUMNS).drop_duplicates() for path in runs]))
    if broken:
        logging.error(
            "crashed, without a number in the tables; the logs of these jobs tell more:\n%s", "\n".join(broken)
        )
        raise SystemExit(1)
    asked.output.write_text(f"{len(runs)} jobs ended well\n")

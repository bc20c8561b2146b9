"""Fail when a learner of the paper crashed."""

import logging

import pandas as pd

from dpregret.core import stamped
from dpregret.paper_figs.runs import crashes
from dpregret.workflows.results import check_run
from dpregret.workflows.task import Asked

COLUMNS = ["experiment", "learner", "variant", "stream", "status"]


def main(asked: Asked) -> None:
    """--settings --runs --output"""
    runs = asked.paths("runs")
    for path in runs:
        check_run(path, asked.settings)
    broken = crashes(pd.concat([stamped.read(path, COLUMNS).drop_duplicates() for path in runs]))
    if broken:
        logging.error(
            "crashed, without a number in the tables; the logs of these jobs tell more:\n%s", "\n".join(broken)
        )
        raise SystemExit(1)
    asked.output.write_text(f"{len(runs)} jobs ended well\n")

"""Fail when a play of the paper failed: its learner crashed, hung, or left its set."""

import logging

import pandas as pd

from dpregret.core import stamped
from dpregret.workflows.results import check_run
from dpregret.workflows.task import Asked

COLUMNS = ["experiment", "learner", "variant", "status"]


def main(asked: Asked) -> None:
    """--settings --runs --output"""
    runs = asked.paths("runs")
    for path in runs:
        check_run(path, asked.settings)
    rows = pd.concat([stamped.read(path, COLUMNS).drop_duplicates() for path in runs])
    broken = [
        f"{row.learner}.{row.variant} in {row.experiment} {row.status}"
        for row in rows.loc[rows["status"] != "ok"].itertuples()
    ]
    if broken:
        logging.error(
            "failed; the logs of these jobs tell more, and who deletes their files plays them again:\n%s",
            "\n".join(broken),
        )
        raise SystemExit(1)
    asked.output.write_text(f"{len(runs)} jobs ended well\n")

"""Snakemake script: fail when a learner of the paper crashed."""

import logging
from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    import pandas as pd

    from dpregret.paper_figs.runs import crashes

    columns = ["experiment", "learner", "variant", "stream", "status"]
    rows = [pd.read_parquet(name, columns=columns).drop_duplicates() for name in snakemake.input.runs]
    broken = crashes(pd.concat(rows))
    if broken:
        logging.error(
            "crashed, without a number in the tables; the logs of these jobs tell more:\n%s", "\n".join(broken)
        )
        raise SystemExit(1)
    Path(snakemake.output[0]).write_text(f"{len(snakemake.input.runs)} jobs ended well\n")

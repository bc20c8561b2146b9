"""Fail when a play of a paper failed, after its tables have said so."""

import logging
from pathlib import Path

from dpregret.core import parquet
from dpregret.workflows.run.stage import Job, make


def complete(job: Job) -> None:
    """How many plays there are, none of which failed."""
    files = [Path(part.file) for part in job.plan.parts[job.paper].values()]
    rows = [parquet.read(file, ["experiment", "learner", "variant", "status"]) for file in files]
    plays = [row for frame in rows for row in frame.drop_duplicates().itertuples()]
    broken = [f"{row.learner}.{row.variant} in {row.experiment} {row.status}" for row in plays if row.status != "ok"]
    if broken:
        logging.error("failed; the next command plays them again:\n%s", "\n".join(broken))
        raise SystemExit(1)
    job.file.write_text(f"{len(plays)} plays finished\n")


make(snakemake, complete)

"""Judge all claims again, on seeds that nobody has chosen."""

import logging

from dpregret.workflows.run.confirm import confirm, listed, prepare
from dpregret.workflows.run.stage import Job, make


def confirmation(job: Job) -> None:
    """The seeds are listed before they are played."""
    prepared = prepare(job.config)
    if prepared.has_reference:
        listed(prepared)
    confirm(prepared, snakemake.threads, job.out, logging.info)


make(snakemake, confirmation)

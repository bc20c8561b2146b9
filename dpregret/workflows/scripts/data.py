"""Prepare a data set."""

from dpregret.workflows.run.stage import Job, make
from dpregret.workflows.run.store import prepare


def data(job: Job) -> None:
    """A file in the form that plays read; its name is that of the data and their key."""
    name, _, _ = job.wildcards.name.rpartition(".")
    prepare(name, job.file)


make(snakemake, data)

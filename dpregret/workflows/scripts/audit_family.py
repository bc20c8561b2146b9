"""Audit all private learners of one family."""

from dpregret.core import parquet
from dpregret.workflows.audit.plan import family_rows
from dpregret.workflows.run.stage import Job, make


def audit_family(job: Job) -> None:
    """One row a pair of neighbouring inputs."""
    sizes = job.plan.content["sizes"]
    parquet.write(family_rows(job.wildcards.family, sizes["seed"], sizes["runs"]), job.file, job.stamp)


make(snakemake, audit_family, keep=True)

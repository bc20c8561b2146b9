"""Measure what one call of each oracle costs."""

from dpregret.core import parquet
from dpregret.workflows.run.oracle_costs import measure_costs
from dpregret.workflows.run.stage import Job, make


def oracles(job: Job) -> None:
    """One row a set, dimension and oracle."""
    parquet.write(measure_costs(job.config.papers[job.paper].oracle_costs), job.file, job.stamp)


make(snakemake, oracles, keep=True)

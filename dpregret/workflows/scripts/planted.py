"""Does the audit see mistakes that were made on purpose?"""

from dpregret.core import parquet
from dpregret.workflows.audit.planted import planted_rows
from dpregret.workflows.run.stage import Job, make


def planted(job: Job) -> None:
    """One row a planted mistake."""
    sizes = job.plan.content["sizes"]
    parquet.write(planted_rows(sizes["seed"], sizes["repeats"]), job.file, job.stamp)


make(snakemake, planted, keep=True)

"""Does the audit detect injected bugs?"""

from dpregret.core import parquet
from dpregret.workflows.audit.planted import planted_rows
from dpregret.workflows.run.stage import Job, make


def planted(job: Job) -> None:
    """One row an injected bug."""
    sizes = job.plan.content["sizes"]
    parquet.write(planted_rows(sizes["seed"], sizes["repeats"]), job.file, job.stamp)


make(snakemake, planted, keep=True)

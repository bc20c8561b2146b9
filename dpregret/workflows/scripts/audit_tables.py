"""Write the tables of the audit."""

from dpregret.workflows.audit.tables import write_audit
from dpregret.workflows.run.stage import Job, make


def audit_tables(job: Job) -> None:
    """The audit of all families, and of injected bugs."""
    (planted,) = job.of("planted")
    write_audit(job.of("families"), planted, job.out)


make(snakemake, audit_tables)

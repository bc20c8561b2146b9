"""Snakemake script: write the tables of the audit."""

from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.workflows.audits.tables import write_audit

    families = [Path(name) for name in snakemake.input.families]
    write_audit(families, Path(snakemake.input.planted), Path(snakemake.output[0]).parent)

"""Snakemake script: does the audit see mistakes that were made on purpose?"""

from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.workflows.audits.planted import planted_rows
    from dpregret.workflows.results import write_parquet

    write_parquet(planted_rows(snakemake.params.seed, snakemake.params.repeats), Path(snakemake.output[0]))

"""Snakemake script: audit all private learners of one family."""

from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.workflows.audits.plan import family_rows
    from dpregret.workflows.results import write_parquet

    found = family_rows(snakemake.wildcards.family, snakemake.params.seed, snakemake.params.runs)
    write_parquet(found, Path(snakemake.output[0]))

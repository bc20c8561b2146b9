"""Snakemake script: compute the exact tables of a chapter."""

from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.workflows.mechanisms.exact import write_exact

    write_exact(snakemake.params.captions, Path(snakemake.output[0]))

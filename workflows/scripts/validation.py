"""Snakemake script: simulate fits, verdicts and gate on planted laws."""

from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.paper_figs.validation import write_validation

    write_validation(Path(snakemake.output[0]).parent, snakemake.params.simulations)

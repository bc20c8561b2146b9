"""Snakemake script: prepare one bundled data set."""

from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.datasets.bundled import prepare

    prepare(snakemake.wildcards.name, Path(snakemake.output[0]))

"""Snakemake script: download, verify and convert one declared data set."""

from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.datasets.fetch import convert, fetch, find_source

    source = find_source(snakemake.wildcards.name)
    folder = Path(snakemake.output[0]).parent
    fetch(source, folder)
    convert(source, folder)

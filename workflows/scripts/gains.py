"""Snakemake script: set the mechanisms of the same learners side by side."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]), TemporaryDirectory() as folder:
    from dpregret.paper_figs.gains import write_gains
    from dpregret.workflows.results import link_files

    write_gains(
        link_files(snakemake.input.runs, Path(folder)),
        Path(snakemake.scriptdir).resolve().parent / "papers" / snakemake.wildcards.paper,
        Path(snakemake.output[0]).parent,
    )

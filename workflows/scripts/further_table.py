"""Snakemake script: write the second or a later table of one paper."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dpregret.workflows.config import Config
from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]), TemporaryDirectory() as folder:
    from dpregret.paper_figs.tables import write_further_table
    from dpregret.workflows.results import link_files

    paper = snakemake.wildcards.paper
    write_further_table(
        link_files(snakemake.input.runs, Path(folder)),
        Path(snakemake.scriptdir).resolve().parent / "papers" / paper,
        Path(snakemake.output[0]).parent,
        int(snakemake.wildcards.number),
        experiments=set(Config.model_validate_json(snakemake.config["settings"]).papers[paper].experiments),
    )

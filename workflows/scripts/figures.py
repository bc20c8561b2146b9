"""Snakemake script: draw the figures of one paper."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dpregret.workflows.config import Config
from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]), TemporaryDirectory() as folder:
    from dpregret.paper_figs.figures import write_figures
    from dpregret.workflows.results import link_files

    paper = snakemake.wildcards.paper
    Path(snakemake.output[0]).mkdir(parents=True, exist_ok=True)
    write_figures(
        link_files(snakemake.input.runs, Path(folder)),
        Path(snakemake.scriptdir).resolve().parent / "papers" / paper,
        snakemake.output[0],
        costs_file=snakemake.input.costs or None,
        expiry_file=snakemake.input.expiry or None,
        exact=next(iter(snakemake.input.exact), None),
        experiments=set(Config.model_validate_json(snakemake.config["settings"]).papers[paper].experiments),
    )

"""Snakemake script: measure what one call of each oracle costs."""

from pathlib import Path

from dpregret.workflows.config import Config
from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.workflows.oracle_costs import measure_costs

    settings = Config.model_validate_json(snakemake.config["settings"])
    measure_costs(settings, snakemake.wildcards.paper, Path(snakemake.output[0]))

"""Snakemake script: play one learner variant over one experiment."""

from pathlib import Path

from dpregret.workflows.config import Config
from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.workflows.job import run_job

    run_job(
        config=Config.model_validate_json(snakemake.config["settings"]),
        **snakemake.wildcards,
        output=Path(snakemake.output[0]),
        data_dir=Path("datasets/cache"),
        host=next(map(Path, snakemake.input.host), None),
    )

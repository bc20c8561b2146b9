"""Snakemake script: compute the privacy loss by age of an item."""

from pathlib import Path

from dpregret.workflows.config import Config
from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.workflows.expiry import loss_by_age

    loss_by_age(Config.model_validate_json(snakemake.config["settings"]), Path(snakemake.output[0]))

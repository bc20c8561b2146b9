"""Snakemake script: prepare one bundled data set, or the errors of classifiers trained on one."""

from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.datasets import bundled, expert_data

    name = snakemake.wildcards.name
    prepare = expert_data.prepare if name in expert_data.TASKS else bundled.prepare
    prepare(name, Path(snakemake.output[0]))

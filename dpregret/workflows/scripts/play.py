"""Play an experiment: what the store has not, each learner in a child."""

from pathlib import Path

from dpregret.workflows.plan.read import Plan
from dpregret.workflows.run.job import play_experiment
from dpregret.workflows.run.job_log import job_log

with job_log(snakemake.log[0]):
    plan = Plan.read(snakemake.params.plan)
    part = plan.parts[snakemake.wildcards.paper][snakemake.wildcards.key]
    play_experiment(plan, part, Path(snakemake.output[0]), Path(snakemake.log[0]))

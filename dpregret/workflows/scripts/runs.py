"""Gather the rows of all plays of a paper from the store: one file an experiment."""

from pathlib import Path

from dpregret.workflows.run.job import faults_in, play_experiment
from dpregret.workflows.run.stage import Job, make


def runs(job: Job) -> None:
    """What the store has lost since it was played is played again."""
    for part in job.plan.parts[job.paper].values():
        play_experiment(job.plan, part, job.file / Path(part.file).name, job.log, faults_in(job.of("plays"), part))


make(snakemake, runs)

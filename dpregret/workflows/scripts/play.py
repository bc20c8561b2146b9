"""Play what the store lacks: some experiments of a paper, each learner in a child process."""

from dpregret.workflows.run.job import play_batch
from dpregret.workflows.run.stage import Job, make


def play(job: Job) -> bool:
    """The receipt of the plays; a play that failed is tried again by the next command."""
    return play_batch(job.plan, job.plan.batch(job.paper, job.wildcards.batch), job.file, job.log)


make(snakemake, play)

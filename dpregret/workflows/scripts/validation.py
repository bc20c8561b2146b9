"""Are fits and verdicts to be trusted? Simulate them on known laws."""

from dpregret.paper_figs.validation.simulate import write_validation
from dpregret.workflows.run.stage import Job, make


def validation(job: Job) -> None:
    """Intervals, verdicts and resolutions."""
    write_validation(job.out, job.plan.content["sizes"]["simulations"])


make(snakemake, validation, keep=True)

"""Judge the claims of one paper and write its tables."""

from dpregret.paper_figs.judge.result_tables import ExactLoss
from dpregret.workflows.run.paper_tables import write_paper_tables
from dpregret.workflows.run.stage import Job, make


def tables(job: Job) -> None:
    """The tables that every paper has, and those that its claims file names."""
    losses = {name: loss for file in job.of("losses") for name, loss in ExactLoss.read(file).items()}
    write_paper_tables(job.plan, job.paper, job.runs, job.out, job.experiments, losses)


make(snakemake, tables)

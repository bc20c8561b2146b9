"""Judge the claims of one paper and write its tables."""

from dpregret.paper_figs.judge.result_tables import ExactLoss
from dpregret.paper_figs.tables.write import write_tables
from dpregret.workflows.plan.read import PAPERS
from dpregret.workflows.run.stage import Job, make


def tables(job: Job) -> None:
    """The tables that every paper has, and those that its claims file names."""
    losses = {name: loss for file in job.of("losses") for name, loss in ExactLoss.read(file).items()}
    write_tables(job.runs, PAPERS / job.paper, job.out, job.experiments, losses, job.plan.content["profile"])


make(snakemake, tables)

"""Judge the claims of one paper and write its tables."""

from dpregret.paper_figs.judge.claims import load_paper
from dpregret.paper_figs.judge.confirmed import Confirmation
from dpregret.paper_figs.judge.result_tables import ExactLoss
from dpregret.paper_figs.tables.write import write_tables
from dpregret.workflows.plan import frozen
from dpregret.workflows.plan.read import PAPERS
from dpregret.workflows.run.stage import Job, make


def tables(job: Job) -> None:
    """The tables that every paper has, and those that its claims file names."""
    losses = {name: loss for file in job.of("losses") for name, loss in ExactLoss.read(file).items()}
    profile, claims = job.plan.content["profile"], load_paper(PAPERS / job.paper).claims
    digests = frozen.digests(job.config, job.paper, claims)
    confirmed = Confirmation.read(job.reference)
    write_tables(job.runs, PAPERS / job.paper, job.out, job.experiments, losses, profile, digests, confirmed)


make(snakemake, tables)

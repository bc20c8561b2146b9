"""Compute the exact tables of a chapter."""

from dpregret.paper_figs.judge.read_claims import load_paper
from dpregret.workflows.mechanisms.exact import write_exact
from dpregret.workflows.plan.read import PAPERS
from dpregret.workflows.run.stage import Job, make


def exact(job: Job) -> None:
    """The tables that its claims name."""
    write_exact(load_paper(PAPERS / job.paper).claims.exact, job.file)


make(snakemake, exact, keep=True)

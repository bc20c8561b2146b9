"""Compute the privacy losses that claims name and a ledger leaves open; nothing is sampled."""

from dpregret.paper_figs.judge.result_tables import write_exact_losses
from dpregret.workflows.audit.exact_losses import exact_losses
from dpregret.workflows.run.stage import Job, make


def write(job: Job) -> None:
    """One row a loss."""
    write_exact_losses(exact_losses(), job.file)


make(snakemake, write)

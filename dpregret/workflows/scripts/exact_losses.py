"""Compute the exact privacy losses that claims name."""

from dpregret.paper_figs.judge.result_tables import write_exact_losses
from dpregret.workflows.audit.exact_losses import exact_losses
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    write_exact_losses(exact_losses(), script.out)

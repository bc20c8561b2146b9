"""Compute the exact tables of a chapter."""

from dpregret.paper_figs.judge.claims import load_paper
from dpregret.workflows.mechanisms.exact import write_exact
from dpregret.workflows.run.script import PAPERS, running

with running(snakemake) as script:
    write_exact(load_paper(PAPERS / script.of).claims.exact, script.out)

"""Simulate fits and verdicts on planted laws."""

from dpregret.paper_figs.validation.simulate import write_validation
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    write_validation(script.out, script.plan.content["sizes"]["simulations"])

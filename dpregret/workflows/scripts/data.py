"""Prepare a data set."""

from dpregret.workflows.run.data import prepare
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    prepare(script.of, script.out)

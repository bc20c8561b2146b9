"""Audit all private learners of one family."""

from dpregret.core import parquet
from dpregret.workflows.audit.plan import family_rows
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    sizes = script.plan.content["sizes"]
    parquet.write(family_rows(script.of, sizes["seed"], sizes["runs"]), script.out, script.stamp)

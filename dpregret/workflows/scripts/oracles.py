"""Measure what one call of each oracle costs."""

from dpregret.core import parquet
from dpregret.workflows.run.oracle_costs import measure_costs
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    parquet.write(measure_costs(script.config, script.of), script.out, script.stamp)

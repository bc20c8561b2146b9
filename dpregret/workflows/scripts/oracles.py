"""Measure what one call of each oracle costs."""

from dpregret.core import stamped
from dpregret.workflows.oracle_costs import measure_costs
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    stamped.write(measure_costs(script.config, script.of), script.out, script.stamp)

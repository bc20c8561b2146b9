"""Compute the privacy loss by age of an item."""

from dpregret.core import parquet
from dpregret.workflows.mechanisms.expiry import loss_by_age
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    parquet.write(loss_by_age(), script.out, script.stamp)

"""Does the audit see mistakes that were made on purpose?"""

from dpregret.core import parquet
from dpregret.workflows.audit.planted import planted_rows
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    sizes = script.plan.content["sizes"]
    parquet.write(planted_rows(sizes["seed"], sizes["repeats"]), script.out, script.stamp)

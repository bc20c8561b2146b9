"""Does the audit see mistakes that were made on purpose?"""

from dpregret.core import stamped
from dpregret.workflows.audits.planted import planted_rows
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    sizes = script.plan.content["sizes"]
    stamped.write(planted_rows(sizes["seed"], sizes["repeats"]), script.out, script.stamp)

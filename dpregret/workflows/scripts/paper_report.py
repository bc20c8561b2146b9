"""Write the report of one paper alone."""

from dpregret.workflows.run.pages import write_page
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    write_page(script, [script.of])

"""Write the report of a run."""

from dpregret.workflows.run.pages import write_page
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    write_page(script, list(script.config.papers))

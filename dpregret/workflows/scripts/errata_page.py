"""Write the errata of all papers on one page."""

from dpregret.paper_figs.report.errata_page import write_errata_page
from dpregret.workflows.run.script import PAPERS, running

with running(snakemake) as script:
    results = script.results()
    write_errata_page(results, list(script.config.papers), PAPERS, script.out)

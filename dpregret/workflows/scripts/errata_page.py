"""Write the errata of all papers on one page."""

from dpregret.paper_figs.report.findings import write_errata_page
from dpregret.workflows.plan.read import PAPERS
from dpregret.workflows.run.stage import Job, make


def errata_page(job: Job) -> None:
    """What is wrong in print, what it does, and what is refuted."""
    write_errata_page(job.inputs(), list(job.plan.parts), PAPERS, job.out)


make(snakemake, errata_page)

"""Write the report of one paper."""

from dpregret.workflows.run.report_pages import report
from dpregret.workflows.run.stage import Job, make


def paper_report(job: Job) -> None:
    """One HTML file that needs no network."""
    report(job, [job.paper])


make(snakemake, paper_report)

"""Write the report of a run."""

from dpregret.workflows.run.report_pages import report
from dpregret.workflows.run.stage import Job, make


def html_report(job: Job) -> None:
    """One HTML file that needs no network."""
    report(job, list(job.plan.parts))


make(snakemake, html_report)

"""Draw the figures of one paper."""

from dpregret.paper_figs.figures.write import write_figures
from dpregret.workflows.plan.read import PAPERS
from dpregret.workflows.run.stage import Job, make


def figures(job: Job) -> None:
    """Each as PDF, PNG and SVG, with its data as CSV."""
    write_figures(
        job.runs,
        PAPERS / job.paper,
        job.file,
        costs_file=next(iter(job.of("oracles")), None),
        experiments=job.experiments,
        exact=next(iter(job.of("exact")), None),
        names=job.plan.content["names"],
    )


make(snakemake, figures, keep=True)
